//! The REST client behind `helix run`, `health` and `verify --url`: an ordinary client, no more
//! trusted than any other.
//!
//! Every answer is bounded, redirects are not followed (a token must not travel), and a call that
//! changes something carries an idempotency key, so it can be repeated.

mod answer;
pub mod sse;

use std::time::Duration;

use clap::Args;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::Context;
use super::failure::{Exit, Failure};
use crate::config::Environment;

/// A turn may last 900 s; its answer comes after it.
const TURN: Duration = Duration::from_secs(960);
/// How long a connection is kept unused. Pools open some ahead, and one on which nothing was sent in
/// time has a 408 of the server waiting on it.
pub const IDLE: Duration = Duration::from_secs(3);
const _: () = assert!(IDLE.as_secs() < crate::http::serve::HEAD_TIMEOUT.as_secs());
const CONNECT: Duration = Duration::from_secs(10);
/// Longest silence inside an answer; heartbeats come every 15 s.
const SILENCE: Duration = Duration::from_secs(60);
/// Largest answer that is read into memory, in bytes.
const MAX_ANSWER: usize = 64 << 20;

/// Which server, and as whom.
#[derive(Debug, Args)]
pub struct ServerArgs {
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help = "The server's address [env: HELIX_URL] [default: http://127.0.0.1:8787]"
    )]
    pub url: Option<String>,
    #[arg(
        long,
        global = true,
        value_name = "TOKEN",
        help = "The bearer token; safer in the environment, a command line is public [env: HELIX_TOKEN]"
    )]
    pub token: Option<SecretString>,
}

/// One server, with or without a token.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<HeaderValue>,
}

/// A successful answer.
#[derive(Debug)]
pub struct Answer {
    pub body: Value,
    pub headers: HeaderMap,
}

impl Client {
    /// The server and the token of the arguments, or of the environment.
    pub fn new(args: &ServerArgs, context: &Context) -> Result<Self, Failure> {
        let given = match args.url.as_deref() {
            Some(url) => Some(url),
            None => named(&context.environment, "HELIX_URL")?,
        };
        let mut client = Self::without_token(given.unwrap_or("http://127.0.0.1:8787"))?;
        client.token = bearer(args.token.as_ref(), &context.environment)?;
        let base = &client.base;
        let loopback = matches!(base.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if client.token.is_some() && base.scheme() == "http" && !loopback {
            let warning = "warning: the token goes over plain http and can be read on its way";
            context.output.note(warning);
        }
        Ok(client)
    }

    /// For public routes.
    pub fn without_token(url: &str) -> Result<Self, Failure> {
        let base = base_url(url)?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("helix/", env!("CARGO_PKG_VERSION")))
            .build();
        let http = http.map_err(|error| Failure::unavailable("client", error.to_string()))?;
        Ok(Self {
            http,
            base,
            token: None,
        })
    }

