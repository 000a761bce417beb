//! Turns offered to external workers: the side of the worker, on whatever process it came to.
//!
//! Each statement takes the worker's ledger row `for share`, so that a revocation and what a worker
//! does have one order, and judges the fence itself: bearer, worker, leases, deadline, and that the
//! run is where the turn's claim left it.

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::{MessageKind, OFFER, Offer, offer_of, unsigned};
use crate::store::StoreError;
use crate::store::patience::in_time;

/// How long a worker keeps a turn after its last sign (settled question 87).
const WORKER_LEASE_MS: i64 = 30_000;
/// Requests of one attempt that may wait for their answers.
const WAITING: i32 = 8;

/// Names the live credential as `live`; `$1` is its ledger row.
const LIVE: &str = "live as (
    select row_id from access.ledger where row_id = $1 and live for share)";

/// What holds of an offer `o`, its run's stream `s` and `now_ms` while the present attempt may act.
const CURRENT: &str =
    "o.state = 'taken' and o.worker_until_ms > now_ms and o.holder_until_ms > now_ms
    and o.deadline_ms > now_ms and s.version = o.stream_version";

/// Who acts on which attempt, by hashes alone.
#[derive(Debug, Clone, Copy)]
pub struct Fence {
    pub worker: Uuid,
    pub turn_hash: [u8; 32],
}

/// An attempt that has just begun.
#[derive(Debug, Clone)]
pub struct Claim {
    pub offer: Offer,
    /// What the holder knows of the turn beside the log.
    pub shown: Value,
    pub lease_until_ms: i64,
}

/// Takes the oldest open offer whose tools are all among `capabilities`; none given means any.
pub async fn claim(
    pool: &PgPool,
    fence: &Fence,
    capabilities: &[String],
) -> Result<Option<Claim>, StoreError> {
    let sql = format!(
        "with {LIVE}, clock as (select es.now_ms() as now_ms),
         next as (
             select o.offer_id, now_ms
               from worker.offer o
               join es.stream s on s.lane = o.lane and s.stream_id = o.run_id, clock
              where o.state = 'open' and o.holder_until_ms > now_ms and o.deadline_ms > now_ms
                and s.version = o.stream_version
                and (cardinality($3::text[]) = 0 or o.tools <@ $3)
                and exists (select 1 from live)
              order by o.offered_at_ms limit 1 for update of o skip locked),
         taken as (
             update worker.offer o
                set state = 'taken', attempt = o.attempt + 1, turn_hash = $2, worker_row = $1,
                    worker_until_ms = n.now_ms + $4, moved = o.moved + 1
               from next n where o.offer_id = n.offer_id
             returning {OFFER}, o.shown, o.worker_until_ms)
         select exists (select 1 from live) as live, taken.*
           from (values (1)) as one left join taken on true"
    );
    let query = sqlx::query(&sql)
        .bind(fence.worker)
        .bind(&fence.turn_hash[..])
        .bind(capabilities)
        .bind(WORKER_LEASE_MS);
    let row = in_time(query.fetch_one(pool)).await?;
    must_live(&row)?;
    if row.try_get::<Option<Uuid>, _>("offer_id")?.is_none() {
        return Ok(None);
    }
    Ok(Some(Claim {
        offer: offer_of(&row)?,
        shown: row.try_get("shown")?,
        lease_until_ms: row.try_get("worker_until_ms")?,
    }))
}

/// An offer that stands as it stood before it was taken.
#[derive(Debug, Clone, Copy)]
pub struct Back {
    pub offer: Uuid,
    /// The offer's new count of changes.
    pub moved: u64,
    /// The bell's.
    pub rung: u64,
}

/// Offers a turn again whose worker never heard that it has it, in its old place of the queue; the
/// attempt was none. `None` when there is nothing to give back.
pub async fn give_back(pool: &PgPool, fence: &Fence) -> Result<Option<Back>, StoreError> {
    let query = sqlx::query(
        "with back as (
             update worker.offer
                set state = 'open', attempt = attempt - 1, turn_hash = null, worker_row = null,
                    worker_until_ms = null, moved = moved + 1
              where turn_hash = $2 and worker_row = $1 and state = 'taken'
             returning offer_id, moved),
         rung as (update worker.bell set rung = rung + 1 from back returning rung)
         select offer_id, moved, rung from back, rung",
    )
    .bind(fence.worker)
    .bind(&fence.turn_hash[..]);
    let row = in_time(query.fetch_optional(pool)).await?;
    row.map(|row| {
        Ok(Back {
            offer: row.try_get("offer_id")?,
            moved: unsigned(row.try_get("moved")?),
            rung: unsigned(row.try_get("rung")?),
        })
    })
    .transpose()
}

