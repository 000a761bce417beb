//! Reading streams: heads, pages of events, and inline rows.

use helix_aggregates::chain::Hash;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::owner::{Lane, OwnerKey};
use super::patience::in_time;

/// Events fetched by one query while a whole stream is read.
pub const PAGE: i64 = 1_000;

/// A stream's head and inline row.
#[derive(Debug, Clone)]
pub struct StreamHead {
    pub kind: String,
    pub owner: OwnerKey,
    pub version: u64,
    pub head: Hash,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
    pub status: String,
    pub key_id: Option<Uuid>,
    pub body: Option<Vec<u8>>,
}

/// One event, exactly as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub seq: u64,
    pub at: String,
    pub kind: String,
    pub ver: u16,
    pub key_id: Option<Uuid>,
    pub payload: Vec<u8>,
    pub meta: Vec<u8>,
    pub hash: Hash,
}

pub async fn head(
    pool: &PgPool,
    lane: Lane,
    stream: Uuid,
) -> Result<Option<StreamHead>, StoreError> {
    let row = in_time(sqlx::query(
        "select kind, owner_key, version, head, created_at_ms, updated_at_ms, status, key_id, body
           from es.stream where lane = $1 and stream_id = $2",
    )
    .bind(lane.number())
    .bind(stream)
    .fetch_optional(pool)).await?;
    row.map(|row| head_of(&row)).transpose()
}

/// Reads the head columns of a row that selected them under their own names.
pub fn head_of(row: &PgRow) -> Result<StreamHead, StoreError> {
    Ok(StreamHead {
        kind: row.try_get("kind")?,
        owner: OwnerKey::from_mac(bytes32(row.try_get("owner_key")?)?),
        version: unsigned(row.try_get("version")?),
        head: Hash::from_bytes(bytes32(row.try_get("head")?)?),
        created_at_ms: row.try_get("created_at_ms")?,
        updated_at_ms: row.try_get("updated_at_ms")?,
        status: row.try_get("status")?,
        key_id: row.try_get("key_id")?,
        body: row.try_get("body")?,
    })
}

/// At most `limit` events after `after`, in order.
pub async fn events(
    executor: impl PgExecutor<'_>,
    lane: Lane,
    stream: Uuid,
    after: u64,
    limit: i64,
) -> Result<Vec<StoredEvent>, StoreError> {
    let rows = in_time(
        sqlx::query(
            "select seq, at, kind, ver, key_id, payload, meta, hash from es.event
          where lane = $1 and stream_id = $2 and seq > $3 order by seq limit $4",
        )
        .bind(lane.number())
        .bind(stream)
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(executor),
    )
    .await?;
    rows.iter().map(event_of).collect()
}

pub(super) fn event_of(row: &PgRow) -> Result<StoredEvent, StoreError> {
    Ok(StoredEvent {
        seq: unsigned(row.try_get("seq")?),
        at: row.try_get("at")?,
        kind: row.try_get("kind")?,
        ver: u16::try_from(row.try_get::<i16, _>("ver")?)
            .map_err(|_| StoreError::Damaged("an event has no version".to_owned()))?,
        key_id: row.try_get("key_id")?,
        payload: row.try_get("payload")?,
        meta: row.try_get("meta")?,
        hash: Hash::from_bytes(bytes32(row.try_get("hash")?)?),
    })
}

/// A stream a background worker has to look at.
#[derive(Debug, Clone)]
pub struct DueStream {
    pub lane: Lane,
    pub id: Uuid,
    pub owner: OwnerKey,
    pub key_id: Option<Uuid>,
    pub status: String,
    pub due_ms: i64,
    /// Database milliseconds at the read.
    pub now_ms: i64,
}

/// The next streams of a kind whose time has come, after the place `after` in the order of their
/// due times.
pub async fn due(
    pool: &PgPool,
    kind: &str,
    after: (i64, Uuid),
    limit: i64,
) -> Result<Vec<DueStream>, StoreError> {
    let rows = in_time(
        sqlx::query(
            "select lane, stream_id, owner_key, key_id, status, due_at_ms, es.now_ms() as now_ms
               from es.stream
              where due_at_ms <= (select es.now_ms()) and due_at_ms >= $2
                and (due_at_ms, stream_id) > ($2, $3) and kind = $1
              order by due_at_ms, stream_id limit $4",
        )
        .bind(kind)
        .bind(after.0)
        .bind(after.1)
        .bind(limit)
        .fetch_all(pool),
    )
    .await?;
    let due = |row: &PgRow| {
        let lane = u8::try_from(row.try_get::<i16, _>("lane")?)
            .ok()
            .and_then(Lane::new);
        Ok(DueStream {
            lane: lane.ok_or_else(|| StoreError::Damaged("no such lane".to_owned()))?,
            id: row.try_get("stream_id")?,
            owner: OwnerKey::from_mac(bytes32(row.try_get("owner_key")?)?),
            key_id: row.try_get("key_id")?,
            status: row.try_get("status")?,
            due_ms: row.try_get("due_at_ms")?,
            now_ms: row.try_get("now_ms")?,
        })
    };
    rows.iter().map(due).collect()
}

/// Whether an append's last event is in the log: its hash names it and everything before it.
pub async fn holds(
    pool: &PgPool,
    lane: Lane,
    stream: Uuid,
    version: u64,
    head: &Hash,
) -> Result<bool, StoreError> {
    in_time(
        sqlx::query_scalar(
            "select exists (select 1 from es.event
              where lane = $1 and stream_id = $2 and seq = $3 and hash = $4)",
        )
        .bind(lane.number())
        .bind(stream)
        .bind(i64::try_from(version).unwrap_or(i64::MAX))
        .bind(&head.as_bytes()[..])
        .fetch_one(pool),
    )
    .await
}

/// Versions, positions and sequences are never negative in the schema.
pub fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub fn bytes32(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes
        .try_into()
        .map_err(|_| StoreError::Damaged("a hash is not 32 bytes".to_owned()))
}
