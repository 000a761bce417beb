//! Codes, access and refresh tokens: redeemed, rotated, looked up (`access` 3.5).
//!
//! What must stay true: a code or refresh token is used up only by the commit that also stores its
//! successors; all rotations of one grant happen one after another. Deliberately absent: what counts
//! as reuse; the caller judges what is found.

use sqlx::postgres::PgRow;
use sqlx::{PgPool, Postgres, Row, Transaction};
use uuid::Uuid;

use super::StoreError;
use super::patience::in_time;
use super::read_pool::ReadPool;
use super::uses::NOTE_EVERY_MS;

/// The pair that a redemption would store.
#[derive(Debug, Clone)]
pub struct NewPair {
    pub access_hash: [u8; 32],
    pub refresh_hash: [u8; 32],
    pub scopes: Vec<String>,
    pub at_ms: i64,
    pub access_expires_at_ms: i64,
}

/// The grant behind a code or refresh token.
#[derive(Debug, Clone)]
pub struct FoundGrant {
    pub row_id: Uuid,
    pub account: Uuid,
    pub door: String,
    pub client_id: String,
    pub scopes: Vec<String>,
    /// Neither revoked nor expired; a paused one is.
    pub lives: bool,
    pub expires_at_ms: i64,
    pub now_ms: i64,
}

/// A code as it is found.
#[derive(Debug, Clone)]
pub struct FoundCode {
    pub grant: FoundGrant,
    pub redirect_uri: String,
    pub challenge: String,
    pub expires_at_ms: i64,
    pub used_at_ms: Option<i64>,
    /// Wrong attempts so far.
    pub misses: i16,
}

/// What is done with a found code or token.
#[derive(Debug, Clone)]
pub enum Redemption {
    /// Use it up and store the pair.
    Issue(NewPair),
    /// Count a wrong attempt.
    Miss,
    /// Leave everything as it is.
    Leave,
}

/// Looks a code up and does with it what `judge` says, in one transaction. `None`: no such code.
pub async fn redeem<T>(
    pool: &PgPool,
    code_hash: &[u8; 32],
    judge: impl FnOnce(&FoundCode) -> (Redemption, T),
) -> Result<Option<T>, StoreError> {
    in_time(async {
        let mut transaction = pool.begin().await?;
        let Some(row) = sqlx::query(
            "select c.row_id, l.account_id, l.door, c.client_id, l.scopes,
                    l.revoked_at_ms is null and l.expires_at_ms > now_ms as lives, l.expires_at_ms, now_ms,
                    c.redirect_uri, c.challenge, c.expires_at_ms as code_expires_at_ms, c.used_at_ms, c.misses
               from access.oauth_code c
               join (values (es.now_ms())) as clock(now_ms) on true
               join access.ledger l on l.row_id = c.row_id
              where c.code_hash = $1 for update of c for share of l",
        )
        .bind(&code_hash[..])
        .fetch_optional(&mut *transaction)
        .await?
        else {
            return Ok(None);
        };
        let found = FoundCode {
            grant: grant_of(&row)?,
            redirect_uri: row.try_get("redirect_uri")?,
            challenge: row.try_get("challenge")?,
            expires_at_ms: row.try_get("code_expires_at_ms")?,
            used_at_ms: row.try_get("used_at_ms")?,
            misses: row.try_get("misses")?,
        };
        let (redemption, told) = judge(&found);
        match redemption {
            Redemption::Issue(pair) => {
                sqlx::query("update access.oauth_code set used_at_ms = $2 where code_hash = $1")
                    .bind(&code_hash[..])
                    .bind(pair.at_ms)
                    .execute(&mut *transaction)
                    .await?;
                store(&mut transaction, found.grant.row_id, &pair, None).await?;
            }
            Redemption::Miss => {
                sqlx::query("update access.oauth_code set misses = misses + 1 where code_hash = $1")
                    .bind(&code_hash[..])
                    .execute(&mut *transaction)
                    .await?;
            }
            Redemption::Leave => {}
        }
        transaction.commit().await?;
        Ok(Some(told))
    })
    .await
}

