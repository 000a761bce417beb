//! What the database holds of a stream against what its events say.
//!
//! Texts are compared and never shown: a difference names their place alone.

use helix_aggregates::time::Timestamp;
use helix_projections::inline::Inline;
use helix_projections::projector::Difference;
use serde_json::Value;
use uuid::Uuid;

use super::fold::Fold;
use crate::store::inline::StoredRow;
use crate::store::log::open_row;
use crate::store::sealing::DataKey;

/// Places of one view that are named.
const NAMED: usize = 8;

fn difference(
    stream: Uuid,
    field: &str,
    stored: impl Into<String>,
    folded: impl Into<String>,
) -> Difference {
    let (field, stored, folded) = (field.to_owned(), stored.into(), folded.into());
    Difference {
        stream: Some(stream),
        field,
        stored,
        folded,
    }
}

/// The head, which proves that nothing was cut off or put behind.
pub(in crate::app) fn head<D>(stored: &StoredRow, fold: &Fold<D>) -> Vec<Difference> {
    let (stream, head, loaded) = (stored.stream, &stored.head, &fold.loaded);
    let mut found = Vec::new();
    if let Some(fault) = &fold.fault {
        found.push(difference(
            stream,
            "log",
            fault,
            "events that follow one another",
        ));
    } else if head.version != loaded.version {
        found.push(difference(
            stream,
            "version",
            head.version.to_string(),
            loaded.version.to_string(),
        ));
    } else if head.head != loaded.head {
        found.push(difference(
            stream,
            "head",
            head.head.to_string(),
            loaded.head.to_string(),
        ));
    }
    found
}

/// The inline row. `key` is the one of the stream's last event; without it texts are not compared.
pub(in crate::app) fn summary<D: Inline>(
    stored: &StoredRow,
    key: Option<&DataKey>,
    fold: &Fold<D>,
) -> Vec<Difference> {
    let (stream, head, loaded) = (stored.stream, &stored.head, &fold.loaded);
    let summary = Inline::summary(&loaded.state, stream);
    let optional =
        |value: Option<i64>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
    let key_id = |id: Option<Uuid>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
    let clear = [
        ("status", head.status.clone(), summary.status.clone()),
        (
            "due_at_ms",
            optional(stored.due_ms),
            optional(summary.due.map(Timestamp::millis)),
        ),
        ("key_id", key_id(head.key_id), key_id(stored.last_key)),
        (
            "created_at_ms",
            head.created_at_ms.to_string(),
            fold.created.millis().to_string(),
        ),
        (
            "updated_at_ms",
            head.updated_at_ms.to_string(),
            loaded.at.millis().to_string(),
        ),
    ];
    let mut found: Vec<Difference> = clear
        .into_iter()
        .filter(|(_, stored, folded)| stored != folded)
        .map(|(field, stored, folded)| difference(stream, field, stored, folded))
        .collect();
    if key.is_some() {
        found.extend(body(stored, key, &loaded.state));
    }
    found
}

fn body<D: Inline>(stored: &StoredRow, key: Option<&DataKey>, state: &D) -> Vec<Difference> {
    let stream = stored.stream;
    let folded = Inline::summary(state, stream).body;
    let Ok(opened) = open_row(key, stream, &stored.head) else {
        return vec![difference(stream, "body", "does not open", "a view")];
    };
    match (opened, folded) {
        (None, None) => Vec::new(),
        (Some(_), None) => vec![difference(stream, "body", "a view", "no view")],
        (None, Some(_)) => vec![difference(stream, "body", "no view", "a view")],
        (Some(stored), Some(folded)) if stored == folded => Vec::new(),
        (Some(stored), Some(folded)) => {
            let value = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or(Value::Null);
            let mut places = Vec::new();
            differing(
                &value(&stored),
                &value(&folded),
                &mut "body".to_owned(),
                &mut places,
            );
            if places.is_empty() {
                places.push("body, in its spelling".to_owned());
            }
            let named = places.into_iter().take(NAMED);
            named
                .map(|place| difference(stream, &place, "one value", "another"))
                .collect()
        }
    }
}

/// The places where two views differ.
fn differing(stored: &Value, folded: &Value, path: &mut String, places: &mut Vec<String>) {
    if let (Value::Object(stored), Value::Object(folded)) = (stored, folded) {
        let length = path.len();
        let added = folded.keys().filter(|name| !stored.contains_key(*name));
        for name in stored.keys().chain(added) {
            path.push('.');
            path.push_str(name);
            let of = |object: &serde_json::Map<String, Value>| object.get(name).cloned();
            match (of(stored), of(folded)) {
                (Some(stored), Some(folded)) => differing(&stored, &folded, path, places),
                (_, _) => places.push(path.clone()),
            }
            path.truncate(length);
        }
    } else if stored != folded {
        places.push(path.clone());
    }
}
