//! Compares verified entries with what a server serves of the same run (`agent-api` 3.1).
//!
//! Every field stored in clear must be equal. Sealed texts (a cancel reason, say) are ciphertext in
//! the log and cannot be compared; they are counted.

use helix_aggregates::ids::{EventId, RunId};
use helix_aggregates::sealed::SEALED_MARK;
use serde_json::{Map, Value};

use super::run_log::Entry;
use super::{Damage, Refusal};

const EVENT_SCHEMA: &str = "helix.agent_run.event.v1";
const FLAGS: [&str; 4] = [
    "answer_authority",
    "assistant_answer",
    "terminal_eligible",
    "raw_content_included",
];

/// How many fields were equal, and how many could not be compared because they are sealed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    pub equal: u64,
    pub sealed: u64,
}

/// Compares one page: `served` must begin with exactly these entries.
pub fn compare(
    run_id: RunId,
    entries: &[Entry],
    served: &[Value],
    compared: &mut Compared,
) -> Result<(), Refusal> {
    for (index, entry) in entries.iter().enumerate() {
        let broken = |what| Refusal::broken(entry.seq, Damage::Served(what));
        let event = served
            .get(index)
            .ok_or_else(|| broken("the event is absent"))?;
        let event = event
            .as_object()
            .ok_or_else(|| broken("the event is no object"))?;
        compare_event(run_id, entry, event, compared).map_err(broken)?;
    }
    Ok(())
}

fn compare_event(
    run_id: RunId,
    entry: &Entry,
    event: &Map<String, Value>,
    compared: &mut Compared,
) -> Result<(), &'static str> {
    let event_id = EventId::of(run_id.uuid(), entry.seq).to_string();
    let stored: [(&'static str, Value); 6] = [
        ("schema", EVENT_SCHEMA.into()),
        ("event_id", event_id.into()),
        ("run_id", run_id.to_string().into()),
        ("seq", entry.seq.into()),
        ("event_type", entry.kind.as_str().into()),
        ("created_at", entry.at.to_string().into()),
    ];
    for (field, value) in stored {
        if event.get(field) != Some(&value) {
            return Err(field);
        }
        compared.equal += 1;
    }
    if FLAGS
        .iter()
        .any(|flag| event.get(*flag) != Some(&Value::Bool(false)))
    {
        return Err("the flags");
    }
    let payload: Value =
        serde_json::from_slice(&entry.payload.0).map_err(|_| "the stored payload is no JSON")?;
    let stored = payload
        .get("public")
        .ok_or("the stored payload has no public part")?;
    let served = event.get("payload").ok_or("payload")?;
    if agree(stored, served, compared) {
        Ok(())
    } else {
        Err("payload")
    }
}

/// Equal, but for stored values that are sealed.
fn agree(stored: &Value, served: &Value, compared: &mut Compared) -> bool {
    match (stored, served) {
        (Value::Object(mark), _) if mark.len() == 1 && mark.contains_key(SEALED_MARK) => {
            compared.sealed += 1;
            true
        }
        (Value::Object(stored), Value::Object(served)) => {
            stored.len() == served.len()
                && stored.iter().all(|(key, value)| {
                    served
                        .get(key)
                        .is_some_and(|other| agree(value, other, compared))
                })
        }
        (Value::Array(stored), Value::Array(served)) => {
            stored.len() == served.len()
                && stored
                    .iter()
                    .zip(served)
                    .all(|(value, other)| agree(value, other, compared))
        }
        (stored, served) => {
            compared.equal += 1;
            stored == served
        }
    }
}
