//! Turns offered to external workers: the side of the process that executes the turn (ADR 0011).
//!
//! What must stay true: an offer holds structure alone; time is the database's; whoever may act is
//! judged by the statement that acts. Deliberately absent: texts. Requests and answers pass through
//! sealed, and what a turn is about is read from the log.

mod taken;

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::owner::Lane;
use super::patience::in_time;
use super::read::unsigned;

pub use taken::{
    Back, Beat, Claim, Fence, Found, Handed, Posted, Reply, beat, claim, find, give_back, hand_in,
    post, reply,
};

/// How long a process is taken to be alive after its last sign: long enough for a database that
/// restarts, and less than a worker's lease.
const HOLDER_LEASE_MS: i64 = 20_000;
/// How long the end of a turn is remembered, so that a product handed in twice is answered alike.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;
/// After a turn's deadline nobody waits for its messages any more.
const MESSAGES_KEPT_MS: i64 = 60_000;

/// A turn as its executing process offers it.
#[derive(Debug, Clone)]
pub struct NewOffer {
    pub id: Uuid,
    pub lane: Lane,
    pub run: Uuid,
    pub run_version: u64,
    pub stream_version: u64,
    pub key_id: Uuid,
    pub credential: Option<Uuid>,
    pub claimed_at_ms: i64,
    pub tools: Vec<String>,
    /// What the holder knows of the turn beside the log; no text of anybody.
    pub shown: Value,
    pub holder: Uuid,
    /// Milliseconds until the turn's deadline.
    pub left_ms: i64,
}

/// An offer as anybody may know it.
#[derive(Debug, Clone)]
pub struct Offer {
    pub id: Uuid,
    pub lane: Lane,
    pub run: Uuid,
    pub run_version: u64,
    pub stream_version: u64,
    pub key_id: Uuid,
    pub attempt: u32,
    pub deadline_ms: i64,
}

const OFFER: &str = "o.offer_id, o.lane, o.run_id, o.run_version, o.stream_version, o.key_id,
    o.attempt, o.deadline_ms";

fn offer_of(row: &PgRow) -> Result<Offer, StoreError> {
    let lane = u8::try_from(row.try_get::<i16, _>("lane")?)
        .ok()
        .and_then(Lane::new);
    Ok(Offer {
        id: row.try_get("offer_id")?,
        lane: lane.ok_or_else(|| StoreError::Damaged("no such lane".to_owned()))?,
        run: row.try_get("run_id")?,
        run_version: unsigned(row.try_get("run_version")?),
        stream_version: unsigned(row.try_get("stream_version")?),
        key_id: row.try_get("key_id")?,
        attempt: attempt_of(row)?,
        deadline_ms: row.try_get("deadline_ms")?,
    })
}

fn attempt_of(row: &PgRow) -> Result<u32, StoreError> {
    Ok(u32::try_from(row.try_get::<i32, _>("attempt")?).unwrap_or(0))
}

fn signed(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

/// Offers a turn and rings the bell; again, for one that was not heard to be offered. `None` when
/// its claim is over already.
pub async fn open(pool: &PgPool, new: &NewOffer) -> Result<Option<u64>, StoreError> {
    let query = sqlx::query(
        "with opened as (
             insert into worker.offer as t (offer_id, lane, run_id, run_version, stream_version, key_id,
                    credential, claimed_at_ms, tools, shown, holder, holder_until_ms, deadline_ms,
                    offered_at_ms)
             select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now_ms + $12, now_ms + $13, now_ms
               from (select es.now_ms() as now_ms) clock
              where exists (select 1 from es.stream s
                             where s.lane = $2 and s.stream_id = $3 and s.version = $5)
             on conflict (run_id, run_version) do update
                set holder_until_ms = excluded.holder_until_ms where t.offer_id = excluded.offer_id
             returning offer_id)
         update worker.bell set rung = rung + 1 from opened returning rung",
    )
    .bind(new.id)
    .bind(new.lane.number())
    .bind(new.run)
    .bind(signed(new.run_version))
    .bind(signed(new.stream_version))
    .bind(new.key_id)
    .bind(new.credential)
    .bind(new.claimed_at_ms)
    .bind(&new.tools)
    .bind(&new.shown)
    .bind(new.holder)
    .bind(HOLDER_LEASE_MS)
    .bind(new.left_ms);
    let row = in_time(query.fetch_optional(pool)).await?;
    row.map(|row| Ok(unsigned(row.try_get("rung")?)))
        .transpose()
}

/// Where an offer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has it, and that for so many milliseconds.
    Open {
        for_ms: i64,
    },
    /// A worker has it, or has handed in its product.
    Taken,
    Withdrawn,
}

/// What a look of the holder found.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub standing: Standing,
    pub attempt: u32,
    pub moved: u64,
    /// The bell's count, when a lost worker made the offer open again.
    pub rung: Option<u64>,
}

