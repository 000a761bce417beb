//! Our reader: a stream folded from its first event, every link checked.

use helix_aggregates::decider::Decider;
use helix_aggregates::time::Timestamp;
use sqlx::PgConnection;

use crate::store::StoreError;
use crate::store::inline::StoredRow;
use crate::store::log::{Loaded, step};
use crate::store::read::{self, PAGE, StoredEvent};
use crate::store::sealing::DataKey;

/// A stream as its events alone tell it.
#[derive(Debug)]
pub(in crate::app) struct Fold<D> {
    /// After the last event; of no meaning beside a fault.
    pub loaded: Loaded<D>,
    /// After the event that was asked for.
    pub at_until: Option<Loaded<D>>,
    pub created: Timestamp,
    /// Why the fold ended before the log did.
    pub fault: Option<String>,
    /// As stored, when they were to be kept.
    pub events: Vec<StoredEvent>,
}

/// Whether the events are still needed after they were folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Keep {
    Events,
    Nothing,
}

/// Folds all events of a stream, also those that its head does not know of.
pub(in crate::app) async fn fold<D: Decider>(
    conn: &mut PgConnection,
    stored: &StoredRow,
    key: Option<&DataKey>,
    until: Option<u64>,
    keep: Keep,
) -> Result<Fold<D>, StoreError> {
    let mut fold = Fold {
        loaded: Loaded::default(),
        at_until: None,
        created: Timestamp::default(),
        fault: None,
        events: Vec::new(),
    };
    loop {
        let after = fold.loaded.version;
        let page = read::events(&mut *conn, stored.lane, stored.stream, after, PAGE).await?;
        let is_last = page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
        for event in page {
            match step(&mut fold.loaded, stored.stream, key, &event) {
                Ok(_) => {}
                Err(StoreError::Damaged(fault)) => {
                    fold.fault = Some(fault);
                    return Ok(fold);
                }
                Err(error) => return Err(error),
            }
            if event.seq == 1 {
                fold.created = fold.loaded.at;
            }
            if until == Some(event.seq) {
                fold.at_until = Some(fold.loaded.clone());
            }
            if keep == Keep::Events {
                fold.events.push(event);
            }
        }
        if is_last {
            return Ok(fold);
        }
    }
}
