//! What external workers send and are told (settled questions 87 to 90).

use serde_json::{Value, json};

use super::answers::{
    authority, completion as completion_status, lifecycle, name, or_null, plain, plains, questions,
    run_id, time, version,
};
use super::{LARGEST, number, object, text, texts, told, whole};

fn turn_token() -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[A-Za-z0-9_-]+$",
        "description": "The bearer of one attempt at one turn, as it was given.",
    })
}

/// A text that is not blank and taken as it is.
fn exact(most: u32) -> Value {
    text(most)
}

fn up_to(most: u32) -> Value {
    json!({"type": "string", "maxLength": most})
}

fn list(most: u32, items: &Value) -> Value {
    json!({"type": "array", "maxItems": most, "items": items})
}

/// The body of a claim.
pub fn claim() -> Value {
    object(
        &json!({
            "worker": told(text(120), "What the worker calls itself; kept nowhere."),
            "capabilities": told(texts(64, 160), "All tools of the turn must be among these; none means any."),
            "wait_ms": told(number(0, 25_000), "How long to wait for a turn."),
        }),
        &["worker"],
    )
}

/// A turn in a worker's hands.
pub fn turn() -> Value {
    whole(&json!({
        "turn_token": plain(),
        "run_id": run_id(),
        "run_version": version(),
        "attempt": version(),
        "input": input(),
        "lease_expires_at": time(),
    }))
}

fn input() -> Value {
    whole(&json!({
        "runId": run_id(),
        "runVersion": version(),
        "turnId": plain(),
        "traceId": plain(),
        "internalSessionId": plain(),
        "objective": plain(),
        "instruction": plain(),
        "constraints": plains(),
        "databaseScope": plains(),
        "allowedTools": plains(),
        "requiredEvidence": plains(),
        "previousSummary": or_null(&plain()),
        "previousObservationRefs": plains(),
        "previousEvidenceRefs": plains(),
        "previousReceiptRefs": plains(),
        "previousUnresolvedRequirements": plains(),
        "previousContradictions": plains(),
        "pendingQuestions": questions(),
        "remainingSteps": number(0, 64),
        "deadlineAt": time(),
        "requiredOutputFields": plains(),
        "capabilities": {"type": "array", "items": {"type": "object"}},
    }))
}

/// The body of a heartbeat.
pub fn heartbeat() -> Value {
    object(&json!({"turn_token": turn_token()}), &["turn_token"])
}

pub fn lease() -> Value {
    whole(&json!({
        "lease_expires_at": time(),
        "cancel_requested": told(json!({"type": "boolean"}), "Whether the turn is still wanted."),
    }))
}

/// The body of a call through the tool host.
pub fn call() -> Value {
    object(
        &json!({
            "turn_token": turn_token(),
            "capability": told(text(160), "One of the turn's allowed tools."),
            "arguments": {"type": "object"},
        }),
        &["turn_token", "capability", "arguments"],
    )
}

pub fn call_answer() -> Value {
    let outcome =
        json!({"type": "string", "enum": ["answered", "exhausted", "no_provider", "failed"]});
    object(
        &json!({
            "outcome": outcome,
            "receipt_ref": or_null(&plain()),
            "body": {"description": "What the tool found; null without an answer."},
        }),
        &["outcome", "receipt_ref", "body"],
    )
}

/// The body that hands a product in.
pub fn completion() -> Value {
    object(
        &json!({"turn_token": turn_token(), "product": product()}),
        &["turn_token", "product"],
    )
}

fn product() -> Value {
    let positions = |most| list(most, &number(0, LARGEST));
    let spans = || told(positions(32), "Positions in quoted_spans, from 0.");
    let statement = |most| object(&json!({"text": exact(most), "spans": spans()}), &["text"]);
    let quoted = object(
        &json!({
            "source": told(number(0, u64::from(u32::MAX)), "The number that a call has given the source."),
            "start": number(0, LARGEST),
            "end": number(0, LARGEST),
            "quote": told(exact(2_000), "The bytes of the span, exactly."),
            "why": up_to(1_000),
        }),
        &["source", "start", "end", "quote"],
    );
    let field = object(
        &json!({"field": text(120), "value": exact(4_000), "spans": spans()}),
        &["field", "value"],
    );
    let option = object(
        &json!({"value": up_to(500), "label": text(500)}),
        &["label"],
    );
    let question = object(
        &json!({
            "question_id": text(240),
            "prompt": text(2_000),
            "required_fields": texts(32, 120),
            "options": list(32, &option),
        }),
        &["question_id", "prompt"],
    );
    object(
        &json!({
            "quoted_spans": list(256, &quoted),
            "claims": list(128, &statement(2_000)),
            "contradicted_claims": list(128, &statement(2_000)),
            "fields": list(64, &field),
            "conflicts": list(64, &statement(1_000)),
            "unresolved": texts(64, 1_000),
            "settled_requirements": positions(64),
            "settled_contradictions": positions(64),
            "questions": list(32, &question),
            "summary": up_to(2_000),
            "digest": told(up_to(100_000), "The answer, with a mark [n] after each statement."),
        }),
        &[],
    )
}

/// The step of the run that the product ended: `helix.agent_worker.receipt.v1`.
pub fn receipt() -> Value {
    whole(&json!({
        "schema": name("helix.agent_worker.receipt.v1"),
        "run_id": run_id(),
        "run_version": version(),
        "attempt": version(),
        "version": version(),
        "lifecycle_status": lifecycle(),
        "completion_status": completion_status(),
        "terminal_authority_status": or_null(&authority()),
        "failure_code": or_null(&plain()),
        "seq": version(),
        "committed_at": time(),
        "event_sha256": plain(),
    }))
}
