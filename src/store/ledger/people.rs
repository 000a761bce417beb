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
