//! The schemas of the tools (`agent-api` 10.4, 10.5): what `app::agent::contract` says of requests and
//! answers, under the names of a tool's arguments and results.

use serde_json::{Map, Value, json};

use crate::app::agent::contract::{self, LARGEST, number, object};

fn key() -> Value {
    json!({"type": "string", "minLength": 8, "maxLength": 200,
        "description": "Names this request; sent again with the same content it is answered as before."})
}

fn run_id() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 240, "description": "As helix_run_start returned it."})
}

pub fn start() -> Value {
    object(
        &json!({"idempotency_key": key(), "request": contract::start_request()}),
        &["idempotency_key", "request"],
    )
}

pub fn continue_run() -> Value {
    keyed(&contract::continue_request())
}

pub fn cancel() -> Value {
    keyed(&contract::cancel_request())
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
    success.insert("run".to_owned(), contract::run());
    either(&object(&Value::Object(success), &required))
}

pub fn evidence_output() -> Value {
    part_output("fetch_evidence", "evidence", &contract::evidence_bundle())
}

pub fn events_output() -> Value {
    part_output("list_events", "page", &contract::events_page())
}

/// Something else of a run, or the error envelope.
fn part_output(operation: &str, part: &str, schema: &Value) -> Value {
    let success = json!({"operation": {"const": operation}, part: schema});
    either(&object(&success, &["operation", part]))
}

/// Clients hold error results against this schema too, so it admits both.
fn either(success: &Value) -> Value {
    json!({"type": "object", "anyOf": [success, contract::error()]})
}
