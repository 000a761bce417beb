//! What of a body may be dispatched (`agent-api` 10.2, `access` 11). Static refusals only.

use serde_json::{Map, Value};

/// Messages of one batch.
const MOST_MESSAGES: usize = 20;
/// Characters of a method, and of a textual id.
const LONGEST_METHOD: usize = 128;
const LONGEST_ID: usize = 256;
/// Beyond it a number is no longer exact in every client.
const LARGEST_ID: u64 = 1 << 53;

/// Versions with a handshake, oldest first; `2024-10-07` counts as the second.
const HANDSHAKE: [&str; 5] = [
    "2024-10-07",
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
];
const STATELESS: &str = "2026-07-28";

/// Why nothing is dispatched.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault(pub &'static str);

/// The messages of a body that is well formed.
#[derive(Debug)]
pub enum Messages<'b> {
    One(&'b Value),
    Batch(&'b [Value]),
}

impl<'b> Messages<'b> {
    pub fn all(&self) -> &'b [Value] {
        match self {
            Self::One(message) => std::slice::from_ref(message),
            Self::Batch(messages) => messages,
        }
    }

    pub fn is_batch(&self) -> bool {
        matches!(self, Self::Batch(_))
    }
}

/// Every version that is served, oldest first.
pub fn versions() -> Vec<&'static str> {
    HANDSHAKE.into_iter().chain([STATELESS]).collect()
}

pub fn is_supported_version(version: &[u8]) -> bool {
    HANDSHAKE
        .iter()
        .chain([&STATELESS])
        .any(|known| known.as_bytes() == version)
}

/// Whether a message carries its own version, as each does since there is no handshake.
pub fn names_its_version(message: &Value) -> bool {
    message
        .pointer("/params/_meta")
        .and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"))
        .is_some()
}

/// Whether a message to `tools/call` names a tool and gives it an object, or nothing.
pub fn is_call(message: &Value) -> bool {
    let arguments = message.pointer("/params/arguments");
    message
        .pointer("/params/name")
        .is_some_and(Value::is_string)
        && arguments.is_none_or(|given| given.is_object() || given.is_null())
}

/// The version a handshake ends with: the one asked for, or the newest that has a handshake.
pub fn negotiated(asked: &str) -> &'static str {
    match asked {
        "2024-10-07" => "2024-11-05",
        _ => HANDSHAKE
            .iter()
            .find(|known| **known == asked)
            .copied()
            .unwrap_or("2025-11-25"),
    }
}

/// A batch with one bad member is refused whole (settled question 55).
pub fn read(body: &Value) -> Result<Messages<'_>, Fault> {
    let Value::Array(batch) = body else {
        check(body)?;
        return Ok(Messages::One(body));
    };
    if batch.is_empty() || batch.len() > MOST_MESSAGES {
        return Err(Fault("A batch holds 1 to 20 messages."));
    }
    batch.iter().try_for_each(check)?;
    Ok(Messages::Batch(batch))
}

fn check(message: &Value) -> Result<(), Fault> {
    const NONE: Fault = Fault("The body is not a JSON-RPC message.");
    let message = message.as_object().ok_or(NONE)?;
    let known = ["jsonrpc", "id", "method", "params"];
    let whole = message.keys().all(|key| known.contains(&key.as_str()))
        && message.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
        && message.get("id").is_none_or(is_id)
        && message
            .get("method")
            .and_then(Value::as_str)
            .is_some_and(|method| (1..=LONGEST_METHOD).contains(&method.chars().count()))
        && message.get("params").is_none_or(Value::is_object);
    if whole { Ok(()) } else { Err(NONE) }
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(text) => (1..=LONGEST_ID).contains(&text.chars().count()),
        Value::Number(number) => number
            .as_i64()
            .is_some_and(|number| number.unsigned_abs() < LARGEST_ID),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The parameters of a message as an object that can be changed.
pub fn params_of(message: &mut Value) -> Option<&mut Map<String, Value>> {
    message.get_mut("params")?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message() -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}})
    }

    fn with(key: &str, value: Value) -> Value {
        let mut message = message();
        message[key] = value;
        message
    }

    #[test]
    fn a_message_has_four_members_of_bounded_form_and_no_other() {
        let long = |length: usize| json!("n".repeat(length));
        for (body, taken) in [
            (message(), true),
            (
                json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
                true,
            ),
            (with("id", long(256)), true),
            (with("id", long(257)), false),
            (with("id", json!("")), false),
            (with("id", json!((1_u64 << 53) - 1)), true),
            (with("id", json!(-((1_i64 << 53) - 1))), true),
            (with("id", json!(1_u64 << 53)), false),
            (with("id", json!(1.5)), false),
            (with("id", json!(null)), false),
            (with("id", json!({})), false),
            (with("jsonrpc", json!("1.0")), false),
            (with("method", long(128)), true),
            (with("method", long(129)), false),
            (with("method", json!(7)), false),
            (with("params", json!([])), false),
            (with("result", json!({})), false),
            (json!({"jsonrpc": "2.0", "id": 1, "result": {}}), false),
            (json!("ping"), false),
        ] {
            assert_eq!(read(&body).is_ok(), taken, "{body}");
        }
    }

    #[test]
    fn a_batch_is_taken_whole_or_not_at_all() {
        let batch = |number| Value::Array(vec![message(); number]);
        assert_eq!(read(&batch(20)).unwrap().all().len(), 20);
        assert!(read(&batch(21)).is_err() && read(&batch(0)).is_err());
        assert!(read(&json!([message(), {"jsonrpc": "2.0"}])).is_err());
    }

    #[test]
    fn an_unknown_version_is_answered_with_the_newest_that_shakes_hands() {
        for (asked, given) in [
            ("2025-06-18", "2025-06-18"),
            ("2024-10-07", "2024-11-05"),
            ("2026-07-28", "2025-11-25"),
            ("1.0", "2025-11-25"),
        ] {
            assert_eq!(negotiated(asked), given);
        }
    }
}
