//! Reading who may sign in, and who has (`access` 2, 3.6).

use std::collections::HashMap;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::StoreError;
use super::patience::in_time;
use super::read_pool::ReadPool;
use super::uses::NOTE_EVERY_MS;

/// What a sign-in is judged by.
#[derive(Debug, Clone)]
pub struct SignInRow {
    pub account: Uuid,
    pub key_id: Uuid,
    pub phc: SecretString,
    pub set_at_ms: i64,
    pub verified: bool,
}

/// The living account of an address that has a passphrase.
pub async fn by_email(
    reads: &ReadPool,
    email_mac: &[u8; 32],
) -> Result<Option<SignInRow>, StoreError> {
    let query = || {
        sqlx::query(
            "select a.account_id, a.key_id, a.verified_at_ms is not null as verified, p.phc, p.set_at_ms
               from access.account a join access.passphrase p on p.account_id = a.account_id
              where a.email_mac = $1 and a.deleted_at_ms is null",
        )
        .bind(&email_mac[..])
    };
    let row = reads.optional(query).await?;
    row.as_ref().map(sign_in_row).transpose()
}

/// The same, of an account that is known.
pub async fn by_account(reads: &ReadPool, account: Uuid) -> Result<Option<SignInRow>, StoreError> {
    let query = || {
        sqlx::query(
            "select a.account_id, a.key_id, a.verified_at_ms is not null as verified, p.phc, p.set_at_ms
               from access.account a join access.passphrase p on p.account_id = a.account_id
              where a.account_id = $1 and a.deleted_at_ms is null",
        )
        .bind(account)
    };
    let row = reads.optional(query).await?;
    row.as_ref().map(sign_in_row).transpose()
}

fn sign_in_row(row: &PgRow) -> Result<SignInRow, StoreError> {
    Ok(SignInRow {
        account: row.try_get("account_id")?,
        key_id: row.try_get("key_id")?,
        phc: SecretString::from(row.try_get::<String, _>("phc")?),
        set_at_ms: row.try_get("set_at_ms")?,
        verified: row.try_get("verified")?,
    })
}

/// A session that may act, with its account.
#[derive(Debug, Clone)]
pub struct LiveSession {
    pub row_id: Uuid,
    pub account: Uuid,
    pub key_id: Uuid,
    /// The sealed address and name.
    pub body: Vec<u8>,
    /// When its passphrase was last entered.
    pub proved_at_ms: i64,
    pub now_ms: i64,
    /// Its use was not noted for a while.
    pub stale: bool,
}

/// The session behind the hash of a cookie's text, if it lives.
pub async fn session(
    reads: &ReadPool,
    token_hash: &[u8; 32],
) -> Result<Option<LiveSession>, StoreError> {
    let query = || {
        sqlx::query(
            "select s.row_id, s.account_id, a.key_id, a.body, s.proved_at_ms, now_ms,
                    s.last_used_at_ms is null or s.last_used_at_ms < now_ms - $2 as stale
               from access.session s
               join (values (es.now_ms())) as clock(now_ms) on true
               join access.ledger l on l.row_id = s.row_id and l.live and l.expires_at_ms > now_ms
               join access.account a on a.account_id = s.account_id and a.deleted_at_ms is null
              where s.token_hash = $1",
        )
        .bind(&token_hash[..])
        .bind(NOTE_EVERY_MS)
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    Ok(Some(LiveSession {
        row_id: row.try_get("row_id")?,
        account: row.try_get("account_id")?,
        key_id: row.try_get("key_id")?,
        body: row.try_get("body")?,
        proved_at_ms: row.try_get("proved_at_ms")?,
        now_ms: row.try_get("now_ms")?,
        stale: row.try_get("stale")?,
    }))
}

/// When the live sessions of an account were last used, as far as it was noted.
pub async fn last_uses(reads: &ReadPool, account: Uuid) -> Result<HashMap<Uuid, i64>, StoreError> {
    let query = || {
        sqlx::query(
            "select s.row_id, s.last_used_at_ms from access.session s
               join access.ledger l on l.row_id = s.row_id and l.live
              where s.account_id = $1 and s.last_used_at_ms is not null",
        )
        .bind(account)
    };
    let rows = reads.all(query).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("row_id")?, row.try_get("last_used_at_ms")?)))
        .collect()
}

/// Notes that the passphrase was entered again in a session.
pub async fn note_proof(pool: &PgPool, row_id: Uuid, at_ms: i64) -> Result<(), StoreError> {
    in_time(
        sqlx::query("update access.session set proved_at_ms = $2 where row_id = $1")
            .bind(row_id)
            .bind(at_ms)
            .execute(pool),
    )
    .await
    .map(drop)
}

/// Whether any account can sign in: a server without one waits for its owner.
pub async fn anybody(pool: &PgPool) -> Result<bool, StoreError> {
    in_time(
        sqlx::query_scalar(
            "select exists (select 1 from access.passphrase p
                              join access.account a using (account_id)
                             where a.deleted_at_ms is null)",
        )
        .fetch_one(pool),
    )
    .await
}

/// Replaces the hash of a passphrase by a costlier one of the same, unless it has changed meanwhile.
pub async fn rehash(
    pool: &PgPool,
    account: Uuid,
    was: &SecretString,
    phc: &SecretString,
) -> Result<(), StoreError> {
    in_time(
        sqlx::query("update access.passphrase set phc = $3 where account_id = $1 and phc = $2")
            .bind(account)
            .bind(was.expose_secret())
            .bind(phc.expose_secret())
            .execute(pool),
    )
    .await
    .map(drop)
}

/// A recovery code that was not used.
#[derive(Debug, Clone, Copy)]
pub struct RecoveryCodePlace {
    pub sheet: u32,
    pub code: u8,
}

pub async fn recovery_code(
    reads: &ReadPool,
    code_hash: &[u8; 32],
) -> Result<Option<RecoveryCodePlace>, StoreError> {
    let query = || {
        sqlx::query(
            "select sheet, code from access.recovery_code where code_hash = $1 and used_at_ms is null",
        )
        .bind(&code_hash[..])
    };
    let Some(row) = reads.optional(query).await? else {
        return Ok(None);
    };
    let (sheet, code): (i32, i16) = (row.try_get("sheet")?, row.try_get("code")?);
    Ok(Some(RecoveryCodePlace {
        sheet: u32::try_from(sheet).unwrap_or(0),
        code: u8::try_from(code).unwrap_or(u8::MAX),
    }))
}

/// Whether an account has a recovery code left.
pub async fn has_recovery_codes(reads: &ReadPool, account: Uuid) -> Result<bool, StoreError> {
    let query = || {
        sqlx::query(
            "select exists (select 1 from access.recovery_code
                             where account_id = $1 and used_at_ms is null) as found",
        )
        .bind(account)
    };
    Ok(reads.one(query).await?.try_get("found")?)
}
