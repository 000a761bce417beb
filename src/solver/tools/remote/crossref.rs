//! Crossref: works by query, abstracts in JATS.

use std::time::Duration;

use serde::Deserialize;

use super::fetch::Request;
use super::papers::{ABSTRACT, AUTHORS, Answer, Raw};
use super::{Remotes, Upstream, clean, endpoint};

const BYTES: usize = 8 << 20;
const FIELDS: &str = "DOI,title,abstract,author,issued,link,URL";

#[derive(Deserialize)]
struct Works {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    items: Vec<Work>,
}

#[derive(Deserialize)]
struct Work {
    #[serde(rename = "DOI")]
    doi: Option<String>,
    #[serde(rename = "URL")]
    url: Option<String>,
    title: Option<Vec<String>>,
    #[serde(rename = "abstract")]
    abstract_text: Option<String>,
    author: Option<Vec<Author>>,
    issued: Option<Issued>,
    link: Option<Vec<Link>>,
}

#[derive(Deserialize)]
struct Author {
    given: Option<String>,
    family: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Issued {
    #[serde(rename = "date-parts")]
    date_parts: Option<Vec<Vec<Option<i32>>>>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(rename = "URL")]
    url: Option<String>,
    #[serde(rename = "content-type")]
    content_type: Option<String>,
}

impl Remotes {
    pub(super) async fn crossref(&self, query: &str, limit: usize, patience: Duration) -> Answer {
        let base = self.config.crossref.as_ref()?;
        let rows = limit.to_string();
        let asked = [("query", query), ("rows", &rows), ("select", FIELDS)];
        let request = Request {
            upstream: Upstream::Crossref,
            url: endpoint(base, "/works", &asked),
            accept: "application/json",
            bytes: BYTES,
            patience,
        };
        let papers = move |works: Works| {
            let raw = works.message.items.into_iter().take(limit).map(Work::raw);
            raw.filter_map(Raw::cleaned).collect()
        };
        Some(self.fetcher.json(request, papers).await)
    }
}

impl Work {
    fn raw(self) -> Raw {
        let dates = self.issued.and_then(|issued| issued.date_parts);
        let readable = |link: &Link| {
            let kind = link.content_type.as_deref().unwrap_or_default();
            matches!(kind, "application/pdf" | "text/html" | "text/plain")
        };
        let authors = self.author.into_iter().flatten().take(AUTHORS);
        let mut links = self.link.into_iter().flatten();
        Raw {
            title: self.title.into_iter().flatten().next(),
            address: self.url,
            doi: self.doi,
            year: dates.and_then(|dates| *dates.first()?.first()?),
            authors: authors.filter_map(Author::said).collect(),
            abstract_text: self
                .abstract_text
                .map(|text| clean::markup(&text, ABSTRACT)),
            full_text: links.find(readable).and_then(|link| link.url),
        }
    }
}

impl Author {
    fn said(self) -> Option<String> {
        match (self.given, self.family) {
            (Some(given), Some(family)) => Some(format!("{given} {family}")),
            (given, family) => family.or(given).or(self.name),
        }
    }
}
