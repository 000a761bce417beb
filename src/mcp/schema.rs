//! The published schemas (`agent-api` 10.4, 10.5). Bounds are those of `app::agent::request`.

use serde_json::{Map, Value, json};

/// The largest integer that every client reads exactly.
const LARGEST: u64 = 9_007_199_254_740_991;

fn key() -> Value {
    json!({"type": "string", "minLength": 8, "maxLength": 200,
        "description": "Names this request; sent again with the same content it is answered as before."})
}

fn run_id() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 240, "description": "As helix_run_start returned it."})
}

fn text(most: u32) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most})
}

fn texts(count: u32, most: u32) -> Value {
    json!({"type": "array", "maxItems": count, "items": text(most)})
}

fn number(least: u64, most: u64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

fn expected_version() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": LARGEST, "description": "The version last seen."})
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

pub fn start() -> Value {
    let contract = object(
        &json!({
            "min_evidence_refs": number(0, 128),
            "require_terminal_authority": {"type": "boolean"},
            "required_output_fields": texts(32, 120),
            "max_unresolved_requirements": number(0, 128),
            "allow_conflicts": {"type": "boolean"},
        }),
        &[],
    );
    let budget = object(
        &json!({"max_steps": number(1, 64), "expires_in_seconds": number(60, 604_800)}),
        &[],
    );
    let request = object(
        &json!({
            "objective": text(20_000),
            "constraints": texts(64, 2_000),
            "database_scope": texts(64, 240),
            "completion_contract": contract,
            "budget": budget,
        }),
        &["objective"],
    );
    object(
        &json!({"idempotency_key": key(), "request": request}),
        &["idempotency_key", "request"],
    )
}

pub fn continue_run() -> Value {
    let answer = object(
        &json!({"question_id": text(240), "value": {}}),
        &["question_id"],
    );
    let request = object(
        &json!({
            "expected_version": expected_version(),
            "instruction": text(20_000),
            "answers": {"type": "array", "maxItems": 64, "items": answer},
        }),
        &["expected_version"],
    );
    keyed(&request)
}

pub fn cancel() -> Value {
    let request = object(
        &json!({"expected_version": expected_version(), "reason": text(1_000)}),
        &["expected_version"],
    );
    keyed(&request)
}

fn keyed(request: &Value) -> Value {
    object(
        &json!({"run_id": run_id(), "idempotency_key": key(), "request": request}),
        &["run_id", "idempotency_key", "request"],
    )
}

pub fn inspect() -> Value {
    object(&json!({"run_id": run_id()}), &["run_id"])
}

pub fn list_events() -> Value {
    object(
        &json!({
            "run_id": run_id(),
            "after_seq": number(0, LARGEST),
            "limit": number(1, 200),
        }),
        &["run_id"],
    )
}

/// A run under the name of its operation, or the error envelope.
pub fn run_output(operation: &str) -> Value {
    let mut success = Map::new();
    success.insert("operation".to_owned(), json!({"const": operation}));
    let mut required = vec!["operation", "run"];
    if operation != "inspect" {
        success.insert(
            "idempotency_replayed".to_owned(),
            json!({"type": "boolean"}),
        );
        required.push("idempotency_replayed");
    }
    success.insert("run".to_owned(), run());
    either(&object(&Value::Object(success), &required))
}

/// Something else of a run, or the error envelope.
pub fn part_output(operation: &str, part: &str) -> Value {
    let success = json!({"operation": {"const": operation}, part: {"type": "object"}});
    either(&object(&success, &["operation", part]))
}

fn run() -> Value {
    json!({"type": "object", "properties": {
        "schema": {"const": "helix.agent_run.v1"},
        "run_id": {"type": "string"},
        "version": {"type": "integer"},
        "lifecycle_status": {"type": "string"},
        "completion_status": {"type": "string"},
        "terminal_authority_status": {"type": "string"},
    }})
}

/// Clients hold error results against this schema too, so it admits both.
fn either(success: &Value) -> Value {
    let error = json!({
        "type": "object",
        "properties": {
            "schema": {"const": "helix.agent_api.error.v1"},
            "error": {"type": "string"},
            "message": {"type": "string"},
            "request_id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "retryable": {"type": "boolean"},
            "details": {"type": "object"},
        },
        "required": ["schema", "error", "message", "request_id", "retryable"],
        "additionalProperties": false,
    });
    json!({"type": "object", "anyOf": [success, error]})
}
