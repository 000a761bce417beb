//! One request to one server, redirects followed by hand.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, HeaderValue, USER_AGENT};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{RemoteConfig, RemoteError, SCHOLARLY_SCOPE, Upstream};
use crate::outbound::{FetchError, FetchLimits, Fetched, GuardedFetch, Outgoing, Reach};

/// Redirects followed on the way to one answer.
const HOPS: usize = 3;
/// Requests that one server answers at a time.
const AT_A_TIME: usize = 4;
/// Who asks; servers of public interest want to know.
const AGENT: &str = concat!("helix/", env!("CARGO_PKG_VERSION"));

/// What is asked of a server, in the words of a run.
pub(super) struct Request {
    pub upstream: Upstream,
    pub url: Url,
    pub accept: &'static str,
    pub bytes: usize,
    /// For the whole way, redirects included.
    pub patience: Duration,
}

/// An answer with status 200.
pub(super) struct Page {
    /// Where the last hop led.
    pub url: Url,
    pub media_type: String,
    pub body: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Fetcher {
    /// The servers the operator has configured, and vouches for.
    bases: Vec<Base>,
    hosts: Vec<String>,
    gates: [Semaphore; 5],
}

#[derive(Debug)]
struct Base {
    upstream: Upstream,
    url: Url,
}

impl Fetcher {
    pub fn new(config: &RemoteConfig) -> Self {
        let bases = [
            (Upstream::Search, &config.search),
            (Upstream::OpenAlex, &config.openalex),
            (Upstream::Crossref, &config.crossref),
            (Upstream::Arxiv, &config.arxiv),
        ];
        let configured = bases.into_iter().filter_map(|(upstream, url)| {
            let url = url.clone()?;
            Some(Base { upstream, url })
        });
        Self {
            bases: configured.collect(),
            hosts: config.full_text_hosts.clone(),
            gates: std::array::from_fn(|_| Semaphore::new(AT_A_TIME)),
        }
    }

    /// Whether a full text is fetched from an address that an answer has named.
    pub fn admits_text(&self, url: &Url) -> bool {
        self.reach(Upstream::FullText, url).is_some()
    }

    /// How an address may be approached on the way to an upstream's answer; `None`: not at all.
    fn reach(&self, upstream: Upstream, url: &Url) -> Option<Reach> {
        let web = matches!(url.scheme(), "http" | "https");
        if !web || !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        if self.bases.iter().any(|base| base.vouches(upstream, url)) {
            return Some(Reach::Anywhere);
        }
        let host = url.host_str()?.to_ascii_lowercase();
        (url.scheme() == "https" && self.hosts.contains(&host)).then_some(Reach::Public)
    }

    pub async fn get(&self, request: Request) -> Result<Page, RemoteError> {
        let gate = match request.upstream {
            Upstream::Search => &self.gates[0],
            Upstream::OpenAlex => &self.gates[1],
            Upstream::Crossref => &self.gates[2],
            Upstream::Arxiv => &self.gates[3],
            Upstream::FullText => &self.gates[4],
        };
        let until = Instant::now() + request.patience;
        let permit = tokio::time::timeout_at(until, gate.acquire());
        let _permit = permit
            .await
            .map_err(|_| RemoteError::Slow)?
            .map_err(|_| RemoteError::Unreachable)?;
        let mut url = request.url;
        for _ in 0..=HOPS {
            let reach = self
                .reach(request.upstream, &url)
                .ok_or(RemoteError::NotAdmitted)?;
            let limits = FetchLimits {
                bytes: request.bytes,
                deadline: until.saturating_duration_since(Instant::now()),
            };
            let outgoing = Outgoing::get(url.clone())
                .header(USER_AGENT, HeaderValue::from_static(AGENT))
                .header(ACCEPT, HeaderValue::from_static(request.accept));
            // On the heap: everything that waits for an answer would be as large as a connection.
            let fetched = Box::pin(GuardedFetch::new(reach, limits).send(outgoing)).await?;
            match onward(&url, &fetched)? {
                Some(next) => url = next,
                None => {
                    return Ok(Page {
                        url,
                        media_type: fetched.media_type,
                        body: fetched.body,
                    });
                }
            }
        }
        Err(RemoteError::RedirectLoop)
    }

    /// As [`Self::get`], for an answer in JSON that `read` makes something of. Members that are not
    /// read are skipped, and nesting beyond the reader's limit is refused.
    pub async fn json<T, R>(
        &self,
        request: Request,
        read: impl FnOnce(T) -> R + Send + 'static,
    ) -> Result<R, RemoteError>
    where
        T: DeserializeOwned,
        R: Send + 'static,
    {
        let page = self.get(request).await?;
        if !page.media_type.ends_with("json") {
            return Err(RemoteError::WrongType);
        }
        off_thread(move || {
            let answer = serde_json::from_slice(&page.body).map_err(|_| RemoteError::Malformed)?;
            Ok(read(answer))
        })
        .await
    }
}

/// Reads an answer where it holds nobody up: markup can be written so that it takes long.
pub(super) async fn off_thread<R: Send + 'static>(
    read: impl FnOnce() -> Result<R, RemoteError> + Send + 'static,
) -> Result<R, RemoteError> {
    tokio::task::spawn_blocking(read)
        .await
        .map_err(|_| RemoteError::Malformed)?
}

impl Base {
    /// A configured server may redirect within itself. Anybody can have a paper's text said to be
    /// somewhere, so that must lie below the base of an index: the operator vouches for no more of
    /// a host, and for no text of a web search.
    fn vouches(&self, upstream: Upstream, url: &Url) -> bool {
        let same = self.url.origin() == url.origin();
        match upstream {
            Upstream::FullText => {
                let rest = url
                    .path()
                    .strip_prefix(self.url.path().trim_end_matches('/'));
                let below = rest.is_some_and(|rest| rest.starts_with('/'));
                same && below && self.upstream.scope() == SCHOLARLY_SCOPE
            }
            Upstream::Search | Upstream::OpenAlex | Upstream::Crossref | Upstream::Arxiv => same,
        }
    }
}

/// Where an answer sends on to; `None` when it is the answer.
fn onward(url: &Url, fetched: &Fetched) -> Result<Option<Url>, RemoteError> {
    match (fetched.status, &fetched.location) {
        (200, _) => Ok(None),
        (301 | 302 | 303 | 307 | 308, Some(location)) => {
            let next = url.join(location).map_err(|_| RemoteError::NotAdmitted)?;
            Ok(Some(next))
        }
        (status, _) => Err(RemoteError::Status(status)),
    }
}

impl From<FetchError> for RemoteError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::UrlNotAdmitted | FetchError::AddressNotPublic => Self::NotAdmitted,
            FetchError::Unreachable => Self::Unreachable,
            FetchError::Status(status) => Self::Status(status),
            FetchError::TooLong => Self::TooLong,
            FetchError::TooSlow => Self::Slow,
            FetchError::NotJson => Self::WrongType,
        }
    }
}
