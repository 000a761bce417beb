//! What an account granted an app, as rows (`access` 2, 3.5).

use sqlx::PgConnection;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub enum GrantChange {
    Give(Box<GrantRow>),
    IssueCode(CodeRow),
    /// Refused as `Full` when the account has more live grants than this with the new one, which may take
    /// the place of some.
    MustHold {
        new: Uuid,
        replaces: bool,
        most: i64,
    },
    Pause {
        row_id: Uuid,
        at_ms: i64,
    },
    Resume {
        row_id: Uuid,
    },
}

#[derive(Debug, Clone)]
pub struct GrantRow {
    pub row_id: Uuid,
    pub account: Uuid,
    pub door: &'static str,
    pub client_id: String,
    pub app_mac: [u8; 32],
    /// The binding that an app at the agent doors acts through.
    pub rests_on: Option<Uuid>,
    pub scopes: Vec<String>,
    pub workspace: Option<Uuid>,
    /// `None`: all projects of the workspace.
    pub reach: Option<Vec<Uuid>>,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub at_ms: i64,
    pub expires_at_ms: i64,
}

#[derive(Debug, Clone)]
pub struct CodeRow {
    pub code_hash: [u8; 32],
    pub row_id: Uuid,
    pub client_id: String,
    pub redirect_uri: String,
    pub challenge: String,
    pub expires_at_ms: i64,
}

pub(super) async fn apply(
    conn: &mut PgConnection,
    change: &GrantChange,
) -> Result<(), sqlx::Error> {
    match change {
        GrantChange::Give(grant) => give(conn, grant).await,
        GrantChange::IssueCode(code) => issue_code(conn, code).await,
        GrantChange::MustHold {
            new,
            replaces,
            most,
        } => sqlx::query("select access.must_hold_grants($1, $2, $3)")
            .bind(new)
            .bind(replaces)
            .bind(most)
            .execute(conn)
            .await
            .map(drop),
        GrantChange::Pause { row_id, at_ms } => sqlx::query(
            "update access.ledger set paused_at_ms = $2
              where row_id = $1 and paused_at_ms is null",
        )
        .bind(row_id)
        .bind(at_ms)
        .execute(conn)
        .await
        .map(drop),
        GrantChange::Resume { row_id } => {
            sqlx::query("update access.ledger set paused_at_ms = null where row_id = $1")
                .bind(row_id)
                .execute(conn)
                .await
                .map(drop)
        }
    }
}

async fn give(conn: &mut PgConnection, grant: &GrantRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.ledger (row_id, kind, door, account_id, created_at_ms, expires_at_ms,
                rests_on, scopes, workspace_id, reach)
         values ($1, 'grant', $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(grant.row_id)
    .bind(grant.door)
    .bind(grant.account)
    .bind(grant.at_ms)
    .bind(grant.expires_at_ms)
    .bind(grant.rests_on)
    .bind(&grant.scopes)
    .bind(grant.workspace)
    .bind(&grant.reach)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "insert into access.oauth_grant
            (row_id, account_id, door, client_id, app_mac, key_id, body, given_at_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(grant.row_id)
    .bind(grant.account)
    .bind(grant.door)
    .bind(&grant.client_id)
    .bind(&grant.app_mac[..])
    .bind(grant.key_id)
    .bind(&grant.body)
    .bind(grant.at_ms)
    .execute(&mut *conn)
    .await?;
    sqlx::query("update access.oauth_client set last_grant_at_ms = $2 where client_id = $1")
        .bind(&grant.client_id)
        .bind(grant.at_ms)
        .execute(conn)
        .await
        .map(drop)
}

async fn issue_code(conn: &mut PgConnection, code: &CodeRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.oauth_code
            (code_hash, row_id, client_id, redirect_uri, challenge, expires_at_ms)
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(&code.code_hash[..])
    .bind(code.row_id)
    .bind(&code.client_id)
    .bind(&code.redirect_uri)
    .bind(&code.challenge)
    .bind(code.expires_at_ms)
    .execute(conn)
    .await
    .map(drop)
}
