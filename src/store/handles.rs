//! One-time handles: issued, looked at, used once (`access` 1.2).

use serde_json::Value;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::ledger::people::{HandleRow, issue_handle};
use super::patience::in_time;
use super::read_pool::ReadPool;

/// A handle that can still be used.
#[derive(Debug, Clone)]
pub struct OpenHandle {
    pub account: Option<Uuid>,
    /// The session it is bound to.
    pub session: Option<Uuid>,
    pub body: Value,
}

/// Issues a handle that no event goes with.
pub async fn issue(pool: &PgPool, handle: &HandleRow) -> Result<(), StoreError> {
    in_time(async {
        let mut conn = pool.acquire().await?;
        issue_handle(&mut conn, handle).await
    })
    .await
}

/// Issues a handle and makes every earlier one of its kind, for the same account or for none,
/// worthless: a newer link replaces an older one.
pub async fn replace(pool: &PgPool, handle: &HandleRow) -> Result<(), StoreError> {
    in_time(async {
        let mut transaction = pool.begin().await?;
        sqlx::query(
            "update access.handle set used_at_ms = $3
              where kind = $1 and account_id is not distinct from $2 and used_at_ms is null",
        )
        .bind(handle.kind)
        .bind(handle.account)
        .bind(handle.at_ms)
        .execute(&mut *transaction)
        .await?;
        issue_handle(&mut transaction, handle).await?;
        transaction.commit().await
    })
    .await
}

/// The handle of a kind behind a hash, while it can be used.
pub async fn open(
    reads: &ReadPool,
    kind: &'static str,
    handle_hash: &[u8; 32],
) -> Result<Option<OpenHandle>, StoreError> {
    let query = || {
        sqlx::query(
            "select account_id, session_row, body from access.handle
              where handle_hash = $1 and kind = $2 and used_at_ms is null
                and expires_at_ms > es.now_ms()",
        )
        .bind(&handle_hash[..])
        .bind(kind)
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    Ok(Some(OpenHandle {
        account: row.try_get("account_id")?,
        session: row.try_get("session_row")?,
        body: row.try_get("body")?,
    }))
}

/// Uses a handle up where no event goes with it. `false`: it was spent already.
pub async fn use_up(pool: &PgPool, handle_hash: &[u8; 32]) -> Result<bool, StoreError> {
    let done = in_time(
        sqlx::query(
            "update access.handle set used_at_ms = es.now_ms()
              where handle_hash = $1 and used_at_ms is null and expires_at_ms > es.now_ms()",
        )
        .bind(&handle_hash[..])
        .execute(pool),
    )
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Forgets what is over for good; how many there were, at most `limit`.
pub async fn sweep(pool: &PgPool, limit: i64) -> Result<u64, StoreError> {
    let done = in_time(
        sqlx::query(
            "delete from access.handle where handle_hash in
                (select handle_hash from access.handle
                  where expires_at_ms < es.now_ms() limit $1)",
        )
        .bind(limit)
        .execute(pool),
    )
    .await?;
    Ok(done.rows_affected())
}
