//! Outgoing fetches of documents that somebody else names or serves (access 4.3).
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

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response, StatusCode, Url};
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

/// Fetches one JSON document at a time.
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
        tokio::time::timeout(self.limits.deadline, self.attempt(url))
            .await
            .map_err(|_| FetchError::TooSlow)?
    }

    async fn attempt(&self, url: &Url) -> Result<Value, FetchError> {
        let client = self.client(url).await?;
        let response = client
            .get(url.clone())
            .header(ACCEPT, "application/json")
            .send()
            .await
            .map_err(|_| FetchError::Unreachable)?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        if self.reach == Reach::Public && !says_json(&response) {
            return Err(FetchError::NotJson);
        }
        let body = self.body(response).await?;
        strict_json::read(&body).map_err(|_| FetchError::NotJson)
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

fn says_json(response: &Response) -> bool {
    let value = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    value.is_some_and(|value| {
        let essence = value
            .split(';')
            .next()
            .unwrap_or("")
            .trim()
            .to_ascii_lowercase();
        essence == "application/json"
            || (essence.starts_with("application/") && essence.ends_with("+json"))
    })
}
