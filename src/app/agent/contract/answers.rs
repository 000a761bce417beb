//! The objects that are answered: run, evidence, list and errors.

use std::collections::BTreeSet;

use helix_aggregates::agent::run::status::Lifecycle;
use serde_json::{Value, json};

use super::{LARGEST, RUN_ID, number, object, told, whole};
use crate::app::problem::Code;

pub(super) fn name(schema: &str) -> Value {
    json!({"const": schema})
}

pub(super) fn plain() -> Value {
    json!({"type": "string"})
}

pub(super) fn plains() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

/// By pattern: readers that know no formats complain of each.
pub(super) fn time() -> Value {
    let pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$";
    json!({"type": "string", "pattern": pattern, "description": "UTC, with milliseconds."})
}

/// As alternatives: some readers of tool schemas know no list of types.
pub(super) fn or_null(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

pub(super) fn run_id() -> Value {
    json!({"type": "string", "pattern": RUN_ID})
}

pub(super) fn version() -> Value {
    number(1, LARGEST)
}

pub(super) fn lifecycle() -> Value {
    json!({"type": "string", "enum": Lifecycle::ALL.map(Lifecycle::as_str)})
}

pub(super) fn completion() -> Value {
    json!({"type": "string", "enum": ["pending", "completed", "needs_more_evidence", "needs_input",
        "conflict_detected", "blocked", "failed", "budget_exhausted", "cancelled"]})
}

pub(super) fn authority() -> Value {
    json!({"type": "string", "enum": ["not_evaluated", "pending_helix_terminal_authority", "authorized", "blocked",
        "not_terminal_authority"]})
}

/// An object of these members and the four flags (`agent-api` 1.12), all of them always there.
pub(super) fn flagged(mut properties: Value) -> Value {
    for flag in [
        "answer_authority",
        "assistant_answer",
        "terminal_eligible",
        "raw_content_included",
    ] {
        properties[flag] = json!({"const": false});
    }
    whole(&properties)
}

pub(super) fn questions() -> Value {
    let option = whole(&json!({"value": plain(), "label": plain()}));
    let question = whole(&json!({
        "question_id": plain(),
        "prompt": plain(),
        "required_fields": plains(),
        "options": {"type": "array", "items": option},
    }));
    json!({"type": "array", "items": question})
}

fn contract() -> Value {
    whole(&json!({
        "min_evidence_refs": number(0, 128),
        "require_terminal_authority": {"type": "boolean"},
        "required_output_fields": plains(),
        "max_unresolved_requirements": number(0, 128),
        "allow_conflicts": {"type": "boolean"},
    }))
}

fn next_action() -> Value {
    let operations = ["continue", "inspect", "fetch_evidence", "cancel", "none"];
    whole(&json!({"operation": {"type": "string", "enum": operations}, "reason": plain()}))
}

/// `helix.agent_run.v1` (`agent-api` 2.6).
pub fn run() -> Value {
    let ownership =
        json!({"tenant_ref": plain(), "principal_ref": plain(), "account_profile_ref": plain()});
    let budget =
        json!({"max_steps": number(1, 64), "steps_used": number(0, 64), "expires_at": time()});
    flagged(json!({
        "schema": name("helix.agent_run.v1"),
        "api_version": name("v1"),
        "run_id": run_id(),
        "ownership": told(whole(&ownership), "Fingerprints; no name of anybody."),
        "objective": plain(),
        "objective_hash": plain(),
        "runtime_provider": name("helix-ask"),
        "lifecycle_status": told(lifecycle(), "Whether anything can still happen."),
        "completion_status": told(completion(), "How far the work is, and what it waits for."),
        "terminal_authority_status": told(authority(), "Whether the result may stand as an answer."),
        "version": told(version(), "Grows by one with each durable change."),
        "completion_contract": contract(),
        "constraints": plains(),
        "database_scope": plains(),
        "budget": whole(&budget),
        "summary": or_null(&plain()),
        "unresolved_requirements": plains(),
        "contradictions": plains(),
        "pending_questions": questions(),
        "evidence": evidence_bundle(),
        "latest_result": told(or_null(&json!({"type": "object"})), "What the last turn produced; not an answer by itself."),
        "recommended_next_action": next_action(),
        "created_at": time(),
        "updated_at": time(),
        "completed_at": or_null(&time()),
        "cancelled_at": or_null(&time()),
    }))
}

/// `helix.agent_run.evidence_bundle.v1` (`agent-api` 4.1).
pub fn evidence_bundle() -> Value {
    flagged(json!({
        "schema": name("helix.agent_run.evidence_bundle.v1"),
        "run_id": run_id(),
        "observation_refs": plains(),
        "evidence_refs": plains(),
        "receipt_refs": plains(),
        "provider_terminal_candidate_ref": or_null(&plain()),
        "claims_supported": plains(),
        "claims_contradicted": plains(),
        "unresolved_requirements": plains(),
        "terminal_authority_status": authority(),
    }))
}

/// `helix.agent_run.evidence_item.v1` (settled question 82).
pub fn evidence_item() -> Value {
    let source =
        json!({"scope": plain(), "title": plain(), "locator": plain(), "snapshot_sha256": plain()});
    let span = json!({"start": number(0, LARGEST), "end": number(0, LARGEST)});
    flagged(json!({
        "schema": name("helix.agent_run.evidence_item.v1"),
        "run_id": run_id(),
        "ref": plain(),
        "kind": plain(),
        "source": whole(&source),
        "span": told(whole(&span), "Bytes of the source's text, the end not included."),
        "quote": {"type": "string", "maxLength": 2_000},
        "quote_sha256": plain(),
        "receipt_ref": plain(),
        "turn_seq": version(),
    }))
}

/// `helix.agent_run.list.v1` (settled question 80).
pub fn run_list() -> Value {
    let entry = whole(&json!({
        "run_id": run_id(),
        "objective": told(json!({"type": "string", "maxLength": 200}), "Its first 200 characters."),
        "lifecycle_status": lifecycle(),
        "completion_status": completion(),
        "terminal_authority_status": authority(),
        "version": version(),
        "created_at": time(),
        "updated_at": time(),
    }));
    whole(&json!({
        "schema": name("helix.agent_run.list.v1"),
        "runs": {"type": "array", "maxItems": 100, "items": entry},
        "next_cursor": told(or_null(&plain()), "Null at the end."),
    }))
}

fn codes() -> Value {
    let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.row().code).collect();
    json!({"type": "string", "enum": codes})
}

