//! One process at a time sends to an endpoint, one message at a time, each attempt told before and
//! after.

use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row};
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::patience::in_time;

/// Who sends to which endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    pub webhook: Uuid,
    pub holder: Uuid,
}

/// An attempt that is recorded as begun.
#[derive(Debug, Clone)]
pub struct Begun {
    pub message: Uuid,
    pub kind: String,
    /// Counted from 1.
    pub attempt: u32,
    pub message_body: Vec<u8>,
    /// When the message was made.
    pub created_at_ms: i64,
    pub account: Uuid,
    pub key_id: Uuid,
    /// Sealed, as its generation says.
    pub endpoint_body: Vec<u8>,
    pub generation: u32,
    pub now_ms: i64,
}

/// How an attempt went.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub status: Option<u16>,
    /// A word of ours, never of the receiver.
    pub failure: Option<&'static str>,
    pub duration: Duration,
    pub verdict: Verdict,
}

/// What follows from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// Once more after `wait`. `asked` is a rest that the receiver asked for.
    Again {
        wait: Duration,
        asked: Duration,
    },
    /// Given up.
    Dead {
        asked: Duration,
    },
    /// Told no more, and no fault of the receiver's.
    Withdrawn,
}

/// What is known once an attempt is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// `false`: the message had ended meanwhile, or a later attempt has begun; nothing but the
    /// attempt's own line has changed.
    pub stands: bool,
    pub now_ms: i64,
    /// The endpoint's last success.
    pub accepted_at_ms: Option<i64>,
    /// The first failure after it.
    pub failing_since_ms: Option<i64>,
}

/// An endpoint that failed rests this long, twice as long after each further failure.
const REST_MS: i64 = 4_500;
/// No rest is longer unless the receiver asks for it.
const LONGEST_REST_MS: i64 = 300_000;

/// What a message `d` is while none of the same run before it waits: a run is told in its order.
pub(super) const FIRST_OF_ITS_RUN: &str = "not exists (
    select 1 from access.webhook_delivery e
     where e.webhook_id = d.webhook_id and e.stream_id = d.stream_id and e.seq < d.seq
       and e.state = 'pending')";

/// Takes at most `limit` endpoints that something is due for and nobody sends to, those that have
/// waited longest first.
pub async fn claim(
    pool: &PgPool,
    holder: Uuid,
    lease: Duration,
    limit: i64,
) -> Result<Vec<Sending>, StoreError> {
    let sql = format!(
        "with clock as materialized (select es.now_ms() as now_ms),
              due as (
                select w.webhook_id from access.webhook w, clock
                 where w.deleted_at_ms is null and w.disabled_at_ms is null
                   and w.held_until_ms <= now_ms and w.rest_until_ms <= now_ms
                   and exists (select 1 from access.webhook_delivery d
                                where d.webhook_id = w.webhook_id and d.state = 'pending'
                                  and d.due_at_ms <= now_ms and {FIRST_OF_ITS_RUN})
                 order by w.held_until_ms, w.webhook_id limit $3
                 for update of w skip locked)
         update access.webhook w set holder = $1, held_until_ms = clock.now_ms + $2
           from due, clock where w.webhook_id = due.webhook_id
         returning w.webhook_id"
    );
    let query = sqlx::query_scalar(&sql)
        .bind(holder)
        .bind(millis(lease))
        .bind(limit);
    let taken: Vec<Uuid> = in_time(query.fetch_all(pool)).await?;
    let sending = |webhook| Sending { webhook, holder };
    Ok(taken.into_iter().map(sending).collect())
}

/// Lets others send to the endpoint.
pub async fn release(pool: &PgPool, sending: Sending) -> Result<(), StoreError> {
    let query = sqlx::query(
        "update access.webhook set held_until_ms = es.now_ms(), holder = null
          where webhook_id = $1 and holder = $2",
    )
    .bind(sending.webhook)
    .bind(sending.holder);
    in_time(query.execute(pool)).await.map(drop)
}

