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
        for admitted in host.scopes() {
            reading.scope(host, admitted, query, choice)?;
        }
        Ok(reading)
    }

    /// Sentences for the run's unresolved requirements: what could not be read, and why.
    pub fn limitations(&self) -> impl Iterator<Item = String> {
        self.limitations.iter().cloned()
    }

    fn scope(
        &mut self,
        host: &ToolHost,
        admitted: AdmittedScope,
        query: &Query,
        choice: &Choice,
    ) -> Result<(), SolverError> {
        let scope = admitted.scope.id;
        match admitted.provider {
            Provider::Absent => self.limitations.push(limitation(scope)),
            Provider::Documents(0) => {
                self.limitations
                    .push(format!("The scope {scope} holds no readable document."));
            }
            Provider::Documents(_) => match self.documents(host, scope, query, choice) {
                Ok(()) => self.scopes_read.push(scope),
                Err(ToolError::Stopped(error)) => return Err(error),
                Err(ToolError::Exhausted) => self.limitations.push(format!(
                    "The turn's allowance was spent before the scope {scope} was read to the end."
                )),
                Err(
                    error @ (ToolError::NotAdmitted
                    | ToolError::NoProvider
                    | ToolError::UnknownSource
                    | ToolError::Failed),
                ) => {
                    self.limitations
                        .push(format!("The scope {scope} could not be read: {error}."));
                }
            },
        }
        Ok(())
    }

    fn documents(
        &mut self,
        host: &ToolHost,
        scope: &'static str,
        query: &Query,
        choice: &Choice,
    ) -> Result<(), ToolError> {
        let hits = host.search(scope, &query.search_terms(), HIT_LIMIT)?;
        let mut order: Vec<SourceHandle> = Vec::new();
        for hit in &hits {
            if !order.contains(&hit.source) {
                order.push(hit.source);
            }
        }
        self.found.extend(&order);
        if choice.named != Named::Nowhere {
            let here = |source: &&SourceHandle| {
                host.card(**source).is_some_and(|card| card.scope == scope)
            };
            order = choice.sources.iter().filter(here).copied().collect();
        }
        for source in order.into_iter().take(DOCUMENT_LIMIT) {
            host.checkpoint()?;
            self.document(host, source, &hits)?;
        }
        Ok(())
    }

    fn document(
        &mut self,
        host: &ToolHost,
        source: SourceHandle,
        hits: &[Hit],
    ) -> Result<(), ToolError> {
        let whole = Span {
            start: 0,
            end: WHOLE_BYTES,
        };
        let first = host.read(source, whole)?;
        let length = first.document.text.len() as u64;
        self.sentences_of(&first);
        if length <= WHOLE_BYTES {
            return Ok(());
        }
        let beyond = hits
            .iter()
            .filter(|hit| hit.source == source && hit.span.start >= WHOLE_BYTES);
        let mut read_to = WHOLE_BYTES;
        let mut spans: Vec<Span> = beyond.take(WINDOW_LIMIT).map(|hit| hit.span).collect();
        spans.sort_by_key(|span| span.start);
        for span in spans {
            let start = span.start.saturating_sub(AROUND_HIT).max(read_to);
            let end = span.end.saturating_add(AROUND_HIT).min(length);
            if start < end {
                self.sentences_of(&host.read(source, Span { start, end })?);
                read_to = end;
            }
        }
        Ok(())
    }

    fn sentences_of(&mut self, read: &SourceText) {
        let document = &read.document;
        for block in &document.blocks {
            if self.sentences.len() >= SENTENCE_LIMIT {
                return;
            }
            for range in sentences::split(&document.text, block.range.clone()) {
                let span = Span {
                    start: range.start as u64,
                    end: range.end as u64,
                };
                // A sentence cut by the window's edge was not read whole.
                if span.start >= read.window.start && span.end <= read.window.end {
                    self.sentences.extend(sentence(read, block, range, span));
                }
            }
        }
    }
}

fn sentence(read: &SourceText, block: &Block, range: Range<usize>, span: Span) -> Option<Sentence> {
    let quote = read.document.text.get(range)?;
    let heading = read.document.heading(block);
    let values = values::find(quote);
    let stems: BTreeSet<String> = words::stems(quote).into_iter().collect();
    if stems.is_empty() {
        return None;
    }
    let mut context: BTreeSet<String> = words::stems(heading).into_iter().collect();
    context.extend(words::stems(&read.card.title));
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
        context,
        values,
    })
}
