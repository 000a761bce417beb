//! What a solver returns. Its texts are hostile input to the finaliser, which bounds them.

use std::collections::BTreeSet;

use helix_aggregates::agent::evidence::item::Span;
use helix_aggregates::agent::run::turn::Question;

/// A source the tool host has named to the solver in this turn. Meaningless elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceHandle(pub u32);

/// A position in [`Draft::spans`], from 0. The mark `[n]` in the digest means index `n - 1`.
pub type SpanIndex = usize;

/// A passage the solver says it has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedSpan {
    pub source: SourceHandle,
    /// Bytes in the source's extracted text.
    pub span: Span,
    /// Must equal the bytes of the span, or the host refuses it.
    pub quote: String,
    /// Why it was chosen, in the solver's words. Never stored.
    pub why: String,
}

/// A statement and the spans that carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub text: String,
    pub spans: Vec<SpanIndex>,
}

/// Two or more spans that cannot all be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub text: String,
    pub spans: Vec<SpanIndex>,
}

/// A value for one of the contract's output fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldProposal {
    pub field: String,
    pub value: String,
    pub spans: Vec<SpanIndex>,
}

/// Whether the turn found anything new to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Progress {
    #[default]
    None,
    Made,
}

/// The unverified outcome of one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub spans: Vec<QuotedSpan>,
    pub claims: Vec<Claim>,
    pub contradicted_claims: Vec<Claim>,
    pub fields: Vec<FieldProposal>,
    pub conflicts: Vec<Conflict>,
    /// Sentences that say what is still missing.
    pub unresolved: Vec<String>,
    /// Positions in the input's `previous_unresolved_requirements` that this turn settled.
    pub settled_requirements: Vec<usize>,
    /// Positions in the input's `previous_contradictions` that this turn settled.
    pub settled_contradictions: Vec<usize>,
    pub questions: Vec<Question>,
    /// One sentence for the run's summary.
    pub summary: String,
    /// The answer, with a mark `[n]` after each statement.
    pub digest: String,
    pub progress: Progress,
}

impl Draft {
    /// How much was quoted and contradicted, as a sentence or two.
    pub(in crate::solver) fn tally(&self) -> String {
        let sources: BTreeSet<_> = self.spans.iter().map(|span| span.source).collect();
        let passages = counted(self.spans.len(), "passage", "passages");
        let documents = counted(sources.len(), "document", "documents");
        let quoted = format!("Quoted {passages} of {documents}.");
        match self.conflicts.len() {
            0 => quoted,
            count => format!(
                "{quoted} Found {}.",
                counted(count, "contradiction", "contradictions")
            ),
        }
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