/// Renews the lease and begins the next attempt. `None`: nothing is due, or the endpoint is gone,
/// resting or taken over. What may no longer be told is withdrawn on the way.
pub async fn begin(
    pool: &PgPool,
    sending: Sending,
    lease: Duration,
) -> Result<Option<Begun>, StoreError> {
    in_time(async {
        loop {
            let mut transaction = pool.begin().await?;
            let conn = &mut *transaction;
            let Some(endpoint) = renew(conn, sending, lease).await? else {
                return Ok(None);
            };
            let Some(row) = next(conn, sending.webhook).await? else {
                transaction.commit().await?;
                return Ok(None);
            };
            let message: Uuid = row.try_get("message_id")?;
            if !row.try_get::<bool, _>("may_be_told")? {
                end(conn, message, "withdrawn").await?;
                transaction.commit().await?;
                continue;
            }
            let begun = mark_begun(conn, &endpoint, &row).await?;
            transaction.commit().await?;
            return Ok(Some(begun));
        }
    })
    .await
}

/// Holds the endpoint's row, so that its end waits for the attempt to be on record.
async fn renew(
    conn: &mut PgConnection,
    sending: Sending,
    lease: Duration,
) -> Result<Option<PgRow>, sqlx::Error> {
    sqlx::query(
        "update access.webhook set held_until_ms = es.now_ms() + $3
          where webhook_id = $1 and holder = $2 and rest_until_ms <= es.now_ms()
            and deleted_at_ms is null and disabled_at_ms is null
         returning account_id, key_id, body, generation, es.now_ms() as now_ms",
    )
    .bind(sending.webhook)
    .bind(sending.holder)
    .bind(millis(lease))
    .fetch_optional(conn)
    .await
}

/// The message that is due first, and of a run the first that waits. A run's is told only while the credential that started the run
/// has lived, for the same account, ever since the event. For an app of the account that is the
/// account's own tie: whoever connects an app anew still hears of the runs of before.
async fn next(conn: &mut PgConnection, webhook: Uuid) -> Result<Option<PgRow>, sqlx::Error> {
    sqlx::query(&format!(
        "select d.message_id, d.kind, d.body, d.attempts, d.created_at_ms,
                exists (select 1 from access.account a
                         where a.account_id = w.account_id and a.deleted_at_ms is null)
                and (d.stream_id is null or exists
                        (select 1 from access.ledger c
                           join access.standing l on l.row_id = coalesce(c.rests_on, c.row_id)
                          where c.row_id = d.credential and l.live and l.account_id = w.account_id
                            and (l.linked_at_ms is null or l.linked_at_ms <= d.event_at_ms)))
                as may_be_told
           from access.webhook_delivery d join access.webhook w on w.webhook_id = d.webhook_id
          where d.webhook_id = $1 and d.state = 'pending' and d.due_at_ms <= es.now_ms()
            and {FIRST_OF_ITS_RUN}
          order by d.due_at_ms, d.stream_id, d.seq limit 1"
    ))
    .bind(webhook)
    .fetch_optional(conn)
    .await
}

async fn mark_begun(
    conn: &mut PgConnection,
    endpoint: &PgRow,
    row: &PgRow,
) -> Result<Begun, sqlx::Error> {
    let message: Uuid = row.try_get("message_id")?;
    let attempt: i32 = row.try_get::<i32, _>("attempts")? + 1;
    sqlx::query("update access.webhook_delivery set attempts = $2 where message_id = $1")
        .bind(message)
        .bind(attempt)
        .execute(&mut *conn)
        .await?;
    let now_ms: i64 = endpoint.try_get("now_ms")?;
    sqlx::query(
        "insert into access.webhook_attempt (message_id, attempt, began_at_ms) values ($1, $2, $3)",
    )
    .bind(message)
    .bind(attempt)
    .bind(now_ms)
    .execute(conn)
    .await?;
    Ok(Begun {
        message,
        kind: row.try_get("kind")?,
        attempt: u32::try_from(attempt).unwrap_or(1),
        message_body: row.try_get("body")?,
        created_at_ms: row.try_get("created_at_ms")?,
        account: endpoint.try_get("account_id")?,
        key_id: endpoint.try_get("key_id")?,
        endpoint_body: endpoint.try_get("body")?,
        generation: u32::try_from(endpoint.try_get::<i32, _>("generation")?).unwrap_or(0),
        now_ms,
    })
}

