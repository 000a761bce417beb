//! Requests to other people's servers (`access` 4.3).
//!
//! A server that fetches an address is a lever for whoever controls the address: it can be pointed
//! at the inside of the network, be led there by a redirect or by a name that resolves differently
//! the second time, be held by a slow answer or filled by a long one.
//!
//! What stays true: no redirect is followed and no proxy used; one deadline covers the resolution,
//! the connection and the body; a body is cut off at its limit while it arrives; under
//! [`Reach::Public`] a name is resolved once, every address is judged, and only judged addresses
//! are connected to.
//!
//! Deliberately absent: caching and retries, which belong to whoever knows what the document means.

mod address;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde_json::Value;

use crate::strict_json;

pub use address::is_public;

const HTTPS_PORT: u16 = 443;

/// Where a fetch may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only `https` on port 443 at public addresses, and only answers that say they are JSON.
    Public,
    /// Any HTTP(S) URL: the operator configured it and vouches for the network.
    Anywhere,
}

/// Limits of one fetch. The defaults are those of access 4.3: 64 KiB and 5 s in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    pub bytes: usize,
    pub deadline: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            bytes: 64 * 1024,
            deadline: Duration::from_secs(5),
        }
    }
}

/// Why a fetch gave nothing. No variant carries the URL or any of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("the url is not admitted")]
    UrlNotAdmitted,
    #[error("the url leads to an address that is not public")]
    AddressNotPublic,
    #[error("the server can't be reached")]
    Unreachable,
    #[error("the server answered with status {0}")]
    Status(u16),
    #[error("the answer is longer than admitted")]
    TooLong,
    #[error("the answer did not arrive in time")]
    TooSlow,
    #[error("the answer is not JSON")]
    NotJson,
}

