//! `OpenAlex`: works by search, their abstracts put together from the inverted index.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;

use super::fetch::Request;
use super::papers::{ABSTRACT, AUTHORS, Answer, Raw};
use super::{Remotes, Upstream, clean, endpoint};

const BYTES: usize = 8 << 20;
const FIELDS: &str = "id,doi,display_name,publication_year,abstract_inverted_index,open_access,\
                      best_oa_location,authorships";
/// Words of one abstract.
const WORDS: usize = 4000;
/// Bytes of one word.
const WORD: usize = 200;

#[derive(Deserialize)]
struct Works {
    results: Vec<Work>,
}

#[derive(Deserialize)]
struct Work {
    id: Option<String>,
    doi: Option<String>,
    display_name: Option<String>,
    publication_year: Option<i32>,
    abstract_inverted_index: Option<HashMap<String, Vec<u32>>>,
    open_access: Option<OpenAccess>,
    best_oa_location: Option<Location>,
    authorships: Option<Vec<Authorship>>,
}

#[derive(Deserialize)]
struct OpenAccess {
    oa_url: Option<String>,
}

#[derive(Deserialize)]
struct Location {
    pdf_url: Option<String>,
}

#[derive(Deserialize)]
struct Authorship {
    author: Option<Author>,
}

#[derive(Deserialize)]
struct Author {
    display_name: Option<String>,
}

impl Remotes {
    pub(super) async fn openalex(&self, query: &str, limit: usize, patience: Duration) -> Answer {
        let base = self.config.openalex.as_ref()?;
        let page = limit.to_string();
        let asked = [("search", query), ("per-page", &page), ("select", FIELDS)];
        let request = Request {
            upstream: Upstream::OpenAlex,
            url: endpoint(base, "/works", &asked),
            accept: "application/json",
            bytes: BYTES,
            patience,
        };
        let papers = move |works: Works| {
            let raw = works.results.into_iter().take(limit).map(Work::raw);
            raw.filter_map(Raw::cleaned).collect()
        };
        Some(self.fetcher.json(request, papers).await)
    }
}

impl Work {
    fn raw(self) -> Raw {
        let pdf = self.best_oa_location.and_then(|place| place.pdf_url);
        let authors = self.authorships.into_iter().flatten().take(AUTHORS);
        Raw {
            title: self.display_name,
            address: self.id,
            doi: self.doi,
            year: self.publication_year,
            authors: authors.filter_map(|of| of.author?.display_name).collect(),
            abstract_text: self.abstract_inverted_index.as_ref().map(in_order),
            full_text: pdf.or_else(|| self.open_access?.oa_url),
        }
    }
}

/// The words at their places. Two words at one place stand in the order of their letters, so that
/// the same answer makes the same text; what is longer than a word is none.
fn in_order(index: &HashMap<String, Vec<u32>>) -> String {
    let mut placed: Vec<(u32, &str)> = Vec::new();
    for (word, places) in index.iter().filter(|(word, _)| word.len() <= WORD) {
        placed.extend(places.iter().map(|place| (*place, word.as_str())));
    }
    placed.sort_unstable();
    placed.truncate(WORDS);
    let words: Vec<&str> = placed.into_iter().map(|(_, word)| word).collect();
    clean::prose(&words.join(" "), ABSTRACT)
}