/// `helix.agent_api.error.v1` (`agent-api` 1.5).
pub fn error() -> Value {
    object(
        &json!({
            "schema": name("helix.agent_api.error.v1"),
            "error": told(codes(), "What a program decides by."),
            "message": told(plain(), "For people; its wording may change."),
            "request_id": or_null(&plain()),
            "retryable": told(json!({"type": "boolean"}), "Whether the same request may pass later."),
            "details": {"type": "object"},
        }),
        &["schema", "error", "message", "request_id", "retryable"],
    )
}

/// The same failure by RFC 9457, for clients that ask for it.
pub fn problem() -> Value {
    object(
        &json!({
            "type": {"type": "string", "format": "uri", "description": "A page that explains the code."},
            "title": codes(),
            "status": number(400, 599),
            "detail": plain(),
            "error": codes(),
            "retryable": {"type": "boolean"},
            "request_id": plain(),
            "details": {"type": "object"},
        }),
        &[
            "type",
            "title",
            "status",
            "detail",
            "error",
            "retryable",
            "request_id",
        ],
    )
}

/// The body of a limited request (`agent-api` 1.8).
pub fn rate_limited() -> Value {
    whole(&json!({
        "error": name("rate_limited"),
        "message": plain(),
        "retryAfterMs": number(1, 60_000),
    }))
}