    pub fn base(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// An address below the base; each segment is percent-encoded.
    pub fn address(&self, segments: &[&str], query: &[(&str, String)]) -> Result<Url, Failure> {
        let mut url = self.base.clone();
        match url.path_segments_mut() {
            Ok(mut path) => drop(path.pop_if_empty().extend(segments)),
            Err(()) => return Err(Failure::usage("url", "the address cannot have a path")),
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    pub fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.http.request(method, url);
        match &self.token {
            Some(token) => request.header(reqwest::header::AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    /// Reads a JSON answer.
    pub async fn get(
        &self,
        segments: &[&str],
        query: &[(&str, String)],
    ) -> Result<Answer, Failure> {
        let url = self.address(segments, query)?;
        let response = self.send(self.request(Method::GET, url), SILENCE).await?;
        answer::json(response).await
    }

    /// Sends a change under an idempotency key.
    pub async fn post(
        &self,
        segments: &[&str],
        key: &str,
        body: &Value,
    ) -> Result<Answer, Failure> {
        let url = self.address(segments, &[])?;
        let request = self
            .request(Method::POST, url)
            .header("Idempotency-Key", key);
        let body =
            serde_json::to_vec(body).map_err(|error| Failure::usage("body", error.to_string()))?;
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        answer::json(self.send(request, TURN).await?).await
    }

    /// An answer that is read piece by piece; its failure is already told apart.
    pub async fn stream(
        &self,
        segments: &[&str],
        query: &[(&str, String)],
        headers: HeaderMap,
    ) -> Result<Response, Failure> {
        let url = self.address(segments, query)?;
        let response = self
            .send(self.request(Method::GET, url).headers(headers), SILENCE)
            .await?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(answer::failure(response).await)
        }
    }

    /// The status alone, for `health`.
    pub async fn status(&self, path: &str) -> Result<(StatusCode, String), Failure> {
        let url = self.address(&[path], &[])?;
        let request = self
            .request(Method::GET, url)
            .header(ACCEPT, "application/json");
        let response = self.send(request, CONNECT).await?;
        let status = response.status();
        Ok((
            status,
            String::from_utf8_lossy(&answer::bounded(response).await?).into_owned(),
        ))
    }

    /// Waits for the head of the answer, `patience` at most.
    async fn send(&self, request: RequestBuilder, patience: Duration) -> Result<Response, Failure> {
        match tokio::time::timeout(patience, request.send()).await {
            Ok(sent) => sent.map_err(|error| self.unreachable(&error)),
            Err(_) => Err(self.unavailable("did not answer in time")),
        }
    }

    /// The innermost cause alone: the error's own text quotes the address with its query, which
    /// may hold what a person typed.
    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        self.unavailable(&format!("cannot be reached: {cause}"))
    }

    fn unavailable(&self, what: &str) -> Failure {
        Failure::unavailable("unreachable", format!("{} {what}", self.base()))
            .fix("start it with `helix serve`, or name another server with --url")
    }
}

/// The next piece of a streamed answer; silence and a broken connection are failures.
pub async fn piece(response: &mut Response) -> Result<Option<Vec<u8>>, Failure> {
    let broken =
        |why: &str| Failure::unavailable("interrupted", format!("the answer broke off: {why}"));
    match tokio::time::timeout(SILENCE, response.chunk()).await {
        Ok(Ok(piece)) => Ok(piece.map(|bytes| bytes.to_vec())),
        Ok(Err(_)) => Err(broken("the connection was lost")),
        Err(_) => Err(broken("the server fell silent")),
    }
}

fn base_url(text: &str) -> Result<Url, Failure> {
    let wrong = |why: &str| {
        Failure::usage("url", format!("the server's address {why}"))
            .fix("give --url an address such as http://127.0.0.1:8787")
    };
    let url = Url::parse(text).map_err(|error| wrong(&format!("is not one: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must start with http:// or https://"));
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(wrong("must not hold credentials, a query or a fragment"));
    }
    Ok(url)
}

/// The token of the flag, or of the environment, as a header.
pub(super) fn bearer(
    flag: Option<&SecretString>,
    environment: &Environment,
) -> Result<Option<HeaderValue>, Failure> {
    if let Some(token) = flag {
        return bearer_of(token).map(Some);
    }
    let variable = named(environment, "HELIX_TOKEN")?.map(SecretString::from);
    variable.as_ref().map(bearer_of).transpose()
}

/// A variable of the environment. One that is no text is not passed over: the command would go to
/// another server, or as nobody.
pub(super) fn named<'e>(
    environment: &'e Environment,
    name: &str,
) -> Result<Option<&'e str>, Failure> {
    if environment.is_unreadable(name) {
        return Err(
            Failure::usage("environment", format!("{name} is not UTF-8"))
                .fix(format!("set {name} to a text, or unset it")),
        );
    }
    Ok(environment.get(name))
}

pub(super) fn bearer_of(token: &SecretString) -> Result<HeaderValue, Failure> {
    let text = format!("Bearer {}", token.expose_secret().trim());
    let mut header = HeaderValue::from_str(&text)
        .map_err(|_| Failure::usage("token", "the token holds characters that no token has"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// A random key; printed, so that the call can be repeated.
pub fn fresh_key() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(Exit::Unavailable, "randomness", error.to_string()))?;
    Ok(format!("cli-{}", hex::encode(bytes)))
}

/// How long to wait at least before the same call can bring another answer; `None` when it cannot.
pub fn pause_before_retry(failure: &Failure) -> Option<Duration> {
    let Failure::Told(told) = failure else {
        return None;
    };
    if matches!(
        told.code.as_str(),
        "unreachable" | "interrupted" | "idempotency_in_progress"
    ) {
        return Some(Duration::ZERO);
    }
    let details = told.details.as_ref()?;
    let passing = matches!(
        details["status"].as_u64(),
        Some(429 | 500 | 502 | 503 | 504)
    );
    if !passing || details["retryable"] == false {
        return None;
    }
    Some(Duration::from_secs(
        details["retry_after"].as_u64().unwrap_or(0),
    ))
}