/// What a worker's sign of life is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// The lease is renewed.
    Held {
        until_ms: i64,
    },
    /// The turn is over for a reason of the run's; the lease is left to pass.
    Stopped {
        until_ms: i64,
    },
    Fenced,
}

/// Renews a worker's lease.
pub async fn beat(pool: &PgPool, fence: &Fence) -> Result<Beat, StoreError> {
    let sql = format!(
        "with {LIVE}, clock as (select es.now_ms() as now_ms),
         known as (
             select o.offer_id, now_ms, o.worker_until_ms,
                    case
                      when s.version = o.stream_version and o.deadline_ms > now_ms
                           and o.state <> 'withdrawn'
                           and (o.credential is null or exists (
                                select 1 from access.standing l
                                 where l.row_id = o.credential and l.live
                                   and (l.linked_at_ms is null or l.linked_at_ms <= o.claimed_at_ms)))
                        then case when o.holder_until_ms > now_ms then 'held' else 'fenced' end
                      when o.state = 'handed_in' then 'fenced'
                      else 'stopped'
                    end as verdict
               from worker.offer o
               join es.stream s on s.lane = o.lane and s.stream_id = o.run_id, clock
              where o.turn_hash = $2 and o.worker_row = $1 and o.worker_until_ms > now_ms
                and exists (select 1 from live)
                for update of o),
         beaten as (
             update worker.offer o set worker_until_ms = k.now_ms + $3
               from known k where o.offer_id = k.offer_id and k.verdict = 'held'
             returning o.worker_until_ms)
         select exists (select 1 from live) as live, k.verdict,
                coalesce((select worker_until_ms from beaten), k.worker_until_ms) as until_ms
           from (values (1)) as one left join known k on true"
    );
    let query = sqlx::query(&sql)
        .bind(fence.worker)
        .bind(&fence.turn_hash[..])
        .bind(WORKER_LEASE_MS);
    let row = in_time(query.fetch_one(pool)).await?;
    must_live(&row)?;
    match row.try_get::<Option<&str>, _>("verdict")? {
        Some("held") => Ok(Beat::Held {
            until_ms: row.try_get("until_ms")?,
        }),
        Some("stopped") => Ok(Beat::Stopped {
            until_ms: row.try_get("until_ms")?,
        }),
        _ => Ok(Beat::Fenced),
    }
}

/// An attempt by its bearer, whatever became of it.
#[derive(Debug, Clone)]
pub struct Found {
    pub offer: Offer,
    pub product_mac: Option<Vec<u8>>,
}

pub async fn find(pool: &PgPool, fence: &Fence) -> Result<Option<Found>, StoreError> {
    let sql = format!(
        "with {LIVE}
         select exists (select 1 from live) as live, {OFFER}, o.product_mac
           from (values (1)) as one
           left join worker.offer o on o.turn_hash = $2 and o.worker_row = $1"
    );
    let query = sqlx::query(&sql)
        .bind(fence.worker)
        .bind(&fence.turn_hash[..]);
    let row = in_time(query.fetch_one(pool)).await?;
    must_live(&row)?;
    if row.try_get::<Option<Uuid>, _>("offer_id")?.is_none() {
        return Ok(None);
    }
    Ok(Some(Found {
        offer: offer_of(&row)?,
        product_mac: row.try_get("product_mac")?,
    }))
}

/// What became of a request for the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// The offer's new count of changes.
    At(u64),
    TooMany,
    Fenced,
}

/// Puts a sealed request before the process that executes the turn.
pub async fn post(
    pool: &PgPool,
    fence: &Fence,
    message: Uuid,
    request: &[u8],
) -> Result<Posted, StoreError> {
    let sql = format!(
        "with {LIVE}, {held},
         posted as (
             insert into worker.message (message_id, offer_id, attempt, kind, request, posted_at_ms)
             select $3, h.offer_id, h.attempt, $5, $4, h.now_ms from held h
              where h.waiting < $6
             returning offer_id),
         moved as (
             update worker.offer o set moved = o.moved + 1, waiting = o.waiting + 1
               from posted p where o.offer_id = p.offer_id returning o.moved)
         select exists (select 1 from live) as live, exists (select 1 from held) as held,
                (select moved from moved) as moved",
        held = held()
    );
    let query = sqlx::query(&sql)
        .bind(fence.worker)
        .bind(&fence.turn_hash[..])
        .bind(message)
        .bind(request)
        .bind(MessageKind::Tool.as_str())
        .bind(WAITING);
    let row = in_time(query.fetch_one(pool)).await?;
    must_live(&row)?;
    Ok(match row.try_get::<Option<i64>, _>("moved")? {
        Some(moved) => Posted::At(unsigned(moved)),
        None if row.try_get("held")? => Posted::TooMany,
        None => Posted::Fenced,
    })
}

