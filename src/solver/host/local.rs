//! What the capabilities over documents at hand answer.

use std::path::Path;
use std::sync::Arc;

use helix_aggregates::agent::evidence::item::Span;
use helix_aggregates::agent::scope::DataScope;
use serde_json::{Value, json};

use super::arguments::{Arguments, BadArguments};
use super::call::Answered;
use super::cards::{Among, Listing, Local};
use super::{ToolError, ToolHost, slice, span, whole_characters};
use crate::solver::corpora::{Corpus, Document, WeightedTerm, words};
use crate::solver::seam::SourceHandle;
use crate::solver::tools::extract::Format;

mod outline;
mod translation;

/// Bytes of one passage in an answer.
pub(super) const PASSAGE: u64 = 2000;
/// Bytes of text in the answer to one read.
const WINDOW: u64 = 64 << 10;
/// Passages looked at before those of other documents are left out.
const LOOKED_AT: usize = 256;
/// Documents named by one listing.
const LISTED: usize = 200;

/// A source as an act works on it.
pub(super) struct Open {
    pub source: SourceHandle,
    pub document: Arc<Document>,
}

impl ToolHost {
    /// Answers an act over the documents of a scope. Blocking.
    pub(super) fn answer_here(
        &self,
        scope: &'static DataScope,
        act: Local,
        arguments: &Arguments,
    ) -> Result<Answered, ToolError> {
        let corpus = self.corpus_of(scope.id).ok_or(ToolError::NoProvider)?;
        let limit = arguments.whole("limit").map_or(8, clipped);
        let query = arguments.text("query").unwrap_or_default();
        match act {
            Local::ReadLibrary => self.library(&corpus, arguments),
            Local::Search(among, listing) => {
                let stems = match among {
                    Among::Code => names_of(query),
                    Among::All | Among::Documentation => words::stems(query),
                };
                let hits = self.hits(&corpus, &stems, among, listing, limit)?;
                Ok(self.passages(&hits, PASSAGE))
            }
            Local::Validate => Ok(self.validate(&corpus, arguments)),
            Local::Summarize => {
                let open = self.opened(scope, arguments)?;
                Ok(self.outline(&open))
            }
            Local::Locate => {
                let open = self.opened(scope, arguments)?;
                let found = best_blocks(&open.document, query, limit);
                let hits: Vec<_> = found
                    .into_iter()
                    .map(|window| (open.source, window))
                    .collect();
                Ok(self.passages(&hits, PASSAGE))
            }
            Local::Read => {
                let open = self.opened(scope, arguments)?;
                Ok(self.text_of(&open, arguments))
            }
            Local::Translation => {
                let open = self.opened(scope, arguments)?;
                Ok(self.translation(&corpus, &open, arguments))
            }
            Local::Numbers => {
                let open = self.opened(scope, arguments)?;
                Ok(self.numbers(&open, arguments))
            }
            Local::Reflect => self.reflect(&corpus, arguments),
        }
    }

    fn library(&self, corpus: &Corpus, arguments: &Arguments) -> Result<Answered, ToolError> {
        match (arguments.text("query"), arguments.whole("source")) {
            (Some(_), Some(_)) => Err(BadArguments::Exclusive("query", "source").into()),
            (Some(query), None) => {
                let stems = words::stems(query);
                let hits = self.hits(corpus, &stems, Among::All, Listing::Passages, 8)?;
                Ok(self.passages(&hits, PASSAGE))
            }
            (None, Some(_)) => {
                let open = self.opened(corpus.scope(), arguments)?;
                Ok(self.text_of(&open, arguments))
            }
            (None, None) => Ok(self.listing(corpus)),
        }
    }

    fn listing(&self, corpus: &Corpus) -> Answered {
        let listed = corpus.documents().iter().enumerate().take(LISTED);
        let sources: Vec<Value> = listed
            .map(|(ordinal, document)| {
                let source = self.ledger().name(corpus.scope().id, ordinal, document);
                self.head(source)
            })
            .collect();
        Answered {
            body: json!({"sources": sources, "documents": corpus.documents().len()}),
            handed: Vec::new(),
        }
    }

    /// The best passages of a corpus, named.
    pub(super) fn hits(
        &self,
        corpus: &Corpus,
        stems: &[String],
        among: Among,
        listing: Listing,
        limit: usize,
    ) -> Result<Vec<(SourceHandle, Span)>, ToolError> {
        let terms: Vec<WeightedTerm> = stems
            .iter()
            .map(|stem| WeightedTerm {
                stem: stem.clone(),
                weight: 1.0,
            })
            .collect();
        let found = corpus
            .index()
            .search(&terms, LOOKED_AT)
            .map_err(|_| ToolError::Failed)?;
        let mut hits: Vec<(SourceHandle, Span)> = Vec::new();
        for hit in found {
            let Some(document) = corpus.documents().get(hit.document) else {
                continue;
            };
            if hits.len() == limit || !among.admits(document) {
                continue;
            }
            let source = self
                .ledger()
                .name(corpus.scope().id, hit.document, document);
            let known = hits.iter().any(|(other, _)| *other == source);
            if listing == Listing::Passages || !known {
                hits.push((source, span(hit.range)));
            }
        }
        Ok(hits)
    }

