//! Reads that check the caller's ledger row in the statement that reads the data (`access` 2).
//!
//! No decision is cached: a row revoked before the statement began is seen by it.

use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::owner::{Lane, OwnerKey};
use super::patience::in_time;
use super::read::{StoredEvent, StreamHead, event_of, head_of};
use super::read_pool::ReadPool;
use super::receipt::{self, FoundReceipt, ReceiptKey};

/// Who reads: the ledger row of the credential and the owner it stands for.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    pub row_id: Uuid,
    pub owner: OwnerKey,
}

/// A stream as its reader may see it.
#[derive(Debug, Clone)]
pub struct Seen<T> {
    /// Database milliseconds at the read.
    pub now_ms: i64,
    /// `None` when the stream does not exist or is another owner's: the two look alike.
    pub found: Option<T>,
}

/// The head of a stream.
pub async fn head(
    reads: &ReadPool,
    reader: &Reader,
    lane: Lane,
    stream: Uuid,
) -> Result<Seen<StreamHead>, StoreError> {
    let query = || {
        sqlx::query(
            "select exists (select 1 from access.standing where row_id = $1 and live) as live,
                es.now_ms() as now_ms, s.kind, s.owner_key, s.version, s.head, s.created_at_ms,
                s.updated_at_ms, s.status, s.key_id, s.body
           from (values (1)) as one
           left join es.stream s on s.lane = $2 and s.stream_id = $3 and s.owner_key = $4",
        )
        .bind(reader.row_id)
        .bind(lane.number())
        .bind(stream)
        .bind(&reader.owner.as_bytes()[..])
    };
    seen(&reads.one(query).await?)
}

/// The head of a stream together with the receipt of a key.
pub async fn keyed_head(
    reads: &ReadPool,
    reader: &Reader,
    lane: Lane,
    stream: Uuid,
    key: &ReceiptKey,
) -> Result<(Seen<StreamHead>, Option<FoundReceipt>), StoreError> {
    let sql = format!(
        "select exists (select 1 from access.standing where row_id = $1 and live) as live,
                now_ms, s.kind, s.owner_key, s.version, s.head, s.created_at_ms,
                s.updated_at_ms, s.status, s.key_id, s.body, {}
           from (values (es.now_ms())) as clock(now_ms)
           left join es.stream s on s.lane = $2 and s.stream_id = $3 and s.owner_key = $4
           left join es.receipt r on r.lane = $2 and r.key_hash = $5 and r.owner_key = $4
                and r.operation = $6 and r.expires_at_ms > now_ms",
        receipt::COLUMNS
    );
    let query = || {
        sqlx::query(&sql)
            .bind(reader.row_id)
            .bind(lane.number())
            .bind(stream)
            .bind(&reader.owner.as_bytes()[..])
            .bind(&key.key_hash[..])
            .bind(&key.operation)
    };
    let row = reads.one(query).await?;
    let seen = seen(&row)?;
    Ok((seen, receipt::of_row(reads, lane, key, &row).await?))
}

/// The receipt of a key.
pub async fn receipt(
    reads: &ReadPool,
    reader: &Reader,
    lane: Lane,
    key: &ReceiptKey,
) -> Result<Option<FoundReceipt>, StoreError> {
    let sql = format!(
        "select exists (select 1 from access.standing where row_id = $1 and live) as live, {}
           from (values (es.now_ms())) as clock(now_ms)
           left join es.receipt r on r.lane = $2 and r.key_hash = $3 and r.owner_key = $4
                and r.operation = $5 and r.expires_at_ms > now_ms",
        receipt::COLUMNS
    );
    let query = || {
        sqlx::query(&sql)
            .bind(reader.row_id)
            .bind(lane.number())
            .bind(&key.key_hash[..])
            .bind(&reader.owner.as_bytes()[..])
            .bind(&key.operation)
    };
    let row = reads.one(query).await?;
    must_live(&row)?;
    receipt::of_row(reads, lane, key, &row).await
}

fn must_live(row: &PgRow) -> Result<(), StoreError> {
    if row.try_get::<bool, _>("live")? {
        Ok(())
    } else {
        Err(StoreError::Revoked)
    }
}

