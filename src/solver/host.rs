//! The tool host: the only way from a solver to a source.
//!
//! Exists so that nothing a solver says about its reading has to be believed. What must stay true:
//! a call is answered only for a capability that this run admits and that is on the read-only
//! ceiling; every call leaves a receipt; a span becomes evidence only after the host has read the
//! source again, found the same bytes as were indexed, and compared the quote byte by byte.
//! There are two ways in with one admission: typed operations for the solver of this process, and
//! [`ToolHost::call`] by capability id for those that choose their calls themselves.
//! What other servers answer is retained by the turn and read like any document.
//! Deliberately absent: judgement about what the spans mean, which is the finaliser's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helix_aggregates::agent::evidence::item::{Span, ToolOutcome, ToolReceipt};
use helix_aggregates::agent::scope::{self, DataScope};

use super::corpora::{Corpus, Document, Snapshot, WeightedTerm, ceil_boundary, floor_boundary};
use super::seam::{Abort, Allowance, SolverError, SourceHandle, TurnInput};
use super::tools::remote::{RemoteError, Unreached, Upstream};
use ledger::Ledger;
use receipt::{Call, RunMark};

mod admit;
mod arguments;
mod call;
mod cards;
mod ceiling;
mod ledger;
mod local;
mod locate;
mod numbers;
mod receipt;
mod remote;
mod theory;

pub use admit::{Admitted, Refusal, is_too_short};
pub use arguments::BadArguments;
pub use call::{CapabilityCard, ToolAnswer};
pub use ceiling::{Operation, is_read_only};
pub(in crate::solver) use receipt::RunMark as TurnMark;

/// A passage that a search found. Reading it is another call.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub source: SourceHandle,
    pub span: Span,
    pub score: f32,
}

/// What a source is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceCard {
    pub source: SourceHandle,
    pub scope: &'static str,
    pub title: String,
    pub locator: String,
}

/// A source as a solver reads it.
#[derive(Debug, Clone)]
pub struct SourceText {
    pub card: SourceCard,
    pub document: Arc<Document>,
    /// The part that was handed over and may be quoted.
    pub window: Span,
}

/// A scope the run asks for, and whether this server can read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmittedScope {
    pub scope: &'static DataScope,
    pub provider: Provider,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Absent,
    Documents(usize),
    /// Read through other people's servers: so many documents are retained by this turn.
    Retrieved(usize),
}