/// Shows that the holder lives, and takes the turn back from a worker whose lease has passed or
/// whose credential has died. `None` when the offer is gone or another's.
pub async fn renew(pool: &PgPool, id: Uuid, holder: Uuid) -> Result<Option<Held>, StoreError> {
    let query = sqlx::query(
        "with clock as (select es.now_ms() as now_ms),
         known as (
             select o.offer_id, now_ms,
                    o.state = 'taken' and (o.worker_until_ms <= now_ms or not exists (
                        select 1 from access.ledger l
                         where l.row_id = o.worker_row and l.live)) as lost
               from worker.offer o, clock
              where o.offer_id = $1 and o.holder = $2 for update of o),
         dropped as (
             delete from worker.message m using known k where k.lost and m.offer_id = k.offer_id),
         rung as (
             update worker.bell set rung = rung + 1 from known where known.lost returning rung)
         update worker.offer o
            set holder_until_ms = k.now_ms + $3,
                state = case when k.lost then 'open' else o.state end,
                turn_hash = case when k.lost then null else o.turn_hash end,
                worker_row = case when k.lost then null else o.worker_row end,
                worker_until_ms = case when k.lost then null else o.worker_until_ms end,
                offered_at_ms = case when k.lost then k.now_ms else o.offered_at_ms end,
                waiting = case when k.lost then 0 else o.waiting end,
                moved = o.moved + k.lost::int
           from known k where o.offer_id = k.offer_id
         returning o.state, o.attempt, o.moved, k.now_ms - o.offered_at_ms as open_ms,
                   (select rung from rung) as rung",
    )
    .bind(id)
    .bind(holder)
    .bind(HOLDER_LEASE_MS);
    let Some(row) = in_time(query.fetch_optional(pool)).await? else {
        return Ok(None);
    };
    let standing = match row.try_get::<&str, _>("state")? {
        "open" => Standing::Open {
            for_ms: row.try_get("open_ms")?,
        },
        "withdrawn" => Standing::Withdrawn,
        _ => Standing::Taken,
    };
    Ok(Some(Held {
        standing,
        attempt: attempt_of(&row)?,
        moved: unsigned(row.try_get("moved")?),
        rung: row.try_get::<Option<i64>, _>("rung")?.map(unsigned),
    }))
}

/// What a worker asks of the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    Tool,
    Product,
}

impl MessageKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Product => "product",
        }
    }
}

/// A request of the present attempt that nobody has answered.
#[derive(Debug, Clone)]
pub struct Message {
    pub id: Uuid,
    pub kind: MessageKind,
    pub request: Vec<u8>,
}

/// Requests of the present attempt, oldest first.
pub async fn pending(pool: &PgPool, id: Uuid, limit: i64) -> Result<Vec<Message>, StoreError> {
    let query = sqlx::query(
        "select m.message_id, m.kind, m.request
           from worker.message m join worker.offer o using (offer_id)
          where m.offer_id = $1 and m.attempt = o.attempt and m.answer is null
            and o.state in ('taken', 'handed_in')
          order by m.posted_at_ms, m.message_id limit $2",
    )
    .bind(id)
    .bind(limit);
    let rows = in_time(query.fetch_all(pool)).await?;
    let message = |row: &PgRow| {
        Ok(Message {
            id: row.try_get("message_id")?,
            kind: match row.try_get::<&str, _>("kind")? {
                "product" => MessageKind::Product,
                _ => MessageKind::Tool,
            },
            request: row.try_get("request")?,
        })
    };
    rows.iter().map(message).collect()
}

/// Answers a request; the offer's new count of changes, or `None` when nobody waits for it.
pub async fn answer(
    pool: &PgPool,
    message: Uuid,
    answer: &[u8],
) -> Result<Option<u64>, StoreError> {
    let query = sqlx::query(
        "with answered as (
             update worker.message set answer = $2 where message_id = $1 and answer is null
             returning offer_id)
         update worker.offer o set moved = o.moved + 1, waiting = greatest(o.waiting - 1, 0)
           from answered a where o.offer_id = a.offer_id returning o.moved",
    )
    .bind(message)
    .bind(answer);
    let row = in_time(query.fetch_optional(pool)).await?;
    row.map(|row| Ok(unsigned(row.try_get("moved")?)))
        .transpose()
}

/// Ends an offer. Nobody can take it any more, and whoever has it is told to stop; a product that
/// was handed in stays known. Returns the count of changes.
pub async fn withdraw(pool: &PgPool, id: Uuid, holder: Uuid) -> Result<Option<u64>, StoreError> {
    let query = sqlx::query(
        "with dropped as (delete from worker.message where offer_id = $1)
         update worker.offer
            set state = case when state = 'handed_in' then state else 'withdrawn' end,
                moved = moved + 1
          where offer_id = $1 and holder = $2 returning moved",
    )
    .bind(id)
    .bind(holder);
    let row = in_time(query.fetch_optional(pool)).await?;
    row.map(|row| Ok(unsigned(row.try_get("moved")?)))
        .transpose()
}

/// Forgets what nobody can ask about any more.
pub async fn sweep(pool: &PgPool) -> Result<(), StoreError> {
    let messages = sqlx::query(
        "delete from worker.message m using worker.offer o
          where o.offer_id = m.offer_id and o.deadline_ms < (select es.now_ms()) - $1",
    )
    .bind(MESSAGES_KEPT_MS);
    in_time(messages.execute(pool)).await?;
    let offers =
        sqlx::query("delete from worker.offer where deadline_ms < (select es.now_ms()) - $1")
            .bind(KEPT_MS);
    in_time(offers.execute(pool)).await.map(drop)
}
