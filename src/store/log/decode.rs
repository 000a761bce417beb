//! Stored events read back: texts opened, old shapes brought up to date.
//!
//! Why two ways: building a tree of every payload took most of the time of a replay. Where no
//! upcaster has to see the tree, texts are opened in the bytes and these are read straight into the
//! event. Both ways give the same event; the tree is the one that knows every case.

mod splice;

use helix_aggregates::decider::WireEvent;
use serde_json::Value;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::read::StoredEvent;
use crate::store::sealing::{self, DataKey};
use crate::store::upcast::{UPCASTERS, upcast};

/// Reads a stored event: opens its texts where `key` allows it and follows the upcasters.
pub fn decode<E: WireEvent>(
    stream: Uuid,
    key: Option<&DataKey>,
    stored: &StoredEvent,
) -> Result<E, StoreError> {
    // Texts under another key, as after a change of hands, stay closed.
    let key = key.filter(|key| stored.key_id == Some(key.id()));
    match in_place(stream, key, stored)? {
        Some(tagged) => serde_json::from_slice(&tagged).map_err(|error| super::damaged(&error)),
        None => serde_json::from_value(by_tree(stream, key, stored)?)
            .map_err(|error| super::damaged(&error)),
    }
}

/// The tagged event as bytes; `None` when it takes the tree to read it.
fn in_place(
    stream: Uuid,
    key: Option<&DataKey>,
    stored: &StoredEvent,
) -> Result<Option<Vec<u8>>, StoreError> {
    let plain_kind = stored
        .kind
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !plain_kind || UPCASTERS.iter().any(|step| step.kind == stored.kind) {
        return Ok(None);
    }
    let mut tagged = Vec::with_capacity(stored.payload.len() + stored.kind.len() + 8);
    tagged.extend_from_slice(b"{\"");
    tagged.extend_from_slice(stored.kind.as_bytes());
    tagged.extend_from_slice(b"\":");
    let known = if let Some(key) = key {
        let place = sealing::place(stream, stored.seq);
        splice::open_marks(&stored.payload, key, &place, &mut tagged)?
    } else {
        tagged.extend_from_slice(&stored.payload);
        true
    };
    tagged.push(b'}');
    Ok(known.then_some(tagged))
}

fn by_tree(stream: Uuid, key: Option<&DataKey>, stored: &StoredEvent) -> Result<Value, StoreError> {
    let mut payload: Value =
        serde_json::from_slice(&stored.payload).map_err(|error| super::damaged(&error))?;
    sealing::open_marks(&mut payload, key, stream, stored.seq)?;
    let (_, payload) = upcast(UPCASTERS, &stored.kind, stored.ver, payload);
    Ok(Value::Object(
        std::iter::once((stored.kind.clone(), payload)).collect(),
    ))
}
