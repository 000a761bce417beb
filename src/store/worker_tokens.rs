//! Reading the tokens of external workers (settled question 86).

use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::patience::in_time;
use super::read_pool::ReadPool;

/// The ledger row behind a token's hash, if it lives.
pub async fn live(reads: &ReadPool, hash: &[u8; 32]) -> Result<Option<Uuid>, StoreError> {
    let query = || {
        sqlx::query(
            "select t.row_id from access.worker_token t
               join access.ledger l on l.row_id = t.row_id and l.live
              where t.token_hash = $1",
        )
        .bind(&hash[..])
    };
    let row = reads.optional(query).await?;
    row.map(|row| row.try_get("row_id").map_err(StoreError::from))
        .transpose()
}

/// One line of the list, its name still sealed.
#[derive(Debug, Clone)]
pub struct ListedToken {
    pub row_id: Uuid,
    pub last_four: String,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub issued_at_ms: i64,
    pub last_used_at_ms: Option<i64>,
    pub revoked_at_ms: Option<i64>,
}

/// Tokens, live or revoked, oldest first, at most `limit`.
pub async fn list(pool: &PgPool, limit: i64) -> Result<Vec<ListedToken>, StoreError> {
    let rows = in_time(
        sqlx::query(
            "select t.row_id, t.last_four, t.key_id, t.body, t.issued_at_ms, t.last_used_at_ms,
                    l.revoked_at_ms
               from access.worker_token t join access.ledger l on l.row_id = t.row_id
              order by t.issued_at_ms, t.row_id limit $1",
        )
        .bind(limit)
        .fetch_all(pool),
    )
    .await?;
    let line = |row: &sqlx::postgres::PgRow| {
        Ok(ListedToken {
            row_id: row.try_get("row_id")?,
            last_four: row.try_get("last_four")?,
            key_id: row.try_get("key_id")?,
            body: row.try_get("body")?,
            issued_at_ms: row.try_get("issued_at_ms")?,
            last_used_at_ms: row.try_get("last_used_at_ms")?,
            revoked_at_ms: row.try_get("revoked_at_ms")?,
        })
    };
    rows.iter().map(line).collect()
}

/// The data key of a token.
pub async fn key_id(pool: &PgPool, row_id: Uuid) -> Result<Option<Uuid>, StoreError> {
    in_time(
        sqlx::query_scalar("select key_id from access.worker_token where row_id = $1")
            .bind(row_id)
            .fetch_optional(pool),
    )
    .await
}
