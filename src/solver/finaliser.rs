//! From a draft to a result: the only place where refs, families and authority are decided.
//!
//! Exists so that a solver is never its own judge. What must stay true: a ref exists only for a
//! span the host has admitted in this turn; a product exists only when the terminal verification of
//! `agent-api` 4.4 has passed on records made here; the same draft over the same sources makes the
//! same bytes. Deliberately absent: the run's earlier state. What a result does to a run is decided
//! by the run aggregate (`agent-api` 2.8).

use helix_aggregates::agent::evidence::item::{EvidenceItem, ToolReceipt};
use helix_aggregates::agent::run::turn::{TurnFailure, TurnResult};

use super::host::ToolHost;
use super::seam::{Draft, TurnInput};

mod audit;
mod bounds;
mod citations;
mod evidence;
mod fields;
mod records;
mod result;
mod status;
mod verify;

pub(in crate::solver) use fields::{OWN as OWN_FIELDS, stands_in};

pub use citations::{one_line, statement};

pub use audit::{Artifact, ReentryAudit};
pub use records::{
    AnswerAuthority, FinalPayload, ForeignContent, Grounding, GroundingAuthority, GroundingCheck,
    Identity, Presentation, SingleWriterCheck, SingleWriterResult,
};
pub use verify::{Reason, verify};

/// A turn's result with everything that proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    pub result: TurnResult,
    /// Every call of the turn, refused ones included.
    pub receipts: Vec<ToolReceipt>,
    /// The admitted spans, in the order of `supporting_evidence_refs`.
    pub items: Vec<EvidenceItem>,
}

impl TurnOutcome {
    /// The synthetic outcome of `agent-api` 2.7; what was read before is still accounted for.
    pub fn failed(failure: TurnFailure, receipts: Vec<ToolReceipt>) -> Self {
        Self {
            result: failure.into_result(),
            receipts,
            items: Vec::new(),
        }
    }
}

/// Judges a draft. Blocking: every quoted span is read again.
pub fn finalise(
    input: &TurnInput,
    answer_source: &'static str,
    draft: Draft,
    host: &ToolHost,
) -> TurnOutcome {
    let draft = bounds::bounded(with_limitations(input, draft, host));
    let evidence = evidence::gather(input, &draft.content, host);
    let audit = audit::ReentryAudit::over(input, &evidence);
    let judged = status::judge(input, answer_source, &draft.content, &evidence, &audit);
    let result = result::compose(input, answer_source, draft, &evidence, &audit, judged);
    TurnOutcome {
        result,
        receipts: host.record().receipts,
        items: evidence.into_items(),
    }
}

/// What could not be reached is unresolved, and a server that answers now is not missed any more,
/// whatever the solver says of either.
fn with_limitations(input: &TurnInput, mut draft: Draft, host: &ToolHost) -> Draft {
    let record = host.record();
    let mut all: Vec<String> = record.unreached.iter().map(ToString::to_string).collect();
    all.extend(draft.unresolved);
    draft.unresolved = all;
    let laments: Vec<String> = record.reached.iter().map(|up| up.lament()).collect();
    for (place, missed) in input.previous_unresolved_requirements.iter().enumerate() {
        let answers_now = laments.iter().any(|lament| missed.starts_with(lament));
        if answers_now && !draft.settled_requirements.contains(&place) {
            draft.settled_requirements.push(place);
        }
    }
    draft
}

#[cfg(test)]
mod tests;