/// Why a call was not answered. Every call that was counted has left a receipt: not one that came
/// after the end of the turn or of its allowance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    #[error("the capability is not admitted to this run")]
    NotAdmitted,
    #[error("the turn's allowance of calls, bytes or time is spent")]
    Exhausted,
    #[error("this server has no provider for the scope")]
    NoProvider,
    #[error("the source is unknown")]
    UnknownSource,
    #[error(transparent)]
    BadArguments(#[from] BadArguments),
    #[error("the server that was asked gave no usable answer, because {0}")]
    Remote(#[from] RemoteError),
    #[error("the search failed")]
    Failed,
    #[error(transparent)]
    Stopped(#[from] SolverError),
}

/// What the finaliser learns of the turn's calls.
#[derive(Debug, Clone, Default)]
pub struct HostRecord {
    pub receipts: Vec<ToolReceipt>,
    /// Servers that gave nothing when they were last asked.
    pub unreached: Vec<Unreached>,
    /// Servers that answered every time they were last asked.
    pub reached: Vec<Upstream>,
}

/// One turn's access to its sources. Clones share one ledger.
#[derive(Debug, Clone)]
pub struct ToolHost(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    mark: RunMark,
    scopes: Vec<&'static DataScope>,
    allowed_tools: Vec<String>,
    allowance: Allowance,
    abort: Abort,
    snapshot: Arc<Snapshot>,
    ledger: Mutex<Ledger>,
    /// Held while documents of other servers are indexed.
    shelving: tokio::sync::Mutex<()>,
}

impl ToolHost {
    /// Binds a host to one turn and to the snapshot the turn reads.
    pub fn new(input: &TurnInput, snapshot: Arc<Snapshot>) -> Self {
        let scopes = input
            .database_scope
            .iter()
            .filter_map(|id| scope::find(id))
            .collect();
        Self(Arc::new(Inner {
            mark: RunMark::of(input),
            scopes,
            allowed_tools: input.allowed_tools.clone(),
            allowance: input.allowance,
            abort: input.abort.clone(),
            snapshot,
            ledger: Mutex::default(),
            shelving: tokio::sync::Mutex::default(),
        }))
    }

    /// The scopes of the run that are in the catalog, in the run's order.
    pub fn scopes(&self) -> Vec<AdmittedScope> {
        let provider = |scope: &DataScope| match self.corpus_of(scope.id) {
            Some(corpus) if self.0.snapshot.remotes().covers(scope.id) => {
                Provider::Retrieved(corpus.documents().len())
            }
            Some(corpus) => Provider::Documents(corpus.documents().len()),
            None => Provider::Absent,
        };
        self.0
            .scopes
            .iter()
            .map(|scope| AdmittedScope {
                scope,
                provider: provider(scope),
            })
            .collect()
    }

    /// Ends a turn that was stopped or is late. Solvers call it between their steps.
    pub fn checkpoint(&self) -> Result<(), SolverError> {
        if let Some(reason) = self.0.abort.raised() {
            return Err(SolverError::Aborted(reason));
        }
        if tokio::time::Instant::now() >= self.0.allowance.deadline {
            return Err(SolverError::DeadlinePassed);
        }
        Ok(())
    }

    /// In how many passages of a scope a stem occurs, and how many passages there are.
    ///
    /// Statistics of the index, not of any document, so this is no call.
    pub fn frequency(&self, scope_id: &str, stem: &str) -> (u64, u64) {
        self.corpus_of(scope_id).map_or((0, 0), |corpus| {
            (
                corpus.index().passages_with(stem),
                corpus.index().passages() as u64,
            )
        })
    }

    /// The best passages of a scope.
    pub fn search(
        &self,
        scope_id: &str,
        terms: &[WeightedTerm],
        limit: usize,
    ) -> Result<Vec<Hit>, ToolError> {
        let asked = terms
            .iter()
            .map(|term| term.stem.as_str())
            .collect::<Vec<_>>();
        let arguments = serde_json::json!({"limit": limit, "scope": scope_id, "terms": asked});
        let call = self.begin(scope_id, Operation::Search, &arguments)?;
        let corpus = self.corpus(scope_id, &call)?;
        let Ok(found) = corpus.index().search(terms, limit.min(256)) else {
            self.end(call, ToolOutcome::Failed, &[]);
            return Err(ToolError::Failed);
        };
        let mut ledger = self.ledger();
        let hits: Vec<Hit> = found
            .into_iter()
            .filter_map(|hit| {
                let document = corpus.documents().get(hit.document)?;
                let source = ledger.name(corpus.scope().id, hit.document, document);
                Some(Hit {
                    source,
                    span: span(hit.range),
                    score: hit.score,
                })
            })
            .collect();
        let listed = hits
            .iter()
            .map(|hit| (hit.source, hit.span))
            .collect::<Vec<_>>();
        let answer = ledger.listing(&listed);
        drop(ledger);
        self.hand_over(call, &answer)?;
        Ok(hits)
    }

    /// The sources of a scope in order of locator, at most `limit`.
    pub fn list(&self, scope_id: &str, limit: usize) -> Result<Vec<SourceCard>, ToolError> {
        let arguments = serde_json::json!({"limit": limit, "list": true, "scope": scope_id});
        let call = self.begin(scope_id, Operation::Search, &arguments)?;
        let corpus = self.corpus(scope_id, &call)?;
        let mut ledger = self.ledger();
        let handles: Vec<SourceHandle> = corpus
            .documents()
            .iter()
            .enumerate()
            .take(limit)
            .map(|(ordinal, document)| ledger.name(corpus.scope().id, ordinal, document))
            .collect();
        let listed = handles
            .iter()
            .map(|source| (*source, Span { start: 0, end: 0 }))
            .collect::<Vec<_>>();
        let answer = ledger.listing(&listed);
        let cards = handles
            .iter()
            .filter_map(|source| ledger.card(*source))
            .collect();
        drop(ledger);
        self.hand_over(call, &answer)?;
        Ok(cards)
    }

    /// What a source is called; free, because a call has named it already.
    pub fn card(&self, source: SourceHandle) -> Option<SourceCard> {
        self.ledger().card(source)
    }

    /// Reads a part of a source; the part is widened to whole characters.
    pub fn read(&self, source: SourceHandle, window: Span) -> Result<SourceText, ToolError> {
        let (card, document, scope_id) = {
            let ledger = self.ledger();
            let known = ledger
                .sources
                .get(source.0 as usize)
                .ok_or(ToolError::UnknownSource)?;
            let card = ledger.card(source).ok_or(ToolError::UnknownSource)?;
            (card, Arc::clone(&known.document), known.scope)
        };
        let window = whole_characters(&document.text, window);
        let arguments = serde_json::json!({
            "end": window.end, "locator": card.locator, "scope": scope_id, "start": window.start,
        });
        let call = self.begin(scope_id, Operation::Read, &arguments)?;
        let text = slice(&document.text, window).unwrap_or_default().as_bytes();
        let receipt_ref = self.hand_over(call, text)?;
        if let Some(known) = self.ledger().sources.get_mut(source.0 as usize) {
            known.read.push((window, receipt_ref));
        }
        Ok(SourceText {
            card,
            document: Arc::clone(&document),
            window,
        })
    }

    /// The receipts of every call so far.
    pub fn record(&self) -> HostRecord {
        let ledger = self.ledger();
        HostRecord {
            receipts: ledger.receipts.clone(),
            unreached: ledger.unreached(),
            reached: ledger.reached(),
        }
    }

    /// Whether an admission found a file changed since it was indexed.
    pub fn saw_change(&self) -> bool {
        self.ledger().unchanged.values().any(|unchanged| !unchanged)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The documents of a scope: those of this server, or those this turn has retained.
    fn corpus_of(&self, scope_id: &str) -> Option<Arc<Corpus>> {
        if let Some(corpus) = self.0.snapshot.corpus(scope_id) {
            return Some(corpus);
        }
        let scope = scope::find(scope_id)?;
        let covered = self.0.snapshot.remotes().covers(scope_id);
        let retained = self.ledger().shelves.get(scope_id).cloned();
        covered.then(|| retained.unwrap_or_else(|| Arc::new(Corpus::empty(scope))))
    }

    fn corpus(&self, scope_id: &str, call: &Call) -> Result<Arc<Corpus>, ToolError> {
        self.corpus_of(scope_id).ok_or_else(|| {
            self.end(call.clone(), ToolOutcome::Failed, &[]);
            ToolError::NoProvider
        })
    }

    /// Admits a call, or leaves the receipt of its refusal.
    fn begin(
        &self,
        scope_id: &str,
        operation: Operation,
        arguments: &serde_json::Value,
    ) -> Result<Call, ToolError> {
        self.checkpoint()?;
        let scope = self.0.scopes.iter().find(|scope| scope.id == scope_id);
        let capability =
            scope.and_then(|scope| ceiling::choose(scope, operation, &self.0.allowed_tools));
        let ordinal = self.count()?;
        let wanted = ceiling::preferred(scope_id, operation);
        let call = Call::new(ordinal, capability.unwrap_or(wanted), scope_id, arguments);
        if capability.is_none() {
            self.end(call, ToolOutcome::Refused, &[]);
            return Err(ToolError::NotAdmitted);
        }
        Ok(call)
    }

    /// The number of a call, from 1.
    fn count(&self) -> Result<u32, ToolError> {
        let mut ledger = self.ledger();
        if ledger.calls >= self.0.allowance.tool_calls {
            return Err(ToolError::Exhausted);
        }
        ledger.calls += 1;
        Ok(ledger.calls)
    }

    /// Counts the answer's bytes and closes the call; an answer beyond the allowance is withheld.
    fn hand_over(&self, call: Call, answer: &[u8]) -> Result<String, ToolError> {
        {
            let mut ledger = self.ledger();
            let after = ledger.bytes.saturating_add(answer.len() as u64);
            if after <= self.0.allowance.bytes {
                ledger.bytes = after;
                drop(ledger);
                return Ok(self.end(call, ToolOutcome::Answered, answer));
            }
        }
        self.end(call, ToolOutcome::Exhausted, &[]);
        Err(ToolError::Exhausted)
    }

    fn end(&self, call: Call, outcome: ToolOutcome, answer: &[u8]) -> String {
        let receipt = call.receipt(&self.0.mark, outcome, answer);
        let receipt_ref = receipt.receipt_ref.clone();
        self.ledger().receipts.push(receipt);
        receipt_ref
    }
}

fn span(range: std::ops::Range<usize>) -> Span {
    Span {
        start: range.start as u64,
        end: range.end as u64,
    }
}

/// The text of a span, when it lies on character boundaries.
pub(in crate::solver) fn slice(text: &str, span: Span) -> Option<&str> {
    text.get(usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?)
}

fn whole_characters(text: &str, span: Span) -> Span {
    let cut = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
    let start = floor_boundary(text, cut(span.start));
    let end = ceil_boundary(text, cut(span.end.max(span.start)));
    self::span(start..end.max(start))
}

#[cfg(test)]
mod tests;
