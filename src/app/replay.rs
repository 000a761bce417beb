//! The proof of one run: its events folded again by two readers that share nothing but the codec.
//!
//! Ours checks every link; cqrs-es reads through postgres-es and the `events` view. What must stay
//! true: both must agree with each other, with the stream's head and with the stored inline row; a
//! reader that comes back with less than the head says is a difference; nothing is changed.

pub(super) mod compare;
pub(super) mod fold;
mod peer;

use std::sync::Arc;

use helix_aggregates::agent::run::Run;
use helix_aggregates::chain::Hash;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::RunId;
use helix_projections::agent::run::view::RunView;
use helix_projections::projector::Difference;
use serde::Serialize;

use self::fold::{Fold, Keep};
use crate::store::inline::{self, StoredRow};
use crate::store::log::Loaded;
use crate::store::owner::Lane;
use crate::store::sealing::DataKey;
use crate::store::{Core, StoreError};

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replayed {
    pub run_id: RunId,
    /// Events folded.
    pub events: u64,
    /// The hash after the last of them.
    pub hash: Hash,
    /// The version and hash the stream's head holds.
    pub head: Head,
    /// The texts are erased: statuses, counts and times were compared, texts could not be.
    pub erased: bool,
    pub equal: bool,
    pub differences: Vec<Difference>,
    /// The run after the event that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunView>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Head {
    pub seq: u64,
    pub hash: Hash,
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("there is no such run")]
    NotFound,
    #[error("the run has {last} events")]
    NoSuchEvent { last: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Folds a run again and compares; with `until`, also shows the run after that event.
pub async fn replay(core: &Core, run: RunId, until: Option<u64>) -> Result<Replayed, ReplayError> {
    let lane = Lane::of_stream(run.uuid()).ok_or(ReplayError::NotFound)?;
    let mut snapshot = inline::snapshot(&core.pool).await?;
    let stored = inline::row(&mut snapshot, Run::KIND, lane, run.uuid()).await?;
    let stored = stored.ok_or(ReplayError::NotFound)?;
    if let Some(seq) = until
        && seq > stored.head.version
    {
        return Err(ReplayError::NoSuchEvent {
            last: stored.head.version,
        });
    }
    let key = core.key(stored.last_key).await?;
    let ours = fold::fold(&mut snapshot, &stored, key.as_deref(), until, Keep::Events).await?;
    // The peer reads on its own; the snapshot has done its work.
    snapshot.rollback().await.map_err(StoreError::from)?;
    let differences = differences(core, &stored, key.as_ref(), &ours, until).await?;
    let shown = ours.at_until.as_ref().unwrap_or(&ours.loaded);
    Ok(Replayed {
        run_id: run,
        events: shown.version,
        hash: shown.head,
        head: Head {
            seq: stored.head.version,
            hash: stored.head.head,
        },
        erased: key.is_none(),
        equal: differences.is_empty(),
        run: until.and_then(|_| RunView::of(&shown.state, run)),
        differences,
    })
}

async fn differences(
    core: &Core,
    stored: &StoredRow,
    key: Option<&Arc<DataKey>>,
    ours: &Fold<Run>,
    until: Option<u64>,
) -> Result<Vec<Difference>, StoreError> {
    let key = key.map(|key| &**key);
    let mut found = compare::head(stored, ours);
    if ours.fault.is_none() {
        found.extend(peer_differences(core, stored, key, ours, until).await?);
    }
    // A row at another version than the events is already a difference, not forty.
    if found.is_empty() && until.is_none() {
        found.extend(compare::summary(stored, key, ours));
    }
    Ok(found)
}

async fn peer_differences(
    core: &Core,
    stored: &StoredRow,
    key: Option<&DataKey>,
    ours: &Fold<Run>,
    until: Option<u64>,
) -> Result<Vec<Difference>, StoreError> {
    let stream = stored.stream;
    let theirs = match peer::read(&core.pool, stream).await? {
        Ok(theirs) => theirs,
        Err(reason) => return Ok(vec![peer::difference(stream, "readable", reason)]),
    };
    // Whoever reads later may see more, never less.
    if theirs.len() < ours.events.len() {
        let (ours, theirs) = (ours.events.len().to_string(), theirs.len().to_string());
        return Ok(vec![peer::difference(
            stream,
            &format!("{ours} events"),
            &format!("{theirs} events"),
        )]);
    }
    let states = match peer::fold(stream, key, &ours.events, &theirs, until) {
        Ok(states) => states,
        Err(difference) => return Ok(vec![*difference]),
    };
    let same = |ours: &Loaded<Run>, theirs: &Run| ours.state == *theirs;
    let agree = same(&ours.loaded, &states.last)
        && match (&ours.at_until, &states.at_until) {
            (Some(ours), Some(theirs)) => same(ours, theirs),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
    Ok(if agree {
        Vec::new()
    } else {
        vec![peer::difference(stream, "one state", "another state")]
    })
}
