//! Passphrases, sessions and one-time handles, as rows (`access` 1.2, 3.6).

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub enum PeopleChange {
    /// What a passphrase is checked against. Its text in PHC form is worth guessing at, so it stays
    /// out of `Debug`.
    SetPassphrase {
        account: Uuid,
        phc: SecretString,
        at_ms: i64,
    },
    /// Refused as `PassphraseChanged` unless the passphrase is still the one that was set then.
    HoldPassphrase {
        account: Uuid,
        set_at_ms: i64,
    },
    Verify {
        account: Uuid,
        at_ms: i64,
    },
    OpenSession(SessionRow),
    /// Ends the sessions of an account, but for one.
    EndSessions {
        account: Uuid,
        kept: Option<Uuid>,
        reason: &'static str,
        at_ms: i64,
    },
    KeepRecoveryCodes {
        account: Uuid,
        sheet: u32,
        hashes: Vec<[u8; 32]>,
    },
    /// Refused as `Spent` when it was used.
    UseRecoveryCode {
        code_hash: [u8; 32],
        at_ms: i64,
    },
    /// Everything the account can act through ends, and its key is gone.
    EraseAccount {
        account: Uuid,
        key_id: Uuid,
        at_ms: i64,
    },
    IssueHandle(HandleRow),
    /// Refused as `Spent` unless the handle is unused and not over.
    UseHandle {
        handle_hash: [u8; 32],
        at_ms: i64,
    },
}

#[derive(Debug, Clone)]
pub struct SessionRow {
    pub token_hash: [u8; 32],
    pub row_id: Uuid,
    pub account: Uuid,
    pub at_ms: i64,
    pub expires_at_ms: i64,
}

#[derive(Debug, Clone)]
pub struct HandleRow {
    pub handle_hash: [u8; 32],
    pub kind: &'static str,
    pub account: Option<Uuid>,
    /// The session it is bound to.
    pub session: Option<Uuid>,
    pub body: Value,
    pub at_ms: i64,
    pub expires_at_ms: i64,
}

pub(super) async fn apply(
    conn: &mut PgConnection,
    change: &PeopleChange,
) -> Result<(), sqlx::Error> {
    match change {
        PeopleChange::SetPassphrase { account, phc, at_ms } => sqlx::query(
            "insert into access.passphrase (account_id, phc, set_at_ms) values ($1, $2, $3)
             on conflict (account_id) do update set phc = excluded.phc, set_at_ms = excluded.set_at_ms",
        )
        .bind(account)
        .bind(phc.expose_secret())
        .bind(at_ms)
        .execute(conn)
        .await
        .map(drop),
        PeopleChange::HoldPassphrase { account, set_at_ms } => {
            sqlx::query("select access.hold_passphrase($1, $2)")
                .bind(account)
                .bind(set_at_ms)
                .execute(conn)
                .await
                .map(drop)
        }
        PeopleChange::Verify { account, at_ms } => {
            sqlx::query("update access.account set verified_at_ms = $2 where account_id = $1")
                .bind(account)
                .bind(at_ms)
                .execute(conn)
                .await
                .map(drop)
        }
        PeopleChange::OpenSession(session) => open_session(conn, session).await,
        PeopleChange::EndSessions { account, kept, reason, at_ms } => sqlx::query(
            "update access.ledger set revoked_at_ms = $4, revoked_reason = $3
              where account_id = $1 and kind = 'session' and revoked_at_ms is null
                and row_id is distinct from $2",
        )
        .bind(account)
        .bind(kept)
        .bind(*reason)
        .bind(at_ms)
        .execute(conn)
        .await
        .map(drop),
        PeopleChange::KeepRecoveryCodes { account, sheet, hashes } => {
            keep_codes(conn, *account, *sheet, hashes).await
        }
        PeopleChange::UseRecoveryCode { code_hash, at_ms } => {
            sqlx::query("select access.use_recovery_code($1, $2)")
                .bind(&code_hash[..])
                .bind(at_ms)
                .execute(conn)
                .await
                .map(drop)
        }
        PeopleChange::EraseAccount { account, key_id, at_ms } => {
            erase_account(conn, *account, *key_id, *at_ms).await
        }
        PeopleChange::IssueHandle(handle) => issue_handle(conn, handle).await,
        PeopleChange::UseHandle { handle_hash, at_ms } => {
            sqlx::query("select access.use_handle($1, $2)")
                .bind(&handle_hash[..])
                .bind(at_ms)
                .execute(conn)
                .await
                .map(drop)
        }
    }
}

async fn open_session(conn: &mut PgConnection, session: &SessionRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.ledger (row_id, kind, door, account_id, created_at_ms, expires_at_ms)
         values ($1, 'session', 'account', $2, $3, $4)",
    )
    .bind(session.row_id)
    .bind(session.account)
    .bind(session.at_ms)
    .bind(session.expires_at_ms)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "insert into access.session (token_hash, row_id, account_id, proved_at_ms)
         values ($1, $2, $3, $4)",
    )
    .bind(&session.token_hash[..])
    .bind(session.row_id)
    .bind(session.account)
    .bind(session.at_ms)
    .execute(conn)
    .await
    .map(drop)
}

/// The newest sheet alone is in force, so the codes of older ones go.
async fn keep_codes(
    conn: &mut PgConnection,
    account: Uuid,
    sheet: u32,
    hashes: &[[u8; 32]],
) -> Result<(), sqlx::Error> {
    sqlx::query("delete from access.recovery_code where account_id = $1")
        .bind(account)
        .execute(&mut *conn)
        .await?;
    let hashes: Vec<&[u8]> = hashes.iter().map(|hash| &hash[..]).collect();
    sqlx::query(
        "insert into access.recovery_code (code_hash, account_id, sheet, code)
         select hash, $1, $2, (place - 1)::smallint
           from unnest($3::bytea[]) with ordinality as u(hash, place)",
    )
    .bind(account)
    .bind(i32::try_from(sheet).unwrap_or(i32::MAX))
    .bind(hashes)
    .execute(conn)
    .await
    .map(drop)
}

async fn erase_account(
    conn: &mut PgConnection,
    account: Uuid,
    key_id: Uuid,
    at_ms: i64,
) -> Result<(), sqlx::Error> {
    for statement in [
        "update access.ledger set revoked_at_ms = $2, revoked_reason = 'account_deleted'
          where account_id = $1 and revoked_at_ms is null",
        "update access.handle set used_at_ms = $2 where account_id = $1 and used_at_ms is null",
        "update access.account set deleted_at_ms = $2, email_mac = null, body = '' where account_id = $1",
    ] {
        sqlx::query(statement)
            .bind(account)
            .bind(at_ms)
            .execute(&mut *conn)
            .await?;
    }
    for statement in [
        "delete from access.passphrase where account_id = $1",
        "delete from access.recovery_code where account_id = $1",
        "delete from access.linked_provider where account_id = $1",
    ] {
        sqlx::query(statement)
            .bind(account)
            .execute(&mut *conn)
            .await?;
    }
    super::drop_key(conn, key_id, at_ms).await
}

/// Also used on its own, where no event goes with it.
pub async fn issue_handle(conn: &mut PgConnection, handle: &HandleRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.handle
            (handle_hash, kind, account_id, session_row, body, issued_at_ms, expires_at_ms)
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&handle.handle_hash[..])
    .bind(handle.kind)
    .bind(handle.account)
    .bind(handle.session)
    .bind(&handle.body)
    .bind(handle.at_ms)
    .bind(handle.expires_at_ms)
    .execute(conn)
    .await
    .map(drop)
}
