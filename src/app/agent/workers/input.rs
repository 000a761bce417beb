//! What a worker is told of its turn (`agent-api` 5.1 without the principal), read from the log.

use helix_aggregates::agent::run::Run;
use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use serde_json::{Value, json};

use crate::store::offers::Claim;

/// `None` when no turn is under way, or its texts are erased. Names are those of the contract's
/// table; `requiredOutputFields` and `capabilities` are added to it.
pub(super) fn of(run_id: RunId, run: &Run, claim: &Claim) -> Option<Value> {
    let known = run.claim_input()?;
    let required_output_fields = run
        .body()
        .map(|body| body.completion_contract.required_output_fields.clone());
    Some(json!({
        "runId": run_id,
        "runVersion": known.run_version,
        "turnId": claim.shown["turn_id"],
        "traceId": claim.shown["trace_id"],
        "internalSessionId": format!("session_{}", run_id.uuid()),
        "objective": known.objective,
        "instruction": known.instruction,
        "constraints": known.constraints,
        "databaseScope": known.database_scope,
        "allowedTools": known.allowed_tools,
        "requiredEvidence": known.required_evidence,
        "previousSummary": known.previous_summary,
        "previousObservationRefs": known.previous_observation_refs,
        "previousEvidenceRefs": known.previous_evidence_refs,
        "previousReceiptRefs": known.previous_receipt_refs,
        "previousUnresolvedRequirements": known.previous_unresolved_requirements,
        "previousContradictions": known.previous_contradictions,
        "pendingQuestions": known.pending_questions,
        "remainingSteps": known.remaining_steps,
        "deadlineAt": Timestamp::from_millis(claim.offer.deadline_ms),
        "requiredOutputFields": required_output_fields.unwrap_or_default(),
        "capabilities": claim.shown["capabilities"],
    }))
}
