//! What was sent, and forgetting it after its time.

use std::collections::HashMap;

use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::sending::FIRST_OF_ITS_RUN;
use crate::store::StoreError;
use crate::store::patience::in_time;

/// Rows deleted by one statement.
const BATCH: i64 = 1_000;

/// One message of the log.
#[derive(Debug, Clone)]
pub struct DeliveryLine {
    pub message: Uuid,
    pub webhook: Uuid,
    pub kind: String,
    /// The run's stream and the event in it; `None` for a test message.
    pub stream: Option<(Uuid, i64)>,
    pub state: String,
    pub created_at_ms: i64,
    /// When it is sent next, while it waits.
    pub due_at_ms: Option<i64>,
    pub attempts: Vec<AttemptLine>,
}

#[derive(Debug, Clone)]
pub struct AttemptLine {
    pub attempt: i32,
    pub began_at_ms: i64,
    pub duration_ms: Option<i64>,
    pub status: Option<i16>,
    pub failure: Option<String>,
}

/// How much waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub messages: i64,
    /// Age of the oldest in milliseconds.
    pub oldest_ms: i64,
    /// Endpoints that are disabled.
    pub disabled: i64,
    /// Whether something can be claimed now, or is being sent.
    pub busy: bool,
}

/// The newest messages to one endpoint or to all, newest first, at most `limit`.
pub async fn deliveries(
    pool: &PgPool,
    webhook: Option<Uuid>,
    limit: i64,
) -> Result<Vec<DeliveryLine>, StoreError> {
    let query = sqlx::query(
        "select message_id, webhook_id, kind, stream_id, seq, state, created_at_ms, due_at_ms
           from access.webhook_delivery where $1::uuid is null or webhook_id = $1
          order by created_at_ms desc, stream_id desc, seq desc, message_id limit $2",
    )
    .bind(webhook)
    .bind(limit);
    let rows = in_time(query.fetch_all(pool)).await?;
    let mut lines = Vec::with_capacity(rows.len());
    for row in &rows {
        let stream: Option<Uuid> = row.try_get("stream_id")?;
        let state: String = row.try_get("state")?;
        let due: i64 = row.try_get("due_at_ms")?;
        lines.push(DeliveryLine {
            message: row.try_get("message_id")?,
            webhook: row.try_get("webhook_id")?,
            kind: row.try_get("kind")?,
            stream: stream.zip(row.try_get("seq")?),
            due_at_ms: (state == "pending").then_some(due),
            state,
            created_at_ms: row.try_get("created_at_ms")?,
            attempts: Vec::new(),
        });
    }
    let messages: Vec<Uuid> = lines.iter().map(|line| line.message).collect();
    let mut attempts = attempts(pool, &messages).await?;
    for line in &mut lines {
        line.attempts = attempts.remove(&line.message).unwrap_or_default();
    }
    Ok(lines)
}

async fn attempts(
    pool: &PgPool,
    messages: &[Uuid],
) -> Result<HashMap<Uuid, Vec<AttemptLine>>, StoreError> {
    let query = sqlx::query(
        "select message_id, attempt, began_at_ms, duration_ms, status, failure
           from access.webhook_attempt where message_id = any ($1) order by message_id, attempt",
    )
    .bind(messages);
    let mut attempts: HashMap<Uuid, Vec<AttemptLine>> = HashMap::new();
    for row in &in_time(query.fetch_all(pool)).await? {
        let line = AttemptLine {
            attempt: row.try_get("attempt")?,
            began_at_ms: row.try_get("began_at_ms")?,
            duration_ms: row.try_get("duration_ms")?,
            status: row.try_get("status")?,
            failure: row.try_get("failure")?,
        };
        attempts
            .entry(row.try_get("message_id")?)
            .or_default()
            .push(line);
    }
    Ok(attempts)
}

/// Withdraws what waits for endpoints that are gone, and forgets a batch of what ended more than
/// `keep_ms` ago. Returns how many messages were forgotten.
pub async fn prune(pool: &PgPool, keep_ms: i64) -> Result<u64, StoreError> {
    // A message may have been made while its endpoint was being taken away.
    let orphans = sqlx::query(
        "update access.webhook_delivery d set state = 'withdrawn', ended_at_ms = es.now_ms()
           from access.webhook w
          where w.webhook_id = d.webhook_id and d.state = 'pending'
            and (w.deleted_at_ms is not null or w.disabled_at_ms is not null)",
    );
    in_time(orphans.execute(pool)).await?;
    let query = sqlx::query(
        "delete from access.webhook_delivery where message_id in
            (select message_id from access.webhook_delivery
              where ended_at_ms < es.now_ms() - $1 order by ended_at_ms limit $2)",
    )
    .bind(keep_ms)
    .bind(BATCH);
    Ok(in_time(query.execute(pool)).await?.rows_affected())
}

/// A look at everything that waits, for the metrics.
pub async fn waiting(pool: &PgPool) -> Result<Waiting, StoreError> {
    let sql = format!(
        "with clock as materialized (select es.now_ms() as now_ms)
         select count(d.message_id) as messages,
                coalesce(max(now_ms - d.created_at_ms), 0) as oldest_ms,
                (select count(*) from access.webhook
                  where disabled_at_ms is not null and deleted_at_ms is null) as disabled,
                coalesce(bool_or(w.deleted_at_ms is null and w.disabled_at_ms is null
                        and (w.held_until_ms > now_ms
                             or (w.rest_until_ms <= now_ms and d.due_at_ms <= now_ms
                                 and {FIRST_OF_ITS_RUN}))), false) as busy
           from clock
           left join access.webhook_delivery d on d.state = 'pending'
           left join access.webhook w on w.webhook_id = d.webhook_id
          group by now_ms"
    );
    let row = in_time(sqlx::query(&sql).fetch_one(pool)).await?;
    Ok(Waiting {
        messages: row.try_get("messages")?,
        oldest_ms: row.try_get("oldest_ms")?,
        disabled: row.try_get("disabled")?,
        busy: row.try_get("busy")?,
    })
}