/// Records how an attempt went.
pub async fn record(
    pool: &PgPool,
    sending: Sending,
    begun: &Begun,
    outcome: &Outcome,
) -> Result<Recorded, StoreError> {
    in_time(async {
        let mut transaction = pool.begin().await?;
        let conn = &mut *transaction;
        sqlx::query(
            "update access.webhook_attempt set duration_ms = $3, status = $4, failure = $5
              where message_id = $1 and attempt = $2",
        )
        .bind(begun.message)
        .bind(number(begun.attempt))
        .bind(millis(outcome.duration))
        .bind(outcome.status.and_then(|status| i16::try_from(status).ok()))
        .bind(outcome.failure)
        .execute(&mut *conn)
        .await?;
        let endpoint = note_endpoint(conn, sending.webhook, outcome.verdict).await?;
        let stands = settle(conn, begun, outcome.verdict).await?;
        transaction.commit().await?;
        Ok(Recorded {
            stands,
            now_ms: endpoint.try_get("now_ms")?,
            accepted_at_ms: endpoint.try_get("accepted_at_ms")?,
            failing_since_ms: endpoint.try_get("failing_since_ms")?,
        })
    })
    .await
}

async fn settle(
    conn: &mut PgConnection,
    begun: &Begun,
    verdict: Verdict,
) -> Result<bool, sqlx::Error> {
    let (state, wait) = match verdict {
        Verdict::Delivered => ("delivered", None),
        Verdict::Again { wait, .. } => ("pending", Some(millis(wait))),
        Verdict::Dead { .. } => ("dead", None),
        Verdict::Withdrawn => ("withdrawn", None),
    };
    let done = sqlx::query(
        "update access.webhook_delivery
            set state = $3, due_at_ms = es.now_ms() + coalesce($4, 0),
                ended_at_ms = case when $4::bigint is null then es.now_ms() end
          where message_id = $1 and attempts = $2 and state = 'pending'",
    )
    .bind(begun.message)
    .bind(number(begun.attempt))
    .bind(state)
    .bind(wait)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Whether the endpoint rests now, and how it has fared of late.
async fn note_endpoint(
    conn: &mut PgConnection,
    webhook: Uuid,
    verdict: Verdict,
) -> Result<PgRow, sqlx::Error> {
    const FARED: &str = "returning accepted_at_ms, failing_since_ms, es.now_ms() as now_ms";
    let (set, asked) = match verdict {
        Verdict::Delivered => (
            "failures = 0, rest_until_ms = 0, failing_since_ms = null, accepted_at_ms = es.now_ms()",
            Duration::ZERO,
        ),
        Verdict::Again { asked, .. } | Verdict::Dead { asked } => (
            "failures = failures + 1,
             failing_since_ms = coalesce(failing_since_ms, es.now_ms()),
             rest_until_ms = es.now_ms() + greatest($2, least($4, $3 * (1 << least(failures, 10))))",
            asked,
        ),
        Verdict::Withdrawn => ("failures = failures", Duration::ZERO),
    };
    // The parameters are named in every form, since each statement is bound alike.
    let sql = format!(
        "update access.webhook set {set}
          where webhook_id = $1 and $2::bigint + $3::bigint + $4::bigint >= 0 {FARED}"
    );
    sqlx::query(&sql)
        .bind(webhook)
        .bind(millis(asked))
        .bind(REST_MS)
        .bind(LONGEST_REST_MS)
        .fetch_one(conn)
        .await
}

async fn end(conn: &mut PgConnection, message: Uuid, state: &str) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update access.webhook_delivery set state = $2, ended_at_ms = es.now_ms()
          where message_id = $1 and state = 'pending'",
    )
    .bind(message)
    .bind(state)
    .execute(conn)
    .await
    .map(drop)
}

/// Attempts stay far below 2^31.
fn number(attempt: u32) -> i32 {
    i32::try_from(attempt).unwrap_or(i32::MAX)
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
