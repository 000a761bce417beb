//! Counts what does not follow from what was before it, over the whole log of the run.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use helix_aggregates::chain::{Hash, Link};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::BenchError;
use crate::store::read::{bytes32, unsigned};

/// What a walk over every event found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Walk {
    pub events: u64,
    /// Events that do not follow from the one before, and heads that are not the last event's.
    pub broken: u64,
}

/// Recomputes every link of every stream, then holds each head against its stream's last event.
pub async fn walk(conn: &mut PgConnection) -> Result<Walk, BenchError> {
    let mut rows = sqlx::query(
        "select stream_id, seq, at, kind, ver, payload, meta, hash from es.event
          order by lane, stream_id, seq",
    )
    .fetch(&mut *conn);
    let mut walk = Walk::default();
    let mut ends: HashMap<Uuid, (u64, Hash)> = HashMap::new();
    while let Some(row) = rows.try_next().await? {
        let stream: Uuid = row.try_get("stream_id")?;
        let seq = unsigned(row.try_get("seq")?);
        let (before, prev) = ends.get(&stream).copied().unwrap_or((0, Hash::ZERO));
        let link = Link {
            stream,
            seq,
            kind: row.try_get("kind")?,
            ver: u16::try_from(row.try_get::<i16, _>("ver")?).unwrap_or(0),
            at: row.try_get("at")?,
            payload: row.try_get("payload")?,
            meta: row.try_get("meta")?,
        };
        let stored = Hash::from_bytes(bytes32(row.try_get("hash")?)?);
        walk.events += 1;
        walk.broken += u64::from(seq != before + 1 || link.after(&prev) != stored);
        ends.insert(stream, (seq, stored));
    }
    drop(rows);
    let heads = sqlx::query("select stream_id, version, head from es.stream")
        .fetch_all(&mut *conn)
        .await?;
    for row in &heads {
        let head = (
            unsigned(row.try_get("version")?),
            Hash::from_bytes(bytes32(row.try_get("head")?)?),
        );
        walk.broken += u64::from(ends.remove(&row.try_get("stream_id")?) != Some(head));
    }
    // Events of streams that have no head at all.
    walk.broken += ends.len() as u64;
    Ok(walk)
}
