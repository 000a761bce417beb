//! Events of a run, each with the payload of its type (`agent-api` 3.1).

use serde_json::{Value, json};

use super::answers::{
    authority, completion, flagged, lifecycle, name, or_null, plain, plains, questions, run_id,
    time, version,
};
use super::{LARGEST, number, object, whole};

/// Every type of event, with its payload.
fn payloads() -> [(&'static str, Value); 13] {
    let closing = || {
        whole(&json!({
            "version": version(),
            "lifecycle_status": lifecycle(),
            "completion_status": completion(),
            "failure_code": or_null(&plain()),
        }))
    };
    let either = |first: Value, second: Value| json!({"anyOf": [first, second]});
    [
        (
            "run_started",
            whole(
                &json!({"version": version(), "lifecycle_status": lifecycle(),
            "completion_status": completion(), "terminal_authority_status": authority()}),
            ),
        ),
        (
            "runtime_recovered",
            whole(
                &json!({"version": version(), "lifecycle_status": lifecycle(),
            "completion_status": completion()}),
            ),
        ),
        (
            "continuation_received",
            whole(&json!({"operation_ref": plain(), "version": version(),
            "steps_used": number(1, 64)})),
        ),
        (
            "evidence_reentered",
            whole(&json!({"version": version(), "observation_refs": plains(),
            "evidence_refs": plains(), "receipt_refs": plains(), "evidence_is_terminal_answer": {"const": false}})),
        ),
        (
            "issues_resolved",
            whole(
                &json!({"version": version(), "resolved_requirements": plains(),
            "resolved_contradictions": plains(), "resolution_support_refs": plains()}),
            ),
        ),
        (
            "input_requested",
            whole(&json!({"version": version(), "questions": questions()})),
        ),
        (
            "terminal_authority_evaluated",
            whole(&json!({"version": version(),
            "terminal_authority_status": authority(), "terminal_product_projected": {"type": "boolean"}})),
        ),
        ("run_waiting", closing()),
        ("run_completed", closing()),
        ("run_blocked", closing()),
        (
            "run_failed",
            either(
                closing(),
                whole(&json!({"version": version(),
            "failure_code": name("run_expired"), "expires_at": time()})),
            ),
        ),
        (
            "budget_exhausted",
            either(
                closing(),
                whole(&json!({"version": version(),
            "steps_used": number(0, 64), "max_steps": number(1, 64)})),
            ),
        ),
        (
            "run_cancelled",
            whole(&json!({"version": version(), "reason": plain()})),
        ),
    ]
}

/// `helix.agent_run.event.v1`.
pub fn event() -> Value {
    let payloads = payloads();
    let types: Vec<&str> = payloads.iter().map(|(name, _)| *name).collect();
    let mut schema = flagged(json!({
        "schema": name("helix.agent_run.event.v1"),
        "event_id": plain(),
        "run_id": run_id(),
        "seq": number(1, LARGEST),
        "event_type": {"type": "string", "enum": types},
        "payload": {"type": "object"},
        "created_at": time(),
    }));
    let rules = payloads.iter().map(|(name, payload)| {
        json!({
            "if": {"properties": {"event_type": {"const": name}}},
            "then": {"properties": {"payload": payload}},
        })
    });
    schema["allOf"] = rules.collect();
    schema
}

/// `helix.agent_run.events_page.v1` (`agent-api` 3.2).
pub fn events_page() -> Value {
    object(
        &json!({
            "schema": name("helix.agent_run.events_page.v1"),
            "run_id": run_id(),
            "events": {"type": "array", "maxItems": 200, "items": event()},
            "next_after_seq": number(0, LARGEST),
            "has_more": {"type": "boolean"},
        }),
        &["schema", "run_id", "events", "next_after_seq", "has_more"],
    )
}
