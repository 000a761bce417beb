//! Inline rows as they are stored, for those who fold the log again and compare.
//!
//! Everything here takes a connection, so that a row and its events can be read in one snapshot.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Postgres, Row, Transaction};
use uuid::Uuid;

use super::StoreError;
use super::append::InlineRow;
use super::owner::Lane;
use super::patience::in_time;
use super::read::{StreamHead, head_of, unsigned};

/// A stream's head and inline row, and what the log alone says beside it.
#[derive(Debug, Clone)]
pub struct StoredRow {
    pub lane: Lane,
    pub stream: Uuid,
    pub head: StreamHead,
    pub due_ms: Option<i64>,
    /// The key of the stream's last event.
    pub last_key: Option<Uuid>,
}

/// When a stream began and was last changed, in database milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub created_ms: i64,
    pub updated_ms: i64,
}

const ROWS: &str =
    "select s.lane, s.stream_id, s.kind, s.owner_key, s.version, s.head, s.created_at_ms,
        s.updated_at_ms, s.status, s.due_at_ms, s.key_id, s.body, last.key_id as last_key
   from es.stream s
   left join lateral
        (select e.key_id from es.event e where e.lane = s.lane and e.stream_id = s.stream_id
          order by e.seq desc limit 1) last on true";

/// A transaction that sees one moment and can change nothing.
pub async fn snapshot(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    let begin = "begin isolation level repeatable read read only";
    pool.begin_with(begin).await.map_err(StoreError::from)
}

/// One stream of a kind.
pub async fn row(
    conn: &mut PgConnection,
    kind: &str,
    lane: Lane,
    stream: Uuid,
) -> Result<Option<StoredRow>, StoreError> {
    let row = sqlx::query(&format!(
        "{ROWS} where s.lane = $1 and s.stream_id = $2 and s.kind = $3"
    ))
    .bind(lane.number())
    .bind(stream)
    .bind(kind)
    .fetch_optional(conn)
    .await?;
    row.map(|row| row_of(&row)).transpose()
}

/// The next streams of a kind in a lane, after `after` and in their order.
pub async fn rows(
    conn: &mut PgConnection,
    kind: &str,
    lane: Lane,
    after: Uuid,
    limit: i64,
) -> Result<Vec<StoredRow>, StoreError> {
    let rows = sqlx::query(&format!(
        "{ROWS} where s.lane = $1 and s.stream_id > $2 and s.kind = $3 order by s.stream_id limit $4"
    ))
    .bind(lane.number())
    .bind(after)
    .bind(kind)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    rows.iter().map(row_of).collect()
}

/// Events in the whole log, for those who show how far they are.
pub async fn event_count(conn: &mut PgConnection) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar("select coalesce(sum(pos), 0)::bigint from es.lane")
        .fetch_one(conn)
        .await?;
    Ok(unsigned(count))
}

/// Writes a summary folded anew. `false` when the stream has moved since: its own append has then
/// written a newer one. The head itself is never written from here: it is what proves the log.
pub async fn replace(
    pool: &PgPool,
    seen: &StoredRow,
    row: &InlineRow,
    span: Span,
) -> Result<bool, StoreError> {
    let query = sqlx::query(
        "update es.stream
            set status = $5, due_at_ms = $6, key_id = $7, body = $8, created_at_ms = $9, updated_at_ms = $10
          where lane = $1 and stream_id = $2 and version = $3 and head = $4",
    )
    .bind(seen.lane.number())
    .bind(seen.stream)
    .bind(i64::try_from(seen.head.version).unwrap_or(i64::MAX))
    .bind(&seen.head.head.as_bytes()[..])
    .bind(&row.status)
    .bind(row.due_ms)
    .bind(row.key_id)
    .bind(&row.body)
    .bind(span.created_ms)
    .bind(span.updated_ms);
    let done = in_time(query.execute(pool)).await?;
    Ok(done.rows_affected() == 1)
}

fn row_of(row: &PgRow) -> Result<StoredRow, StoreError> {
    let lane: i16 = row.try_get("lane")?;
    let lane = u8::try_from(lane).ok().and_then(Lane::new);
    Ok(StoredRow {
        lane: lane.ok_or_else(|| StoreError::Damaged("a stream is in no lane".to_owned()))?,
        stream: row.try_get("stream_id")?,
        head: head_of(row)?,
        due_ms: row.try_get("due_at_ms")?,
        last_key: row.try_get("last_key")?,
    })
}