/// One request. Its `Debug` shows neither address nor headers nor body: each may hold a secret.
pub struct Outgoing {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Outgoing {
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Vec::new(),
        }
    }

    pub fn post(url: Url, content_type: &'static str, body: Vec<u8>) -> Self {
        let request = Self {
            method: Method::POST,
            body,
            ..Self::get(url)
        };
        request.header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// What came back, whatever its status. The whole body was within the limit.
#[derive(Clone, PartialEq, Eq)]
pub struct Fetched {
    pub status: u16,
    /// The media type alone, in lower case; empty when none was named.
    pub media_type: String,
    /// As sent: nothing was followed.
    pub location: Option<String>,
    /// `WWW-Authenticate`, as sent.
    pub challenge: Option<String>,
    /// The seconds form of `Retry-After`.
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl Fetched {
    /// All but the body.
    fn head(response: &Response) -> Self {
        let said = |name: HeaderName| {
            let value = response.headers().get(name);
            value
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        Self {
            status: response.status().as_u16(),
            media_type: said(CONTENT_TYPE)
                .as_deref()
                .map(essence)
                .unwrap_or_default(),
            location: said(LOCATION),
            challenge: said(WWW_AUTHENTICATE),
            retry_after: said(RETRY_AFTER)
                .and_then(|text| text.trim().parse().ok())
                .map(Duration::from_secs),
            body: Vec::new(),
        }
    }
}

/// Sends one request at a time, under one deadline and one limit of bytes.
#[derive(Debug, Clone, Copy)]
pub struct GuardedFetch {
    reach: Reach,
    limits: FetchLimits,
}

impl GuardedFetch {
    pub fn new(reach: Reach, limits: FetchLimits) -> Self {
        Self { reach, limits }
    }

    /// The document at `url`, read as strictly as a request's body.
    pub async fn json(&self, url: &Url) -> Result<Value, FetchError> {
        let accept = HeaderValue::from_static("application/json");
        let request = Outgoing::get(url.clone()).header(ACCEPT, accept);
        let fetched = self.send(request).await?;
        if fetched.status != StatusCode::OK.as_u16() {
            return Err(FetchError::Status(fetched.status));
        }
        if self.reach == Reach::Public && !is_json(&fetched.media_type) {
            return Err(FetchError::NotJson);
        }
        strict_json::read(&fetched.body).map_err(|_| FetchError::NotJson)
    }

    /// The answer to `request`; a redirect is an answer like any other. Dropping the future closes
    /// the connection.
    pub async fn send(&self, request: Outgoing) -> Result<Fetched, FetchError> {
        tokio::time::timeout(self.limits.deadline, self.attempt(request))
            .await
            .map_err(|_| FetchError::TooSlow)?
    }

    /// As [`Self::send`], where the status is the whole answer: no byte of a body is read.
    pub async fn tell(&self, request: Outgoing) -> Result<Fetched, FetchError> {
        let told = async { Ok(Fetched::head(&self.response(request).await?)) };
        tokio::time::timeout(self.limits.deadline, told)
            .await
            .map_err(|_| FetchError::TooSlow)?
    }

    /// Whether `url` may be asked anything now; asks nothing.
    pub async fn admit(&self, url: &Url) -> Result<(), FetchError> {
        tokio::time::timeout(self.limits.deadline, self.client(url))
            .await
            .map_err(|_| FetchError::TooSlow)?
            .map(drop)
    }

    async fn attempt(&self, request: Outgoing) -> Result<Fetched, FetchError> {
        let response = self.response(request).await?;
        let head = Fetched::head(&response);
        Ok(Fetched {
            body: self.body(response).await?,
            ..head
        })
    }

    async fn response(&self, request: Outgoing) -> Result<Response, FetchError> {
        let client = self.client(&request.url).await?;
        client
            .request(request.method, request.url)
            .headers(request.headers)
            .body(request.body)
            .send()
            .await
            .map_err(|_| FetchError::Unreachable)
    }

    async fn client(&self, url: &Url) -> Result<Client, FetchError> {
        let web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !web || !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::UrlNotAdmitted);
        }
        let builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy();
        let builder = match self.reach {
            Reach::Anywhere => builder,
            Reach::Public => builder
                .https_only(true)
                .dns_resolver(Judged(public_addresses(url).await?)),
        };
        builder.build().map_err(|_| FetchError::Unreachable)
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, FetchError> {
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|_| FetchError::Unreachable)?
        {
            if chunk.len() > self.limits.bytes - body.len() {
                return Err(FetchError::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Resolves the host once and judges what it resolves to.
async fn public_addresses(url: &Url) -> Result<Vec<SocketAddr>, FetchError> {
    if url.scheme() != "https" || url.port_or_known_default() != Some(HTTPS_PORT) {
        return Err(FetchError::UrlNotAdmitted);
    }
    let host = url.host_str().ok_or(FetchError::UrlNotAdmitted)?;
    let literal = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    let addresses: Vec<SocketAddr> = match literal {
        Ok(address) => vec![SocketAddr::new(address, HTTPS_PORT)],
        Err(_) => tokio::net::lookup_host((host, HTTPS_PORT))
            .await
            .map_err(|_| FetchError::Unreachable)?
            .collect(),
    };
    judge(addresses)
}

/// One address that is not public condemns the name: such an answer is a mistake or an attack, and
/// a connection might pick either.
fn judge(addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, FetchError> {
    if addresses.is_empty() {
        return Err(FetchError::Unreachable);
    }
    if addresses.iter().all(|address| is_public(address.ip())) {
        Ok(addresses)
    } else {
        Err(FetchError::AddressNotPublic)
    }
}

/// Answers every name with the addresses that were judged, so no second resolution can differ.
struct Judged(Vec<SocketAddr>);

impl Resolve for Judged {
    fn resolve(&self, _name: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

fn essence(content_type: &str) -> String {
    let name = content_type.split(';').next().unwrap_or_default();
    name.trim().to_ascii_lowercase()
}

fn is_json(media_type: &str) -> bool {
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}