    /// Passages grouped by source, each in the order of the hits.
    pub(super) fn passages(&self, hits: &[(SourceHandle, Span)], most: u64) -> Answered {
        let mut order: Vec<SourceHandle> = Vec::new();
        for (source, _) in hits {
            if !order.contains(source) {
                order.push(*source);
            }
        }
        let mut handed = Vec::new();
        let mut sources = Vec::new();
        for source in order {
            let Some(open) = self.known(source) else {
                continue;
            };
            let mut shown = Vec::new();
            for (_, hit) in hits.iter().filter(|(of, _)| *of == source) {
                let window = within(&open.document, *hit, most);
                handed.push((source, window));
                shown.push(part(&open.document, window));
            }
            let mut head = self.head(source);
            head["passages"] = shown.into();
            sources.push(head);
        }
        Answered {
            body: json!({ "sources": sources }),
            handed,
        }
    }

    fn validate(&self, corpus: &Corpus, arguments: &Arguments) -> Answered {
        let candidates: Vec<Value> = arguments
            .texts("locators")
            .map(|locator| {
                let known = corpus
                    .documents()
                    .iter()
                    .enumerate()
                    .find(|(_, document)| document.locator == locator);
                let Some((ordinal, document)) = known else {
                    return json!({"valid": false});
                };
                let source = self.ledger().name(corpus.scope().id, ordinal, document);
                let mut head = self.head(source);
                head["valid"] = true.into();
                head
            })
            .collect();
        Answered {
            body: json!({ "candidates": candidates }),
            handed: Vec::new(),
        }
    }

    pub(super) fn text_of(&self, open: &Open, arguments: &Arguments) -> Answered {
        let document = &open.document;
        let start = arguments.whole("start").unwrap_or(0);
        let end = arguments.whole("end").unwrap_or(u64::MAX);
        let window = within(document, Span { start, end }, WINDOW);
        let mut body = self.head(open.source);
        body["length"] = document.text.len().into();
        body["start"] = window.start.into();
        body["end"] = window.end.into();
        body["text"] = slice(&document.text, window).unwrap_or_default().into();
        Answered {
            body,
            handed: vec![(open.source, window)],
        }
    }

    /// The source that the arguments name, when an answer of this turn has named it in this scope.
    fn opened(&self, scope: &DataScope, arguments: &Arguments) -> Result<Open, ToolError> {
        let named = arguments.whole("source").and_then(|number| {
            let source = SourceHandle(u32::try_from(number).ok()?);
            let card = self.card(source)?;
            (card.scope == scope.id).then_some(source)
        });
        named
            .and_then(|source| self.known(source))
            .ok_or(ToolError::UnknownSource)
    }

    pub(super) fn known(&self, source: SourceHandle) -> Option<Open> {
        let ledger = self.ledger();
        let known = ledger.sources.get(source.0 as usize)?;
        Some(Open {
            source,
            document: Arc::clone(&known.document),
        })
    }

    /// How an answer names a source.
    pub(super) fn head(&self, source: SourceHandle) -> Value {
        let Some(card) = self.card(source) else {
            return json!({});
        };
        json!({
            "source": source.0, "scope": card.scope, "title": card.title, "locator": card.locator,
        })
    }
}

impl Among {
    fn admits(self, document: &Document) -> bool {
        let is_prose = Format::of_name(Path::new(&document.locator)).is_some();
        match self {
            Self::All => true,
            Self::Documentation => is_prose,
            Self::Code => !is_prose,
        }
    }
}

/// The words of a concept, and its neighbours joined as names join them: `ToolHost` is one word.
fn names_of(query: &str) -> Vec<String> {
    let spelled: Vec<String> = words::words(query)
        .filter(|word| !words::is_stop(word.text))
        .map(|word| word.text.to_lowercase())
        .collect();
    let mut names: Vec<String> = spelled.iter().map(|word| words::stem(word)).collect();
    for size in 2..=3 {
        names.extend(spelled.windows(size).map(|run| words::stem(&run.concat())));
    }
    names
}

/// The blocks of a document that hold most of the query's words, in that order.
fn best_blocks(document: &Document, query: &str, limit: usize) -> Vec<Span> {
    let wanted = words::stems(query);
    let mut scored: Vec<(usize, Span)> = document
        .blocks
        .iter()
        .filter_map(|block| {
            let text = document.text.get(block.range.clone())?;
            let held = words::stems(text);
            let count = wanted.iter().filter(|stem| held.contains(stem)).count();
            (count > 0).then(|| (count, span(block.range.clone())))
        })
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.start.cmp(&b.1.start)));
    scored
        .into_iter()
        .take(limit)
        .map(|(_, found)| found)
        .collect()
}

/// The part of a window that an answer may hold, on whole characters.
fn within(document: &Document, window: Span, most: u64) -> Span {
    let end = window.end.min(window.start.saturating_add(most));
    let start = window.start;
    whole_characters(&document.text, Span { start, end })
}

pub(super) fn part(document: &Document, window: Span) -> Value {
    json!({
        "start": window.start, "end": window.end,
        "text": slice(&document.text, window).unwrap_or_default(),
    })
}

fn clipped(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
