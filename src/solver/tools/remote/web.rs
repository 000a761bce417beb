//! Web search in the JSON of `SearXNG`: title, address and snippet of each result.

use std::time::Duration;

use serde::Deserialize;

use super::fetch::Request;
use super::{Finding, RemoteError, Remotes, Upstream, clean, endpoint};

const BYTES: usize = 2 << 20;
/// Characters of one snippet.
const SNIPPET: usize = 4000;

#[derive(Deserialize)]
struct Answer {
    results: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
}

impl Remotes {
    /// At most `limit` results, in the server's order. The snippet is the text: the page behind it
    /// is not fetched.
    pub async fn search_web(
        &self,
        query: &str,
        limit: usize,
        patience: Duration,
    ) -> Result<Vec<Finding>, RemoteError> {
        let base = self
            .config
            .search
            .as_ref()
            .ok_or(RemoteError::Unreachable)?;
        let asked = Request {
            upstream: Upstream::Search,
            url: endpoint(base, "/search", &[("q", query), ("format", "json")]),
            accept: "application/json",
            bytes: BYTES,
            patience,
        };
        let findings = move |answer: Answer| {
            let found = answer.results.into_iter().filter_map(finding);
            found.take(limit).collect()
        };
        self.fetcher.json(asked, findings).await
    }
}

fn finding(hit: Hit) -> Option<Finding> {
    let locator = clean::locator(&hit.url?)?;
    let text = clean::markup(&hit.content?, SNIPPET);
    let title = hit.title.as_deref().and_then(clean::title);
    (!text.is_empty()).then(|| Finding {
        title: title.unwrap_or_else(|| locator.clone()),
        locator,
        text,
    })
}
