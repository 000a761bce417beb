//! Members of a workspace, and the apps they connected to it.

use sqlx::Row;
use uuid::Uuid;

use super::Asker;
use crate::store::StoreError;
use crate::store::read_pool::ReadPool;

/// Connections that a list shows.
const LISTED: i64 = 1_000;

/// A member's account, its name still sealed.
#[derive(Debug, Clone)]
pub struct KnownAccount {
    pub account: Uuid,
    pub key_id: Uuid,
    pub body: Vec<u8>,
}

/// The accounts of the members, for one who may act there.
pub async fn people(reads: &ReadPool, asker: &Asker) -> Result<Vec<KnownAccount>, StoreError> {
    let query = || {
        sqlx::query(
            "select a.account_id, a.key_id, a.body
               from access.membership m
               join access.account a on a.account_id = m.account_id and a.deleted_at_ms is null
              where m.workspace_id = $2 and access.works_as($1, $2) is not null",
        )
        .bind(asker.row_id)
        .bind(asker.workspace)
    };
    let rows = reads.all(query).await?;
    rows.iter()
        .map(|row| {
            Ok(KnownAccount {
                account: row.try_get("account_id")?,
                key_id: row.try_get("key_id")?,
                body: row.try_get("body")?,
            })
        })
        .collect()
}

/// An app that may act in a workspace, its name still sealed.
#[derive(Debug, Clone)]
pub struct Connection {
    pub row_id: Uuid,
    pub account: Uuid,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub scopes: Vec<String>,
    pub reach: Option<Vec<Uuid>>,
    pub paused: bool,
    pub given_at_ms: i64,
    pub expires_at_ms: i64,
    pub last_used_at_ms: Option<i64>,
}

/// The apps of a workspace, or those of one account, newest first.
pub async fn connections(
    reads: &ReadPool,
    workspace: Uuid,
    account: Option<Uuid>,
) -> Result<Vec<Connection>, StoreError> {
    let query = || {
        sqlx::query(
            "select g.row_id, g.account_id, g.key_id, g.body, l.scopes, l.reach,
                    l.paused_at_ms is not null as paused, g.given_at_ms, l.expires_at_ms,
                    g.last_used_at_ms
               from access.ledger l
               join access.oauth_grant g on g.row_id = l.row_id
              where l.workspace_id = $1 and l.kind = 'grant' and l.revoked_at_ms is null
                and l.expires_at_ms > es.now_ms() and ($2::uuid is null or l.account_id = $2)
              order by g.given_at_ms desc, g.row_id limit $3",
        )
        .bind(workspace)
        .bind(account)
        .bind(LISTED)
    };
    let rows = reads.all(query).await?;
    rows.iter()
        .map(|row| {
            Ok(Connection {
                row_id: row.try_get("row_id")?,
                account: row.try_get("account_id")?,
                key_id: row.try_get("key_id")?,
                body: row.try_get("body")?,
                scopes: row.try_get("scopes")?,
                reach: row.try_get("reach")?,
                paused: row.try_get("paused")?,
                given_at_ms: row.try_get("given_at_ms")?,
                expires_at_ms: row.try_get("expires_at_ms")?,
                last_used_at_ms: row.try_get("last_used_at_ms")?,
            })
        })
        .collect()
}

/// Whose app of a workspace a grant is, ended or not.
pub async fn connection(
    reads: &ReadPool,
    workspace: Uuid,
    grant: Uuid,
) -> Result<Option<Uuid>, StoreError> {
    let query = || {
        sqlx::query(
            "select account_id from access.ledger
              where row_id = $1 and workspace_id = $2 and kind = 'grant'",
        )
        .bind(grant)
        .bind(workspace)
    };
    let row = reads.optional(query).await?;
    row.map(|row| row.try_get("account_id").map_err(StoreError::from))
        .transpose()
}
