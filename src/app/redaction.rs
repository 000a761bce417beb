//! Credential shapes in text: found at every door, replaced in everything that leaves.
//!
//! A client that pastes a credential into an objective would see it stored, shown to solvers and
//! echoed to observers. Requests that hold one are refused whole; texts that come from elsewhere
//! have it replaced. "Protected" means exactly "redaction would change it", so the two can't drift.
//!
//! What stays true: every string *and every object key* at any depth is visited; a pass is linear
//! in the text; a text without any shape is not copied.
//!
//! Deliberately absent: guessing by entropy, bare JWTs and foreign key formats (agent-api 1.10 names
//! its categories and no more), and the ingress lane, whose list differs.

pub(crate) mod issued_token;
pub mod known;
mod shapes;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

/// What a match becomes, whole (agent-api 1.10).
pub const REPLACEMENT: &str = "[REDACTED_SECRET]";

/// Whether any string or object key of `value` holds a credential shape (agent-api 1.10).
pub fn is_protected(value: &Value) -> bool {
    match value {
        Value::String(text) => text_is_protected(text),
        Value::Array(items) => items.iter().any(is_protected),
        Value::Object(members) => members
            .iter()
            .any(|(key, member)| text_is_protected(key) || is_protected(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether any string or object key of `value` holds a credential of this server as it stands: a text
/// about credentials is none (`access` 6.2).
pub fn holds_credential(value: &Value) -> bool {
    let held = |text: &str| shapes::any_issued(text) || issued_token::any(text);
    match value {
        Value::String(text) => held(text),
        Value::Array(items) => items.iter().any(holds_credential),
        Value::Object(members) => members
            .iter()
            .any(|(key, member)| held(key) || holds_credential(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether [`redact_text`] would change `text`.
pub fn text_is_protected(text: &str) -> bool {
    shapes::any(text) || issued_token::any(text)
}

/// `text` with every credential shape replaced, in the order of the contract's table.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    issued_token::replace(shapes::replace(text))
}

/// Replaces every credential shape in the strings and keys of `value`.
///
/// Keys that become equal share one member; the last in key order stays.
pub fn redact(value: &mut Value) {
    redact_with(value, &[]);
}

/// As [`redact`], after replacing each of `secrets`, which are exact texts known only to this
/// request. Empty secrets are ignored.
pub fn redact_with(value: &mut Value, secrets: &[&str]) {
    match value {
        Value::String(text) => {
            if let Some(clean) = redacted(text, secrets) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_with(item, secrets)),
        Value::Object(members) => redact_members(members, secrets),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_members(members: &mut Map<String, Value>, secrets: &[&str]) {
    members
        .values_mut()
        .for_each(|member| redact_with(member, secrets));
    if members.keys().any(|key| redacted(key, secrets).is_some()) {
        *members = std::mem::take(members)
            .into_iter()
            .map(|(key, member)| (redacted(&key, secrets).unwrap_or(key), member))
            .collect();
    }
}

/// The redacted text, or `None` when nothing changes.
fn redacted(text: &str, secrets: &[&str]) -> Option<String> {
    let mut known = Cow::Borrowed(text);
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        if known.contains(secret) {
            known = Cow::Owned(known.replace(secret, REPLACEMENT));
        }
    }
    match (redact_text(&known), &known) {
        (Cow::Owned(clean), _) => Some(clean),
        (Cow::Borrowed(_), Cow::Owned(clean)) => Some(clean.clone()),
        (Cow::Borrowed(_), Cow::Borrowed(_)) => None,
    }
}