/// A refresh token as it is found.
#[derive(Debug, Clone)]
pub struct FoundRefresh {
    pub grant: FoundGrant,
    pub issued_at_ms: i64,
    pub used_at_ms: Option<i64>,
    pub successors: u32,
    pub used_successors: u32,
}

/// Looks a refresh token up and does with it what `judge` says, in one transaction that no other
/// rotation of the grant overlaps. `None`: no such token.
pub async fn rotate<T>(
    pool: &PgPool,
    token_hash: &[u8; 32],
    judge: impl FnOnce(&FoundRefresh) -> (Redemption, T),
) -> Result<Option<T>, StoreError> {
    in_time(async {
        let mut transaction = pool.begin().await?;
        // The grant first: its rotations queue here.
        let grant: Option<Uuid> = sqlx::query_scalar(
            "select row_id from access.oauth_grant
              where row_id = (select row_id from access.refresh_token where token_hash = $1) for update",
        )
        .bind(&token_hash[..])
        .fetch_optional(&mut *transaction)
        .await?;
        if grant.is_none() {
            return Ok(None);
        }
        let row = sqlx::query(
            "select t.row_id, l.account_id, l.door, g.client_id, l.scopes,
                    l.revoked_at_ms is null and l.expires_at_ms > now_ms as lives, l.expires_at_ms, now_ms,
                    t.issued_at_ms, t.used_at_ms,
                    (select count(*) from access.refresh_token s where s.parent_hash = t.token_hash) as successors,
                    (select count(*) from access.refresh_token s
                      where s.parent_hash = t.token_hash and s.used_at_ms is not null) as used_successors
               from access.refresh_token t
               join (values (es.now_ms())) as clock(now_ms) on true
               join access.oauth_grant g on g.row_id = t.row_id
               join access.ledger l on l.row_id = t.row_id
              where t.token_hash = $1 for share of l",
        )
        .bind(&token_hash[..])
        .fetch_one(&mut *transaction)
        .await?;
        let count = |name| -> Result<u32, sqlx::Error> {
            let number: i64 = row.try_get(name)?;
            Ok(u32::try_from(number).unwrap_or(u32::MAX))
        };
        let found = FoundRefresh {
            grant: grant_of(&row)?,
            issued_at_ms: row.try_get("issued_at_ms")?,
            used_at_ms: row.try_get("used_at_ms")?,
            successors: count("successors")?,
            used_successors: count("used_successors")?,
        };
        let (redemption, told) = judge(&found);
        if let Redemption::Issue(pair) = redemption {
            sqlx::query(
                "update access.refresh_token set used_at_ms = $2
                  where token_hash = $1 and used_at_ms is null",
            )
            .bind(&token_hash[..])
            .bind(pair.at_ms)
            .execute(&mut *transaction)
            .await?;
            store(&mut transaction, found.grant.row_id, &pair, Some(token_hash)).await?;
        }
        transaction.commit().await?;
        Ok(Some(told))
    })
    .await
}

async fn store(
    transaction: &mut Transaction<'_, Postgres>,
    grant: Uuid,
    pair: &NewPair,
    parent: Option<&[u8; 32]>,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.access_token (token_hash, row_id, scopes, issued_at_ms, expires_at_ms)
         values ($1, $2, $3, $4, $5)",
    )
    .bind(&pair.access_hash[..])
    .bind(grant)
    .bind(&pair.scopes)
    .bind(pair.at_ms)
    .bind(pair.access_expires_at_ms)
    .execute(&mut **transaction)
    .await?;
    sqlx::query(
        "insert into access.refresh_token (token_hash, row_id, parent_hash, issued_at_ms)
         values ($1, $2, $3, $4)",
    )
    .bind(&pair.refresh_hash[..])
    .bind(grant)
    .bind(parent.map(|hash| &hash[..]))
    .bind(pair.at_ms)
    .execute(&mut **transaction)
    .await
    .map(drop)
}

