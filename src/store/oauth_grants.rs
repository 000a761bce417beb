//! Grants of the built-in authorization server: where they are kept, and the list of an account
//! (`access` 2).

use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::patience::in_time;
use super::read_pool::ReadPool;

/// Where a grant is kept.
#[derive(Debug, Clone, Copy)]
pub struct GrantPlace {
    pub account: Uuid,
    pub key_id: Uuid,
}

/// A grant, ended or not.
pub async fn place(reads: &ReadPool, grant: Uuid) -> Result<Option<GrantPlace>, StoreError> {
    let query = || {
        sqlx::query("select account_id, key_id from access.oauth_grant where row_id = $1")
            .bind(grant)
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    Ok(Some(GrantPlace {
        account: row.try_get("account_id")?,
        key_id: row.try_get("key_id")?,
    }))
}

/// Earlier grants at the door of `new` to the same app: the same client, or another registration of
/// the same name.
pub async fn earlier(
    pool: &PgPool,
    account: Uuid,
    new: Uuid,
    client_id: &str,
    app_mac: &[u8; 32],
) -> Result<Vec<Uuid>, StoreError> {
    let query = sqlx::query_scalar(
        "select g.row_id from access.oauth_grant g
           join access.ledger l on l.row_id = g.row_id and l.revoked_at_ms is null
           join access.ledger n on n.row_id = $2 and n.workspace_id is not distinct from l.workspace_id
          where g.account_id = $1 and g.row_id <> $2 and g.door = n.door
            and (g.client_id = $3 or g.app_mac = $4)",
    )
    .bind(account)
    .bind(new)
    .bind(client_id)
    .bind(&app_mac[..]);
    in_time(query.fetch_all(pool)).await
}

/// One line of the list, its names still sealed.
#[derive(Debug, Clone)]
pub struct ListedGrant {
    pub row_id: Uuid,
    pub door: String,
    pub scopes: Vec<String>,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub given_at_ms: i64,
    pub expires_at_ms: i64,
    pub last_used_at_ms: Option<i64>,
    pub revoked_at_ms: Option<i64>,
    pub revoked_reason: Option<String>,
    pub paused: bool,
    pub expired: bool,
}

/// Ended grants stay in the list so long.
const SHOWN_MS: i64 = 30 * 86_400_000;

/// Grants of an account: the live ones and those that ended of late, newest first, at most `limit`.
pub async fn list(
    reads: &ReadPool,
    account: Uuid,
    limit: i64,
) -> Result<Vec<ListedGrant>, StoreError> {
    let query = || {
        sqlx::query(
            "select g.row_id, g.door, l.scopes, g.key_id, g.body, g.given_at_ms, l.expires_at_ms,
                    g.last_used_at_ms, l.revoked_at_ms, l.revoked_reason,
                    l.paused_at_ms is not null as paused, l.expires_at_ms <= now_ms as expired
               from access.oauth_grant g
               join (values (es.now_ms())) as clock(now_ms) on true
               join access.ledger l on l.row_id = g.row_id
              where g.account_id = $1
                and least(coalesce(l.revoked_at_ms, l.expires_at_ms), l.expires_at_ms) > now_ms - $3
              order by l.revoked_at_ms is not null, g.given_at_ms desc, g.row_id limit $2",
        )
        .bind(account)
        .bind(limit)
        .bind(SHOWN_MS)
    };
    let rows = reads.all(query).await?;
    let line = |row: &sqlx::postgres::PgRow| {
        Ok(ListedGrant {
            row_id: row.try_get("row_id")?,
            door: row.try_get("door")?,
            scopes: row.try_get("scopes")?,
            key_id: row.try_get("key_id")?,
            body: row.try_get("body")?,
            given_at_ms: row.try_get("given_at_ms")?,
            expires_at_ms: row.try_get("expires_at_ms")?,
            last_used_at_ms: row.try_get("last_used_at_ms")?,
            revoked_at_ms: row.try_get("revoked_at_ms")?,
            revoked_reason: row.try_get("revoked_reason")?,
            paused: row.try_get("paused")?,
            expired: row.try_get("expired")?,
        })
    };
    rows.iter().map(line).collect()
}
