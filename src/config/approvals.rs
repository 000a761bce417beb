//! The public keys that may sign runtime approvals (`agent-api` 12).
//!
//! What must stay true: a registry that is not understood to its last member stops the start, since a
//! key that is passed over or taken for another would change who may approve. Deliberately absent:
//! judging approvals. No part of this server hosts them, so a sound registry opens nothing, and a
//! warning says so.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::assemble::Reader;
use super::table as t;
use crate::strict_json;

const MOST_KEYS: usize = 64;
const MOST_ID_BYTES: usize = 64;
const KEY_BYTES: usize = 32;
/// What precedes the key in a `SubjectPublicKeyInfo` of an Ed25519 key (RFC 8410 4).
const SPKI_HEAD: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// Judges the registry, where there is one.
pub fn check(reader: &mut Reader<'_>) {
    let Some(keys) = reader.read(&t::APPROVAL_KEYS, registry) else {
        return;
    };
    let place = reader.values.place(&t::APPROVAL_KEYS);
    let plural = if keys == 1 { "key" } else { "keys" };
    reader.notes.warnings.push(format!(
        "{place}: {keys} trusted {plural}, but nothing here hosts approvals: none is accepted"
    ));
}

/// How many keys it holds.
fn registry(text: &str) -> Result<usize, String> {
    let document = strict_json::read(text.as_bytes())
        .map_err(|error| format!("must be one strict JSON value: {error}"))?;
    let Value::Object(members) = document else {
        return Err("must be a JSON object of key ids and public keys".to_owned());
    };
    if members.is_empty() || members.len() > MOST_KEYS {
        return Err(format!("must hold 1 to {MOST_KEYS} keys"));
    }
    let mut known = BTreeSet::new();
    for (id, key) in &members {
        if !is_id(id) {
            return Err(format!(
                "key ids must be 1 to {MOST_ID_BYTES} letters, digits, dots, underscores and hyphens"
            ));
        }
        let Some(key) = key.as_str().and_then(public_key) else {
            return Err("keys must be Ed25519 public keys in Base64, raw or DER".to_owned());
        };
        if !known.insert(key) {
            return Err("one key has two ids".to_owned());
        }
    }
    Ok(members.len())
}

fn is_id(id: &str) -> bool {
    let admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=MOST_ID_BYTES).contains(&id.len()) && id.bytes().all(admitted)
}

fn public_key(text: &str) -> Option<[u8; KEY_BYTES]> {
    let bytes = STANDARD.decode(text).ok()?;
    let raw = bytes.strip_prefix(&SPKI_HEAD).unwrap_or(&bytes);
    raw.try_into().ok()
}
