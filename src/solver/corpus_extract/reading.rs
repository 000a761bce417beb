//! Reading: search, then read the best documents of each scope into sentences.

use std::collections::BTreeSet;
use std::ops::Range;

use helix_aggregates::agent::evidence::item::Span;

use super::choice::{Choice, Named};
use super::facts::Subject;
use super::query::Query;
use super::sentences;
use super::values::{self, Value};
use crate::solver::corpora::{Block, words};
use crate::solver::host::{AdmittedScope, Hit, Provider, SourceText, ToolError, ToolHost};
use crate::solver::seam::{SolverError, SourceHandle, TurnInput};
use crate::solver::tools::limitation;

const HIT_LIMIT: usize = 96;
/// Documents read of one scope.
const DOCUMENT_LIMIT: usize = 8;
/// A longer document is read around its hits only.
const WHOLE_BYTES: u64 = 128 << 10;
const AROUND_HIT: u64 = 4096;
/// Windows read of one long document.
const WINDOW_LIMIT: usize = 6;
const SENTENCE_LIMIT: usize = 20_000;

/// A sentence that was read and can be quoted.
#[derive(Debug, Clone)]
pub(super) struct Sentence {
    pub source: SourceHandle,
    pub scope: &'static str,
    pub title: String,
    pub locator: String,
    pub span: Span,
    pub quote: String,
    pub display: String,
    pub stems: BTreeSet<String>,
    /// Stems of its heading and its document's title.
    pub context: BTreeSet<String>,
    pub values: Vec<Value>,
    pub subject: Subject,
}

/// What one turn has read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub sentences: Vec<Sentence>,
    /// The sources that searches found, best first.
    pub found: Vec<SourceHandle>,
    limitations: Vec<String>,
    pub scopes_read: Vec<&'static str>,
}

impl Reading {
    pub fn of(
        input: &TurnInput,
        host: &ToolHost,
        query: &Query,
        choice: &Choice,
    ) -> Result<Self, SolverError> {
        let mut reading = Self::default();
        if input.database_scope.is_empty() {
            reading
                .limitations
                .push("The run admits no data scope, so nothing can be read.".to_owned());
        }
        let unreached = host.record().unreached;
        let named = unreached.iter().map(ToString::to_string);
        reading.limitations.extend(named);
        let mut reader = Reader {
            host,
            query,
            choice,
            reading: &mut reading,
        };
        for admitted in host.scopes() {
            reader.scope(admitted)?;
        }
        Ok(reading)
    }

    /// Sentences for the run's unresolved requirements: what could not be read, and why.
    pub fn limitations(&self) -> impl Iterator<Item = String> {
        self.limitations.iter().cloned()
    }
}

struct Reader<'a> {
    host: &'a ToolHost,
    query: &'a Query,
    choice: &'a Choice,
    reading: &'a mut Reading,
}