fn seen(row: &PgRow) -> Result<Seen<StreamHead>, StoreError> {
    must_live(row)?;
    let found = match row.try_get::<Option<String>, _>("kind")? {
        Some(_) => Some(head_of(row)?),
        None => None,
    };
    Ok(Seen {
        now_ms: row.try_get("now_ms")?,
        found,
    })
}

/// A head together with at most `limit` events after `after`.
pub async fn page(
    reads: &ReadPool,
    reader: &Reader,
    lane: Lane,
    stream: Uuid,
    after: u64,
    limit: i64,
) -> Result<Seen<(u64, Vec<StoredEvent>)>, StoreError> {
    let query = || {
        sqlx::query(
            "select exists (select 1 from access.standing where row_id = $1 and live) as live,
                now_ms, s.version as stream_version,
                e.seq, e.at, e.kind, e.ver, e.key_id, e.payload, e.meta, e.hash
           from (values (es.now_ms())) as clock(now_ms)
           left join es.stream s on s.lane = $2 and s.stream_id = $3 and s.owner_key = $4
           left join lateral
                (select * from es.event e
                  where e.lane = s.lane and e.stream_id = s.stream_id and e.seq > $5
                  order by e.seq limit $6) e on true
          order by e.seq",
        )
        .bind(reader.row_id)
        .bind(lane.number())
        .bind(stream)
        .bind(&reader.owner.as_bytes()[..])
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(limit)
    };
    let rows = reads.all(query).await?;
    let Some(first) = rows.first() else {
        return Err(StoreError::Revoked);
    };
    must_live(first)?;
    let now_ms = first.try_get("now_ms")?;
    let Some(version) = first.try_get::<Option<i64>, _>("stream_version")? else {
        return Ok(Seen {
            now_ms,
            found: None,
        });
    };
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        if row.try_get::<Option<i64>, _>("seq")?.is_some() {
            events.push(event_of(row)?);
        }
    }
    Ok(Seen {
        now_ms,
        found: Some((super::read::unsigned(version), events)),
    })
}

/// What a list of runs asks for.
#[derive(Debug, Clone)]
pub struct RunPageQuery<'a> {
    pub status: Option<&'a str>,
    /// Rows older than this one: its creation time and stream id.
    pub before: Option<(i64, Uuid)>,
    pub limit: i64,
}

/// Runs of the reader, newest first.
pub async fn runs(
    reads: &ReadPool,
    reader: &Reader,
    lane: Lane,
    query: &RunPageQuery<'_>,
) -> Result<Vec<(Uuid, StreamHead)>, StoreError> {
    let (before_ms, before_id) = query.before.unzip();
    let query = || {
        sqlx::query(
        "select exists (select 1 from access.standing where row_id = $1 and live) as live,
                s.stream_id, s.kind, s.owner_key, s.version, s.head, s.created_at_ms, s.updated_at_ms,
                s.status, s.key_id, s.body
           from (values (1)) as one
           left join lateral
                (select * from es.stream s
                  where s.lane = $2 and s.owner_key = $3 and s.kind = 'run'
                    and ($4::text is null or s.status = $4)
                    and ($5::bigint is null or (s.created_at_ms, s.stream_id) < ($5, $6))
                  order by s.created_at_ms desc, s.stream_id desc limit $7) s on true",
    )
    .bind(reader.row_id)
    .bind(lane.number())
    .bind(&reader.owner.as_bytes()[..])
    .bind(query.status)
    .bind(before_ms)
    .bind(before_id)
    .bind(query.limit)
    };
    let rows = reads.all(query).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        must_live(row)?;
        if let Some(stream) = row.try_get::<Option<Uuid>, _>("stream_id")? {
            found.push((stream, head_of(row)?));
        }
    }
    Ok(found)
}

/// Whether a credential that was live at `since_ms`, in database milliseconds, has been live ever
/// since: a binding that was unlinked and linked again meanwhile has not. For work that outlives a
/// request.
pub async fn has_lived_since(
    pool: &PgPool,
    row_id: Uuid,
    since_ms: i64,
) -> Result<bool, StoreError> {
    in_time(
        sqlx::query_scalar(
            "select exists (select 1 from access.standing
                             where row_id = $1 and live
                               and (linked_at_ms is null or linked_at_ms <= $2))",
        )
        .bind(row_id)
        .bind(since_ms)
        .fetch_one(pool),
    )
    .await
}
