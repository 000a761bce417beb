//! Sources behind other people's HTTP servers: web search and scholarly literature.
//!
//! Exists so that the scopes `public_web` and `scholarly_research` name something that can be read.
//! What must stay true: an answer is hostile text, so its counts, lengths and addresses are bounded
//! before anything is kept; an address that came out of an answer is followed only below the base of
//! a configured index or to a host on the operator's list, hop by hop; one call asks each server
//! once. Every failure has a type that holds nothing of the answer. Deliberately absent: caching
//! between turns, retries (a connection is never reused, so none can have gone stale), and
//! credentials.

use std::time::Duration;

use reqwest::Url;

use super::extract::PdfReading;
use fetch::Fetcher;

mod arxiv;
mod clean;
mod crossref;
mod fetch;
mod full_text;
mod openalex;
mod papers;
#[cfg(test)]
mod tests;
mod web;

pub use papers::Paper;

/// Where the servers are; `None` is a source this server does not have.
#[derive(Debug, Clone)]
pub struct RemoteConfig {
    /// A metasearch server that answers `<base>/search?q=…&format=json`.
    pub search: Option<Url>,
    pub openalex: Option<Url>,
    pub crossref: Option<Url>,
    pub arxiv: Option<Url>,
    /// Lower-cased hosts, beside what lies below the indexes above, that give full texts.
    pub full_text_hosts: Vec<String>,
    /// Longest wait for one answer.
    pub patience: Duration,
}

impl Default for RemoteConfig {
    fn default() -> Self {
        Self {
            search: None,
            openalex: None,
            crossref: None,
            arxiv: None,
            full_text_hosts: Vec::new(),
            patience: Duration::from_secs(10),
        }
    }
}

impl RemoteConfig {
    /// Whether anything answers for `scholarly_research`.
    pub fn has_papers(&self) -> bool {
        self.openalex.is_some() || self.crossref.is_some() || self.arxiv.is_some()
    }
}

/// One of the servers that are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Upstream {
    Search,
    OpenAlex,
    Crossref,
    Arxiv,
    FullText,
}

impl Upstream {
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "the web search",
            Self::OpenAlex => "OpenAlex",
            Self::Crossref => "Crossref",
            Self::Arxiv => "arXiv",
            Self::FullText => "the host of a full text",
        }
    }

    /// How every sentence about an answer of it that was missed begins.
    pub fn lament(self) -> String {
        let (scope, name) = (self.scope(), self.name());
        format!("The scope {scope} was not read in full: {name} gave no usable answer,")
    }

    pub fn scope(self) -> &'static str {
        match self {
            Self::Search => WEB_SCOPE,
            Self::OpenAlex | Self::Crossref | Self::Arxiv | Self::FullText => SCHOLARLY_SCOPE,
        }
    }
}

/// The scopes that are read through this module.
pub const WEB_SCOPE: &str = "public_web";
pub const SCHOLARLY_SCOPE: &str = "scholarly_research";

/// Why a server gave nothing that can be used. The texts complete "…, because".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    #[error("it cannot be reached")]
    Unreachable,
    #[error("it did not answer in time")]
    Slow,
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("its answer is longer than admitted")]
    TooLong,
    #[error("its answer is of another type than asked for")]
    WrongType,
    #[error("its answer cannot be read")]
    Malformed,
    #[error("the way there leads to a place that is not admitted")]
    NotAdmitted,
    #[error("it redirects too often")]
    RedirectLoop,
}

/// A server that gave nothing, as a sentence for the run's unresolved requirements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} because {error}.", .upstream.lament())]
pub struct Unreached {
    pub upstream: Upstream,
    pub error: RemoteError,
}

/// A text that a server gave for a place on the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub title: String,
    /// An address without credentials, controls or fragment.
    pub locator: String,
    pub text: String,
}

/// What looking up papers gave: those that answered, and those that did not.
#[derive(Debug, Default)]
pub struct Lookup {
    pub papers: Vec<Paper>,
    pub reached: Vec<Upstream>,
    pub unreached: Vec<Unreached>,
}

/// The configured servers.
#[derive(Debug)]
pub struct Remotes {
    config: RemoteConfig,
    fetcher: Fetcher,
    pdf_reading: PdfReading,
}

impl Default for Remotes {
    fn default() -> Self {
        Self::new(RemoteConfig::default(), PdfReading::default())
    }
}

impl Remotes {
    pub fn new(config: RemoteConfig, pdf_reading: PdfReading) -> Self {
        Self {
            fetcher: Fetcher::new(&config),
            config,
            pdf_reading,
        }
    }

    /// Whether a scope is read through a server that is configured.
    pub fn covers(&self, scope_id: &str) -> bool {
        match scope_id {
            WEB_SCOPE => self.config.search.is_some(),
            SCHOLARLY_SCOPE => self.config.has_papers(),
            _ => false,
        }
    }

    /// Asks every configured server for one thing, to see whether it answers.
    pub async fn probe(&self) -> Vec<(Upstream, Result<(), RemoteError>)> {
        const WORD: &str = "helix";
        let patience = self.config.patience;
        let mut seen = Vec::new();
        if self.config.search.is_some() {
            let answer = self.search_web(WORD, 1, patience).await;
            seen.push((Upstream::Search, answer.map(drop)));
        }
        let found = self.lookup(WORD, 1, patience).await;
        seen.extend(found.reached.iter().map(|upstream| (*upstream, Ok(()))));
        let failed = found.unreached.iter();
        seen.extend(failed.map(|unreached| (unreached.upstream, Err(unreached.error))));
        seen.sort_by_key(|(upstream, _)| *upstream);
        seen
    }

    /// The longest wait that leaves the turn time to work on the answer.
    pub fn patience(&self, left: Duration) -> Duration {
        self.config.patience.min(left / 2)
    }
}

/// An address below a base.
fn endpoint(base: &Url, path: &str, query: &[(&str, &str)]) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}