/// What became of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handed {
    /// The offer's new count of changes.
    In(u64),
    Fenced,
}

/// Hands in the one product of an attempt: from here on the attempt can do nothing else.
pub async fn hand_in(
    pool: &PgPool,
    fence: &Fence,
    message: Uuid,
    request: &[u8],
    product_mac: &[u8; 32],
) -> Result<Handed, StoreError> {
    let sql = format!(
        "with {LIVE}, {held},
         posted as (
             insert into worker.message (message_id, offer_id, attempt, kind, request, posted_at_ms)
             select $3, h.offer_id, h.attempt, $5, $4, h.now_ms from held h
             returning offer_id),
         moved as (
             update worker.offer o set moved = o.moved + 1, state = 'handed_in', product_mac = $6
               from posted p where o.offer_id = p.offer_id returning o.moved)
         select exists (select 1 from live) as live, (select moved from moved) as moved",
        held = held()
    );
    let query = sqlx::query(&sql)
        .bind(fence.worker)
        .bind(&fence.turn_hash[..])
        .bind(message)
        .bind(request)
        .bind(MessageKind::Product.as_str())
        .bind(&product_mac[..]);
    let row = in_time(query.fetch_one(pool)).await?;
    must_live(&row)?;
    let moved = row.try_get::<Option<i64>, _>("moved")?;
    Ok(moved.map_or(Handed::Fenced, |moved| Handed::In(unsigned(moved))))
}

/// The attempt's offer as `held`, locked, while it may act.
fn held() -> String {
    format!(
        "clock as (select es.now_ms() as now_ms),
         held as (
             select o.offer_id, o.attempt, o.waiting, now_ms
               from worker.offer o
               join es.stream s on s.lane = o.lane and s.stream_id = o.run_id, clock
              where o.turn_hash = $2 and o.worker_row = $1 and {CURRENT}
                and exists (select 1 from live)
                for update of o)"
    )
}

/// What a waiting request finds.
#[derive(Debug, Clone)]
pub enum Reply {
    Answered(Vec<u8>),
    /// Not yet; the offer's count of changes.
    Waiting(u64),
    Fenced,
}

/// Looks for the answer of a request. An answer is given out although the attempt is over since.
pub async fn reply(
    pool: &PgPool,
    fence: &Fence,
    offer: Uuid,
    message: Uuid,
) -> Result<Reply, StoreError> {
    let sql = format!(
        "with {LIVE}, clock as (select es.now_ms() as now_ms)
         select exists (select 1 from live) as live, o.moved, m.answer,
                coalesce(o.turn_hash = $2 and {CURRENT} and m.message_id is not null, false) as current
           from (values (1)) as one
           cross join clock
           left join worker.offer o on o.offer_id = $3
           left join es.stream s on s.lane = o.lane and s.stream_id = o.run_id
           left join worker.message m on m.message_id = $4"
    );
    let query = sqlx::query(&sql)
        .bind(fence.worker)
        .bind(&fence.turn_hash[..])
        .bind(offer)
        .bind(message);
    let row = in_time(query.fetch_one(pool)).await?;
    must_live(&row)?;
    if let Some(answer) = row.try_get::<Option<Vec<u8>>, _>("answer")? {
        let fetched = sqlx::query("delete from worker.message where message_id = $1").bind(message);
        in_time(fetched.execute(pool)).await?;
        return Ok(Reply::Answered(answer));
    }
    if row.try_get("current")? {
        return Ok(Reply::Waiting(unsigned(row.try_get("moved")?)));
    }
    Ok(Reply::Fenced)
}

fn must_live(row: &PgRow) -> Result<(), StoreError> {
    if row.try_get::<bool, _>("live")? {
        Ok(())
    } else {
        Err(StoreError::Revoked)
    }
}
