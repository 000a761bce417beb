//! Reading endpoints.

use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::patience::in_time;

/// An endpoint that exists, its texts still sealed.
#[derive(Debug, Clone)]
pub struct EndpointRow {
    pub webhook: Uuid,
    pub account: Uuid,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub generation: u32,
    pub fingerprint: String,
    pub kinds: Vec<String>,
    pub created_at_ms: i64,
    pub standing: Standing,
    /// The last time the receiver accepted something.
    pub accepted_at_ms: Option<i64>,
    /// Messages that wait.
    pub pending: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Active,
    Disabled { reason: String, at_ms: i64 },
}

const COLUMNS: &str =
    "w.webhook_id, w.account_id, w.key_id, w.body, w.generation, w.fingerprint, w.kinds,
    w.created_at_ms, w.disabled_at_ms, w.disabled_reason, w.accepted_at_ms,
    (select count(*) from access.webhook_delivery d
      where d.webhook_id = w.webhook_id and d.state = 'pending') as pending";

/// An endpoint of a living account.
pub async fn endpoint(pool: &PgPool, webhook: Uuid) -> Result<Option<EndpointRow>, StoreError> {
    let sql = format!(
        "select {COLUMNS} from access.webhook w
           join access.account a on a.account_id = w.account_id and a.deleted_at_ms is null
          where w.webhook_id = $1 and w.deleted_at_ms is null"
    );
    let row = in_time(sqlx::query(&sql).bind(webhook).fetch_optional(pool)).await?;
    Ok(row.as_ref().map(row_of).transpose()?)
}

/// The endpoints of an account, or of all living accounts, oldest first, at most `limit`.
pub async fn of_account(
    pool: &PgPool,
    account: Option<Uuid>,
    limit: i64,
) -> Result<Vec<EndpointRow>, StoreError> {
    let sql = format!(
        "select {COLUMNS} from access.webhook w
           join access.account a on a.account_id = w.account_id and a.deleted_at_ms is null
          where w.deleted_at_ms is null and ($1::uuid is null or w.account_id = $1)
          order by w.created_at_ms, w.webhook_id limit $2"
    );
    let query = sqlx::query(&sql).bind(account).bind(limit);
    let rows = in_time(query.fetch_all(pool)).await?;
    let rows: Result<Vec<EndpointRow>, sqlx::Error> = rows.iter().map(row_of).collect();
    Ok(rows?)
}

fn row_of(row: &PgRow) -> Result<EndpointRow, sqlx::Error> {
    let disabled: (Option<i64>, Option<String>) = (
        row.try_get("disabled_at_ms")?,
        row.try_get("disabled_reason")?,
    );
    Ok(EndpointRow {
        webhook: row.try_get("webhook_id")?,
        account: row.try_get("account_id")?,
        key_id: row.try_get("key_id")?,
        body: row.try_get("body")?,
        generation: u32::try_from(row.try_get::<i32, _>("generation")?).unwrap_or(0),
        fingerprint: row.try_get("fingerprint")?,
        kinds: row.try_get("kinds")?,
        created_at_ms: row.try_get("created_at_ms")?,
        standing: match disabled {
            (Some(at_ms), reason) => Standing::Disabled {
                reason: reason.unwrap_or_default(),
                at_ms,
            },
            (None, _) => Standing::Active,
        },
        accepted_at_ms: row.try_get("accepted_at_ms")?,
        pending: row.try_get("pending")?,
    })
}

/// Puts a message of no run in the outbox, for an active endpoint. `false`: there is none.
pub async fn test_message(
    pool: &PgPool,
    webhook: Uuid,
    message: Uuid,
    kind: &str,
    body: &[u8],
) -> Result<bool, StoreError> {
    let query = sqlx::query(
        "insert into access.webhook_delivery
                (message_id, webhook_id, kind, event_at_ms, body, due_at_ms, created_at_ms)
         select $2, w.webhook_id, $3, now_ms, $4, now_ms, now_ms
           from access.webhook w, (values (es.now_ms())) as clock(now_ms)
          where w.webhook_id = $1 and w.deleted_at_ms is null and w.disabled_at_ms is null",
    )
    .bind(webhook)
    .bind(message)
    .bind(kind)
    .bind(body);
    let done = in_time(query.execute(pool)).await?;
    Ok(done.rows_affected() > 0)
}