impl Reader<'_> {
    fn scope(&mut self, admitted: AdmittedScope) -> Result<(), SolverError> {
        let scope = admitted.scope.id;
        let limit = match admitted.provider {
            Provider::Absent => limitation(scope),
            Provider::Documents(0) => format!("The scope {scope} holds no readable document."),
            Provider::Retrieved(0) => {
                // Servers that did not answer are named already; those that did knew nothing.
                if self.host.is_reached(scope) {
                    format!("The servers of the scope {scope} know nothing of the objective.")
                } else {
                    return Ok(());
                }
            }
            Provider::Documents(_) | Provider::Retrieved(_) => match self.documents(scope) {
                Ok(()) => {
                    self.reading.scopes_read.push(scope);
                    return Ok(());
                }
                Err(ToolError::Stopped(error)) => return Err(error),
                Err(ToolError::Exhausted) => {
                    format!(
                        "The turn's allowance was spent before the scope {scope} was read to the end."
                    )
                }
                Err(error) => format!("The scope {scope} could not be read: {error}."),
            },
        };
        self.reading.limitations.push(limit);
        Ok(())
    }

    fn documents(&mut self, scope: &'static str) -> Result<(), ToolError> {
        let hits = self
            .host
            .search(scope, &self.query.search_terms(), HIT_LIMIT)?;
        let mut order: Vec<SourceHandle> = Vec::new();
        for hit in &hits {
            if !order.contains(&hit.source) {
                order.push(hit.source);
            }
        }
        self.reading.found.extend(&order);
        let chosen = self.chosen_in(scope);
        // A scope of which nothing was chosen is read as ever: its family has to be proved too.
        let order = if chosen.is_empty() { order } else { chosen };
        for source in order.into_iter().take(DOCUMENT_LIMIT) {
            self.host.checkpoint()?;
            self.document(source, &hits)?;
        }
        Ok(())
    }

    fn chosen_in(&self, scope: &str) -> Vec<SourceHandle> {
        let here = |source: &&SourceHandle| {
            self.host
                .card(**source)
                .is_some_and(|card| card.scope == scope)
        };
        self.choice.sources.iter().filter(here).copied().collect()
    }

    fn document(&mut self, source: SourceHandle, hits: &[Hit]) -> Result<(), ToolError> {
        let first = self.host.read(
            source,
            Span {
                start: 0,
                end: WHOLE_BYTES,
            },
        )?;
        let length = first.document.text.len() as u64;
        let mut read_to = self.sentences_of(&first, 0);
        let mut spans: Vec<Span> = hits
            .iter()
            .filter(|hit| hit.source == source && hit.span.end > WHOLE_BYTES)
            .take(WINDOW_LIMIT)
            .map(|hit| hit.span)
            .collect();
        spans.sort_by_key(|span| span.start);
        for span in spans {
            let start = span.start.saturating_sub(AROUND_HIT);
            let end = span.end.saturating_add(AROUND_HIT).min(length);
            let part = self.host.read(source, Span { start, end })?;
            read_to = self.sentences_of(&part, read_to);
        }
        Ok(())
    }

    /// Takes the sentences of a window that start at or after `from`; says where the last one ends.
    fn sentences_of(&mut self, read: &SourceText, from: u64) -> u64 {
        let document = &read.document;
        let mut read_to = from;
        for block in &document.blocks {
            let (start, end) = (block.range.start as u64, block.range.end as u64);
            if end <= read.window.start || start >= read.window.end {
                continue;
            }
            let mut context: BTreeSet<String> =
                words::stems(document.heading(block)).into_iter().collect();
            context.extend(words::stems(&read.card.title));
            for range in sentences::split(&document.text, block.range.clone()) {
                let span = Span {
                    start: range.start as u64,
                    end: range.end as u64,
                };
                // A sentence cut by the window's edge was not read whole.
                let whole =
                    span.start >= read.window.start.max(from) && span.end <= read.window.end;
                if whole && self.reading.sentences.len() < SENTENCE_LIMIT {
                    read_to = span.end;
                    let read = self.sentence(read, block, range, &context);
                    self.reading.sentences.extend(read);
                }
            }
        }
        read_to
    }

    fn sentence(
        &self,
        read: &SourceText,
        block: &Block,
        range: Range<usize>,
        context: &BTreeSet<String>,
    ) -> Option<Sentence> {
        let span = Span {
            start: range.start as u64,
            end: range.end as u64,
        };
        let quote = read.document.text.get(range)?;
        let stems: BTreeSet<String> = words::stems(quote).into_iter().collect();
        let wanted = self.choice.named == Named::InAnswer || self.query.touches(&stems, context);
        if stems.is_empty() || !wanted {
            return None;
        }
        let values = values::find(quote);
        let heading = read.document.heading(block);
        Some(Sentence {
            source: read.card.source,
            scope: read.card.scope,
            title: read.card.title.clone(),
            locator: read.card.locator.clone(),
            span,
            display: sentences::display(quote),
            subject: Subject::of(quote, &values, heading, &read.card.title),
            quote: quote.to_owned(),
            stems,
            context: context.clone(),
            values,
        })
    }
}
