//! What requests and answers of runs look like, as JSON Schema 2020-12.
//!
//! The one source of what the MCP tools and the OpenAPI document publish, so that neither can promise
//! what the other does not keep. What must stay true: bounds are those of `request`, members are those
//! of the views that are served; a test holds real answers against every schema here. Deliberately
//! absent: references between schemas, because tools have to be self-contained.

mod answers;
mod events;
pub mod workers;

use serde_json::{Value, json};

pub use answers::{error, evidence_bundle, evidence_item, problem, rate_limited, run, run_list};
pub use events::{event, events_page};

/// The largest integer that every client reads exactly.
pub const LARGEST: u64 = 9_007_199_254_740_991;
/// `run_id` (`agent-api` 1.4).
pub const RUN_ID: &str = "^run_[A-Za-z0-9._:-]{8,200}$";

/// A text that is trimmed before it is measured, so blanks alone are no text.
pub fn text(most: u32) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most, "pattern": "\\S"})
}

pub fn texts(count: u32, most: u32) -> Value {
    json!({"type": "array", "maxItems": count, "items": text(most)})
}

pub fn number(least: u64, most: u64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

/// With its default, which a client may rely on.
fn defaulted(mut schema: Value, default: Value) -> Value {
    schema["default"] = default;
    schema
}

/// With a sentence for readers.
pub fn told(mut schema: Value, description: &str) -> Value {
    schema["description"] = Value::from(description);
    schema
}

/// An object of these members and no other.
pub fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// An object whose members are all there.
fn whole(properties: &Value) -> Value {
    let names = properties
        .as_object()
        .into_iter()
        .flat_map(|all| all.keys());
    let required: Vec<&str> = names.map(String::as_str).collect();
    object(properties, &required)
}

pub fn run_id() -> Value {
    json!({"type": "string", "pattern": RUN_ID, "description": "As the start returned it."})
}

fn expected_version() -> Value {
    told(
        number(1, LARGEST),
        "The version last seen. A run that has moved on answers version_conflict.",
    )
}

/// The body of a start.
pub fn start_request() -> Value {
    let contract = object(
        &json!({
            "min_evidence_refs": told(defaulted(number(0, 128), json!(1)), "Refs that a completed run has at least."),
            "require_terminal_authority": told(
                defaulted(json!({"type": "boolean"}), json!(true)),
                "Whether only an authorized result completes the run.",
            ),
            "required_output_fields": told(defaulted(texts(32, 120), json!([])), "Fields the result must hold."),
            "max_unresolved_requirements": told(
                defaulted(number(0, 128), json!(0)),
                "Requirements that may stay open; a missing kind of evidence never may.",
            ),
            "allow_conflicts": told(
                defaulted(json!({"type": "boolean"}), json!(false)),
                "Whether contradictions may remain.",
            ),
        }),
        &[],
    );
    let budget = object(
        &json!({
            "max_steps": told(defaulted(number(1, 64), json!(12)), "Continues the run may take."),
            "expires_in_seconds": told(defaulted(number(60, 604_800), json!(3_600)), "Life of the run."),
        }),
        &[],
    );
    object(
        &json!({
            "objective": told(text(20_000), "What the run is for."),
            "constraints": told(defaulted(texts(64, 2_000), json!([])), "Rules the work must keep."),
            "database_scope": told(
                defaulted(texts(64, 240), json!([])),
                "Data scopes to read from; the token must carry the OAuth scope of each.",
            ),
            "completion_contract": told(contract, "When the run counts as completed."),
            "budget": told(budget, "What the run may spend."),
        }),
        &["objective"],
    )
}

/// The body of a continue. That an instruction or an answer must be given is said where a client's
/// schema reader can be trusted with alternatives.
pub fn continue_request() -> Value {
    let value = json!({"description": "Any JSON value; absent means null."});
    let answer = object(
        &json!({"question_id": text(240), "value": value}),
        &["question_id"],
    );
    let answers = json!({"type": "array", "maxItems": 64, "items": answer, "default": [],
        "description": "Answers to pending questions, each at most once."});
    object(
        &json!({
            "expected_version": expected_version(),
            "instruction": told(text(20_000), "What this turn should do."),
            "answers": answers,
        }),
        &["expected_version"],
    )
}

/// The body of a cancel.
pub fn cancel_request() -> Value {
    let reason = defaulted(text(1_000), json!("cancelled_by_client"));
    object(
        &json!({
            "expected_version": expected_version(),
            "reason": told(reason, "Becomes the run's summary."),
        }),
        &["expected_version"],
    )
}
