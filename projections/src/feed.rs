//! The log as projections read it: lane by lane, in pages.
//!
//! A lane's position moves in the transaction that inserts its events, so a reader that takes
//! `es.lane.pos` first and then reads up to it can miss nothing (ADR 0003). What must stay true:
//! no reader here trusts a sequence, a time-out or a transaction id, and a page that is shorter
//! than the lane says is an error, never an end.

use helix_aggregates::decider::WireEvent;
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

/// Events of one page, and of one transaction of a projector.
pub const PAGE: u16 = 1_000;

/// Reads an old payload of an event kind and version as the present one.
pub type Upcast = fn(&str, u16, Value) -> Value;

/// One event as a projection sees it: no key, so personal text stays closed.
#[derive(Debug, Clone)]
pub struct FeedEvent {
    pub stream: Uuid,
    /// The kind of the stream's aggregate.
    pub stream_kind: String,
    pub seq: u64,
    pub at: String,
    pub kind: String,
    pub ver: u16,
    /// The stored bytes.
    pub payload: Vec<u8>,
}

/// Part of a lane.
#[derive(Debug, Clone)]
pub struct Page {
    /// The position of the last event, wanted or not; where it began when there was none.
    pub pos: u64,
    /// Events read, wanted or not.
    pub read: u64,
    /// Events of the wanted kinds of stream.
    pub events: Vec<FeedEvent>,
}

/// Where a stream-wise reading stands: after this event of this stream.
pub type Place = (Uuid, u64);

#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    #[error("the database is not available")]
    Unavailable(#[from] sqlx::Error),
    #[error("position {after} is beyond the end of lane {lane}, {head}")]
    Beyond { lane: i16, after: u64, head: u64 },
    #[error("lane {lane} holds {found} events after position {after}, not {expected}")]
    Short {
        lane: i16,
        after: u64,
        expected: u64,
        found: u64,
    },
}

/// Why an event cannot be folded. Holds nothing of the event's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Poison {
    #[error("its payload is not one of its kind and version")]
    Undecodable,
    #[error("it has no time")]
    NoTime,
    #[error("it follows event {after} of its stream")]
    OutOfOrder { after: u64 },
    #[error("it stands where no such event can stand")]
    Misplaced,
    #[error("it names no account of this server")]
    NoAccount,
}

impl FeedEvent {
    /// The event behind the stored payload.
    pub fn decode<E: WireEvent>(&self, upcast: Upcast) -> Result<E, Poison> {
        let stored = serde_json::from_slice(&self.payload).map_err(|_| Poison::Undecodable)?;
        let payload = upcast(&self.kind, self.ver, stored);
        let tagged = Value::Object(std::iter::once((self.kind.clone(), payload)).collect());
        serde_json::from_value(tagged).map_err(|_| Poison::Undecodable)
    }

    fn of(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            stream: row.try_get("stream_id")?,
            stream_kind: row.try_get("stream_kind")?,
            seq: unsigned(row.try_get("seq")?),
            at: row.try_get("at")?,
            kind: row.try_get("kind")?,
            ver: u16::try_from(row.try_get::<i16, _>("ver")?).unwrap_or(0),
            payload: row.try_get("payload")?,
        })
    }
}

/// The lanes that hold events, each with its position.
pub async fn heads(conn: &mut PgConnection) -> Result<Vec<(i16, u64)>, sqlx::Error> {
    let rows: Vec<(i16, i64)> =
        sqlx::query_as("select lane, pos from es.lane where pos > 0 order by lane")
            .fetch_all(conn)
            .await?;
    Ok(rows
        .into_iter()
        .map(|(lane, pos)| (lane, unsigned(pos)))
        .collect())
}

/// The position of one lane.
pub async fn head(conn: &mut PgConnection, lane: i16) -> Result<u64, sqlx::Error> {
    let pos: Option<i64> = sqlx::query_scalar("select pos from es.lane where lane = $1")
        .bind(lane)
        .fetch_optional(conn)
        .await?;
    Ok(unsigned(pos.unwrap_or(0)))
}

/// The next page of a lane after `after` and not beyond `head`, which was read before.
pub async fn page(
    conn: &mut PgConnection,
    lane: i16,
    after: u64,
    head: u64,
    kinds: &[&str],
) -> Result<Page, FeedError> {
    let Some(left) = head.checked_sub(after) else {
        return Err(FeedError::Beyond { lane, after, head });
    };
    let expected = left.min(u64::from(PAGE));
    if expected == 0 {
        return Ok(Page {
            pos: after,
            read: 0,
            events: Vec::new(),
        });
    }
    // Payloads of streams nobody asked for are not carried over.
    let rows = sqlx::query(
        "select e.stream_id, s.kind as stream_kind, e.seq, e.pos, e.at, e.kind, e.ver,
                s.kind = any ($4) as wanted, case when s.kind = any ($4) then e.payload end as payload
           from es.event e join es.stream s on s.lane = e.lane and s.stream_id = e.stream_id
          where e.lane = $1 and e.pos > $2 and e.pos <= $3
          order by e.lane, e.pos",
    )
    .bind(lane)
    .bind(signed(after))
    .bind(signed(after + expected))
    .bind(kinds)
    .fetch_all(conn)
    .await?;
    let found = rows.len() as u64;
    if found != expected {
        return Err(FeedError::Short {
            lane,
            after,
            expected,
            found,
        });
    }
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        if row.try_get("wanted")? {
            events.push(FeedEvent::of(row)?);
        }
    }
    Ok(Page {
        pos: after + found,
        read: found,
        events,
    })
}

/// The next events of a lane in the order of streams, none beyond position `until`: how a whole
/// lane is folded stream by stream in bounded memory.
pub async fn by_stream(
    conn: &mut PgConnection,
    lane: i16,
    after: Place,
    until: u64,
    kinds: &[&str],
) -> Result<Vec<FeedEvent>, sqlx::Error> {
    let rows = sqlx::query(
        "select e.stream_id, s.kind as stream_kind, e.seq, e.at, e.kind, e.ver, e.payload
           from es.event e join es.stream s on s.lane = e.lane and s.stream_id = e.stream_id
          where e.lane = $1 and (e.stream_id, e.seq) > ($2, $3) and e.pos <= $4 and s.kind = any ($5)
          order by e.lane, e.stream_id, e.seq limit $6",
    )
    .bind(lane)
    .bind(after.0)
    .bind(signed(after.1))
    .bind(signed(until))
    .bind(kinds)
    .bind(i64::from(PAGE))
    .fetch_all(conn)
    .await?;
    rows.iter().map(FeedEvent::of).collect()
}

/// Positions and sequences are never negative in the schema.
pub(crate) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Positions and sequences stay far below 2^63.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
