//! Papers as the indexes of the literature describe them, each once.

use std::time::Duration;

use reqwest::Url;

use super::{Lookup, RemoteError, Remotes, Unreached, Upstream, clean};

/// Characters of one abstract.
pub(super) const ABSTRACT: usize = 10_000;
/// Authors named of one paper.
pub(super) const AUTHORS: usize = 16;

/// One paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paper {
    pub title: String,
    pub locator: String,
    pub doi: Option<String>,
    pub year: Option<i32>,
    pub authors: Vec<String>,
    pub abstract_text: Option<String>,
    /// Where its text is said to be; judged before anybody goes there.
    pub full_text: Option<Url>,
}

/// What an index says of a paper, before it is cleaned.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub title: Option<String>,
    /// The index's own address of it, for papers without a DOI.
    pub address: Option<String>,
    pub doi: Option<String>,
    pub year: Option<i32>,
    pub authors: Vec<String>,
    pub abstract_text: Option<String>,
    pub full_text: Option<String>,
}

impl Raw {
    /// `None` for an entry without title or address.
    pub fn cleaned(self) -> Option<Paper> {
        let doi = self.doi.as_deref().and_then(clean::doi);
        let by_doi = doi.as_deref().and_then(clean::doi_locator);
        let locator = by_doi.or_else(|| clean::locator(self.address.as_deref()?))?;
        let authors = self.authors.iter().take(AUTHORS);
        let full_text = self.full_text.filter(|text| text.len() <= 2000);
        Some(Paper {
            title: self.title.as_deref().and_then(clean::title)?,
            locator,
            doi,
            year: self.year.filter(|year| (1000..=2200).contains(year)),
            authors: authors.filter_map(|name| clean::title(name)).collect(),
            abstract_text: self.abstract_text.filter(|text| !text.is_empty()),
            full_text: full_text.and_then(|text| Url::parse(&text).ok()),
        })
    }
}

impl Remotes {
    /// Asks every configured index at once; the same paper of two indexes is one.
    pub async fn lookup(&self, query: &str, limit: usize, patience: Duration) -> Lookup {
        let (openalex, crossref, arxiv) = futures_util::join!(
            self.openalex(query, limit, patience),
            self.crossref(query, limit, patience),
            self.arxiv(query, limit, patience),
        );
        let mut lookup = Lookup::default();
        let mut lists = Vec::new();
        for (upstream, answer) in [
            (Upstream::OpenAlex, openalex),
            (Upstream::Crossref, crossref),
            (Upstream::Arxiv, arxiv),
        ] {
            match answer {
                None => {}
                Some(Ok(mut papers)) => {
                    lookup.reached.push(upstream);
                    // Before they are united: a text that may be fetched is not to be hidden by
                    // one of another index that may not.
                    for paper in &mut papers {
                        let named = paper.full_text.take();
                        paper.full_text = named.filter(|url| self.fetcher.admits_text(url));
                    }
                    lists.push(papers);
                }
                Some(Err(error)) => lookup.unreached.push(Unreached { upstream, error }),
            }
        }
        lookup.papers = merged(&lists, limit);
        lookup
    }
}

/// One index's answer; `None` when the index is not configured.
pub(super) type Answer = Option<Result<Vec<Paper>, RemoteError>>;

/// The first of each list, then the second of each, with what the lists know of one paper united.
fn merged(lists: &[Vec<Paper>], limit: usize) -> Vec<Paper> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let mut all: Vec<Paper> = Vec::new();
    for place in 0..longest {
        for paper in lists.iter().filter_map(|list| list.get(place)) {
            match all.iter_mut().find(|known| is_same(known, paper)) {
                Some(known) => {
                    known.doi = known.doi.take().or_else(|| paper.doi.clone());
                    known.year = known.year.or(paper.year);
                    let said = known.abstract_text.take();
                    known.abstract_text = said.or_else(|| paper.abstract_text.clone());
                    let there = known.full_text.take();
                    known.full_text = there.or_else(|| paper.full_text.clone());
                }
                None => all.push(paper.clone()),
            }
        }
    }
    all.truncate(limit);
    all
}

/// Two DOIs decide; without them, the letters of the title and the year do.
fn is_same(a: &Paper, b: &Paper) -> bool {
    if let (Some(a), Some(b)) = (&a.doi, &b.doi) {
        return a == b;
    }
    let letters = |title: &str| -> String {
        let kept = title.chars().filter(|c| c.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    letters(&a.title) == letters(&b.title)
        && (a.year == b.year || a.year.is_none() || b.year.is_none())
}
