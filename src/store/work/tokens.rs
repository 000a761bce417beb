//! Credentials of the workspace door: named tokens, and apps with a grant there.

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::store::StoreError;
use crate::store::read_pool::ReadPool;
use crate::store::uses::NOTE_EVERY_MS;

/// A named token that may act.
#[derive(Debug, Clone)]
pub struct FoundToken {
    pub row_id: Uuid,
    pub workspace: Uuid,
    /// The first token of its line.
    pub line: Uuid,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub scopes: Vec<String>,
    pub reach: Option<Vec<Uuid>>,
    pub expires_at_ms: i64,
    /// Its use was not noted for a while.
    pub stale: bool,
}

pub async fn named_token(
    reads: &ReadPool,
    token_hash: &[u8; 32],
) -> Result<Option<FoundToken>, StoreError> {
    let query = || {
        sqlx::query(
            "select t.row_id, t.workspace_id, t.line_id, t.key_id, t.body, l.scopes, l.reach,
                    l.expires_at_ms,
                    t.last_used_at_ms is null or t.last_used_at_ms < es.now_ms() - $2 as stale
               from access.named_token t
               join access.ledger l on l.row_id = t.row_id
              where t.token_hash = $1 and access.works_as(t.row_id, t.workspace_id) is not null",
        )
        .bind(&token_hash[..])
        .bind(NOTE_EVERY_MS)
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    Ok(Some(FoundToken {
        row_id: row.try_get("row_id")?,
        workspace: row.try_get("workspace_id")?,
        line: row.try_get("line_id")?,
        key_id: row.try_get("key_id")?,
        body: row.try_get("body")?,
        scopes: row.try_get("scopes")?,
        reach: row.try_get("reach")?,
        expires_at_ms: row.try_get("expires_at_ms")?,
        stale: row.try_get("stale")?,
    }))
}

/// An app whose access token was presented.
#[derive(Debug, Clone)]
pub struct FoundApp {
    pub row_id: Uuid,
    pub workspace: Uuid,
    pub account: Uuid,
    /// The first grant of its line: the same app, consented to anew.
    pub line: Uuid,
    /// The key of the account, which seals the app's name.
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub scopes: Vec<String>,
    pub reach: Option<Vec<Uuid>>,
    pub expires_at_ms: i64,
    /// Its owner has switched it off for the time being.
    pub paused: bool,
    /// Its use was not noted for a while.
    pub stale: bool,
}

pub async fn app(reads: &ReadPool, token_hash: &[u8; 32]) -> Result<Option<FoundApp>, StoreError> {
    let query = || {
        sqlx::query(
            "select l.row_id, l.workspace_id, l.account_id, g.key_id, g.body, t.scopes, l.reach,
                    l.expires_at_ms, l.paused_at_ms is not null as paused,
                    g.last_used_at_ms is null or g.last_used_at_ms < now_ms - $2 as stale,
                    (select e.row_id from access.oauth_grant e
                       join access.ledger el on el.row_id = e.row_id
                      where e.account_id = g.account_id and e.app_mac = g.app_mac
                        and el.workspace_id = l.workspace_id
                      order by e.given_at_ms, e.row_id limit 1) as line_id
               from access.access_token t
               join (values (es.now_ms())) as clock(now_ms) on true
               join access.ledger l on l.row_id = t.row_id and l.door = 'workspace'
               join access.oauth_grant g on g.row_id = l.row_id
              where t.token_hash = $1 and t.revoked_at_ms is null and t.expires_at_ms > now_ms
                and l.revoked_at_ms is null and l.expires_at_ms > now_ms
                and (l.paused_at_ms is not null
                     or access.works_as(l.row_id, l.workspace_id) is not null)",
        )
        .bind(&token_hash[..])
        .bind(NOTE_EVERY_MS)
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    Ok(Some(FoundApp {
        row_id: row.try_get("row_id")?,
        workspace: row.try_get("workspace_id")?,
        account: row.try_get("account_id")?,
        line: row.try_get("line_id")?,
        key_id: row.try_get("key_id")?,
        body: row.try_get("body")?,
        scopes: row.try_get("scopes")?,
        reach: row.try_get("reach")?,
        expires_at_ms: row.try_get("expires_at_ms")?,
        paused: row.try_get("paused")?,
        stale: row.try_get("stale")?,
    }))
}

/// One line of the list, its name still sealed.
#[derive(Debug, Clone)]
pub struct ListedToken {
    pub row_id: Uuid,
    pub workspace: Uuid,
    pub last_four: String,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub made_by: Option<Uuid>,
    pub scopes: Vec<String>,
    pub reach: Option<Vec<Uuid>>,
    pub minted_at_ms: i64,
    pub expires_at_ms: i64,
    pub last_used_at_ms: Option<i64>,
    pub revoked_at_ms: Option<i64>,
    pub exposed_at_ms: Option<i64>,
    pub expired: bool,
}

const LISTED: &str =
    "select t.row_id, t.workspace_id, t.last_four, t.key_id, t.body, t.made_by, l.scopes,
            l.reach, t.minted_at_ms, l.expires_at_ms, t.last_used_at_ms, l.revoked_at_ms,
            t.exposed_at_ms, l.expires_at_ms <= now_ms as expired
       from access.named_token t
       join (values (es.now_ms())) as clock(now_ms) on true
       join access.ledger l on l.row_id = t.row_id";
/// Ended tokens stay in the list so long.
const SHOWN_MS: i64 = 365 * 86_400_000;

/// Tokens of a workspace, or of all, newest first, at most `limit`.
pub async fn list(
    reads: &ReadPool,
    workspace: Option<Uuid>,
    limit: i64,
) -> Result<Vec<ListedToken>, StoreError> {
    let sql = format!(
        "{LISTED}
              where ($1::uuid is null or t.workspace_id = $1)
                and least(coalesce(l.revoked_at_ms, l.expires_at_ms), l.expires_at_ms) > now_ms - $3
              order by l.revoked_at_ms is not null, t.minted_at_ms desc, t.row_id limit $2"
    );
    let query = || sqlx::query(&sql).bind(workspace).bind(limit).bind(SHOWN_MS);
    let rows = reads.all(query).await?;
    rows.iter().map(line).collect()
}

/// The live tokens of a workspace that an account made: no more than a workspace can have.
pub async fn made_by(
    reads: &ReadPool,
    workspace: Uuid,
    account: Uuid,
) -> Result<Vec<ListedToken>, StoreError> {
    let sql = format!(
        "{LISTED}
          where t.workspace_id = $1 and t.made_by = $2
            and l.revoked_at_ms is null and l.expires_at_ms > now_ms
          order by t.minted_at_ms desc, t.row_id"
    );
    let query = || sqlx::query(&sql).bind(workspace).bind(account);
    let rows = reads.all(query).await?;
    rows.iter().map(line).collect()
}

fn line(row: &PgRow) -> Result<ListedToken, StoreError> {
    Ok(ListedToken {
        row_id: row.try_get("row_id")?,
        workspace: row.try_get("workspace_id")?,
        last_four: row.try_get("last_four")?,
        key_id: row.try_get("key_id")?,
        body: row.try_get("body")?,
        made_by: row.try_get("made_by")?,
        scopes: row.try_get("scopes")?,
        reach: row.try_get("reach")?,
        minted_at_ms: row.try_get("minted_at_ms")?,
        expires_at_ms: row.try_get("expires_at_ms")?,
        last_used_at_ms: row.try_get("last_used_at_ms")?,
        revoked_at_ms: row.try_get("revoked_at_ms")?,
        exposed_at_ms: row.try_get("exposed_at_ms")?,
        expired: row.try_get("expired")?,
    })
}

/// Where a token is kept.
#[derive(Debug, Clone, Copy)]
pub struct TokenPlace {
    pub row_id: Uuid,
    pub workspace: Uuid,
    pub line: Uuid,
    pub key_id: Uuid,
}

/// A token by its row or by the hash of its text, ended or not.
pub async fn place(
    reads: &ReadPool,
    row_id: Option<Uuid>,
    token_hash: Option<&[u8; 32]>,
) -> Result<Option<TokenPlace>, StoreError> {
    let query = || {
        sqlx::query(
            "select row_id, workspace_id, line_id, key_id from access.named_token
              where row_id = $1 or token_hash = $2",
        )
        .bind(row_id)
        .bind(token_hash.map(|hash| &hash[..]))
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    Ok(Some(TokenPlace {
        row_id: row.try_get("row_id")?,
        workspace: row.try_get("workspace_id")?,
        line: row.try_get("line_id")?,
        key_id: row.try_get("key_id")?,
    }))
}
