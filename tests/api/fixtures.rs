//! Tables of inputs, read at compile time.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Bodies of a start with the statuses each may get.
pub fn start_bodies() -> Vec<Value> {
    rows(include_str!("fixtures/start-bodies.json"))
}

/// Texts that do or do not hold credential material.
pub fn credential_shapes() -> Vec<Value> {
    let Value::Array(rows) = document(include_str!("../../src/app/redaction/shapes.json")) else {
        panic!("a table has rows")
    };
    rows
}

/// Changes to a good token, and what each is answered with.
pub fn token_claims() -> Value {
    document(include_str!("../../src/auth/bearer/token-claims.json"))
}

fn rows(text: &str) -> Vec<Value> {
    let rows = document(text)["rows"].take();
    let Value::Array(rows) = rows else {
        panic!("a table has rows")
    };
    assert!(!rows.is_empty());
    rows
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("a fixture is JSON")
}

/// The bytes a row of [`start_bodies`] stands for.
pub fn body_of(row: &Value) -> Vec<u8> {
    if let Some(text) = row["body"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(bytes) = row["body_base64"].as_str() {
        return STANDARD.decode(bytes).expect("base64");
    }
    let made = &row["generate"];
    let part = |name: &str| made[name].as_str().unwrap_or("").to_owned();
    let times = usize::try_from(made["times"].as_u64().expect("a count")).expect("small");
    let middle = part("repeat").repeat(times);
    let end = part("close").repeat(times);
    format!("{}{middle}{}{end}", part("before"), part("after")).into_bytes()
}