fn grant_of(row: &PgRow) -> Result<FoundGrant, sqlx::Error> {
    Ok(FoundGrant {
        row_id: row.try_get("row_id")?,
        account: row.try_get("account_id")?,
        door: row.try_get("door")?,
        client_id: row.try_get("client_id")?,
        scopes: row.try_get("scopes")?,
        lives: row.try_get("lives")?,
        expires_at_ms: row.try_get("expires_at_ms")?,
        now_ms: row.try_get("now_ms")?,
    })
}

/// A presented access token, with all that decides whether it opens a door.
#[derive(Debug, Clone)]
pub struct FoundAccess {
    pub row_id: Uuid,
    pub rests_on: Option<Uuid>,
    pub account: Uuid,
    pub account_type: String,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub door: String,
    pub scopes: Vec<String>,
    pub standing: Standing,
    /// Its use was not noted for a while (`access` 2).
    pub stale: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Live,
    /// The token or its grant is over.
    Ended,
    /// Its owner has switched the app off for the time being.
    Paused,
    /// The binding it acts through was withdrawn.
    Unlinked,
}

pub async fn access(
    reads: &ReadPool,
    token_hash: &[u8; 32],
) -> Result<Option<FoundAccess>, StoreError> {
    let query = || {
        sqlx::query(
            "select l.row_id, l.rests_on, l.account_id, l.door, t.scopes, a.account_type, a.key_id, a.body,
                    case when t.revoked_at_ms is not null or t.expires_at_ms <= now_ms
                           or l.revoked_at_ms is not null or l.expires_at_ms <= now_ms then 'ended'
                         when r.revoked_at_ms is not null then 'unlinked'
                         when not l.live or not coalesce(r.live, true) then 'paused'
                         else 'live' end as standing,
                    g.last_used_at_ms is null or g.last_used_at_ms < now_ms - $2 as stale
               from access.access_token t
               join (values (es.now_ms())) as clock(now_ms) on true
               join access.ledger l on l.row_id = t.row_id
               join access.oauth_grant g on g.row_id = t.row_id
               left join access.ledger r on r.row_id = l.rests_on
               join access.account a on a.account_id = l.account_id and a.deleted_at_ms is null
              where t.token_hash = $1",
        )
        .bind(&token_hash[..])
        .bind(NOTE_EVERY_MS)
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    let standing = match row.try_get::<&str, _>("standing")? {
        "live" => Standing::Live,
        "unlinked" => Standing::Unlinked,
        "paused" => Standing::Paused,
        _ => Standing::Ended,
    };
    Ok(Some(FoundAccess {
        row_id: row.try_get("row_id")?,
        rests_on: row.try_get("rests_on")?,
        account: row.try_get("account_id")?,
        account_type: row.try_get("account_type")?,
        key_id: row.try_get("key_id")?,
        body: row.try_get("body")?,
        door: row.try_get("door")?,
        scopes: row.try_get("scopes")?,
        standing,
        stale: row.try_get("stale")?,
    }))
}

/// A token that works, for the app that it was issued to.
#[derive(Debug, Clone)]
pub struct LiveToken {
    pub client_id: String,
    pub door: String,
    pub scopes: Vec<String>,
    pub issued_at_ms: i64,
    pub expires_at_ms: i64,
}

/// The token of a hash, if it works now and its connection is not paused; a refresh token rests
/// `unused_ms` at most.
pub async fn live(
    reads: &ReadPool,
    token_hash: &[u8; 32],
    unused_ms: i64,
) -> Result<Option<LiveToken>, StoreError> {
    let query = || {
        sqlx::query(
            "select g.client_id, l.door, t.scopes, t.issued_at_ms,
                    least(t.ends_at_ms, l.expires_at_ms) as expires_at_ms
               from (select row_id, scopes, issued_at_ms, expires_at_ms as ends_at_ms
                       from access.access_token
                      where token_hash = $1 and revoked_at_ms is null
                     union all
                     select rt.row_id, rl.scopes, rt.issued_at_ms, rt.issued_at_ms + $2
                       from access.refresh_token rt join access.ledger rl on rl.row_id = rt.row_id
                      where rt.token_hash = $1 and rt.used_at_ms is null) t
               join access.ledger l on l.row_id = t.row_id
               join access.oauth_grant g on g.row_id = t.row_id
               left join access.ledger r on r.row_id = l.rests_on
               join access.account a on a.account_id = l.account_id and a.deleted_at_ms is null
              where l.revoked_at_ms is null and l.live
                and r.revoked_at_ms is null and coalesce(r.live, true)
                and least(t.ends_at_ms, l.expires_at_ms) > es.now_ms()",
        )
        .bind(&token_hash[..])
        .bind(unused_ms)
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    Ok(Some(LiveToken {
        client_id: row.try_get("client_id")?,
        door: row.try_get("door")?,
        scopes: row.try_get("scopes")?,
        issued_at_ms: row.try_get("issued_at_ms")?,
        expires_at_ms: row.try_get("expires_at_ms")?,
    }))
}

/// What a token that somebody wants dead is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    Access { client_id: String },
    Refresh { client_id: String, grant: Uuid },
}

/// Whose token a hash is, live or not.
pub async fn held(pool: &PgPool, token_hash: &[u8; 32]) -> Result<Option<Held>, StoreError> {
    let query = sqlx::query(
        "select 'access' as kind, g.client_id, g.row_id
           from access.access_token t join access.oauth_grant g on g.row_id = t.row_id
          where t.token_hash = $1
         union all
         select 'refresh', g.client_id, g.row_id
           from access.refresh_token t join access.oauth_grant g on g.row_id = t.row_id
          where t.token_hash = $1",
    )
    .bind(&token_hash[..]);
    let Some(row) = in_time(query.fetch_optional(pool)).await? else {
        return Ok(None);
    };
    let client_id = row.try_get("client_id")?;
    Ok(Some(match row.try_get::<&str, _>("kind")? {
        "access" => Held::Access { client_id },
        _ => Held::Refresh {
            client_id,
            grant: row.try_get("row_id")?,
        },
    }))
}

/// Ends one access token.
pub async fn revoke_access(pool: &PgPool, token_hash: &[u8; 32]) -> Result<(), StoreError> {
    in_time(
        sqlx::query(
            "update access.access_token set revoked_at_ms = es.now_ms()
              where token_hash = $1 and revoked_at_ms is null",
        )
        .bind(&token_hash[..])
        .execute(pool),
    )
    .await
    .map(drop)
}

/// Access tokens are remembered so long after they expired, and refresh tokens after their grant
/// ended: until then a second use is told from a text that never was.
const EXPIRED_MS: i64 = 86_400_000;
const ENDED_MS: i64 = 30 * 86_400_000;

/// Forgets what is over for good; how many rows, at most `limit` of each kind.
pub async fn sweep(pool: &PgPool, limit: i64) -> Result<u64, StoreError> {
    let mut forgotten = 0;
    for (statement, kept_ms) in [
        (
            "delete from access.oauth_code where code_hash in
                (select code_hash from access.oauth_code
                  where expires_at_ms < es.now_ms() - $2 limit $1)",
            // As long as the grant it began, whose end a replay is.
            ENDED_MS,
        ),
        (
            "delete from access.access_token where token_hash in
                (select token_hash from access.access_token
                  where expires_at_ms < es.now_ms() - $2 limit $1)",
            EXPIRED_MS,
        ),
        // Youngest first, since each names its parent.
        (
            "delete from access.refresh_token where token_hash in
                (select t.token_hash from access.refresh_token t
                   join access.ledger l on l.row_id = t.row_id
                  where least(coalesce(l.revoked_at_ms, l.expires_at_ms), l.expires_at_ms)
                        < es.now_ms() - $2
                    and not exists (select 1 from access.refresh_token s
                                     where s.parent_hash = t.token_hash) limit $1)",
            ENDED_MS,
        ),
    ] {
        let query = sqlx::query(statement).bind(limit).bind(kept_ms);
        forgotten += in_time(query.execute(pool)).await?.rows_affected();
    }
    Ok(forgotten)
}
