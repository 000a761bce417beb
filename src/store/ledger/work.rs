//! Workspaces, their members, projects and named tokens, as rows (`access` 2, 6, 8).

use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::owner::{Lane, OwnerKey};

#[derive(Debug, Clone)]
pub enum WorkChange {
    /// Refused as `Revoked` unless the caller may do it now; see [`MustWork`].
    MustWork(MustWork),
    /// Refused as `Revoked` unless the account is a member now.
    MustBeMember {
        workspace: Uuid,
        account: Uuid,
    },
    /// Refused as `Full` when the owner has more streams of the kind than this.
    MustHoldStreams {
        kind: &'static str,
        lane: Lane,
        owner: OwnerKey,
        /// Only those in one of these states count.
        states: Option<&'static [&'static str]>,
        most: i64,
    },
    /// Refused as `Full` when the workspace has more live tokens than this.
    MustHoldTokens {
        workspace: Uuid,
        most: i64,
    },
    Open {
        workspace: Uuid,
        key_id: Uuid,
        at_ms: i64,
    },
    /// Adds a member, or gives one another role.
    Join {
        workspace: Uuid,
        account: Uuid,
        role: &'static str,
        at_ms: i64,
    },
    /// Takes a member out; their grants there die with it.
    Leave {
        workspace: Uuid,
        account: Uuid,
        at_ms: i64,
    },
    /// Ends a workspace: nobody is in it, nothing opens it, and what was sealed in it is gone.
    Delete {
        workspace: Uuid,
        key_id: Uuid,
        at_ms: i64,
    },
    AddProject {
        project: Uuid,
        workspace: Uuid,
        at_ms: i64,
    },
    MintToken(Box<NamedTokenRow>),
    /// A token dies at `until_ms` unless it dies before.
    RetireToken {
        row_id: Uuid,
        until_ms: i64,
    },
    ExposeToken {
        row_id: Uuid,
        at_ms: i64,
    },
}

/// What a change by a caller rests on until it is committed.
#[derive(Debug, Clone)]
pub struct MustWork {
    pub row_id: Uuid,
    pub workspace: Uuid,
    /// It must be active.
    pub project: Option<Uuid>,
    /// One of which a member must have.
    pub roles: Option<Vec<String>>,
}

#[derive(Debug, Clone)]
pub struct NamedTokenRow {
    pub token_hash: [u8; 32],
    pub row_id: Uuid,
    pub workspace: Uuid,
    /// The first token of its line.
    pub line: Uuid,
    pub last_four: String,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    /// `None`: the operator.
    pub made_by: Option<Uuid>,
    pub scopes: Vec<String>,
    /// `None`: all projects of the workspace.
    pub reach: Option<Vec<Uuid>>,
    pub at_ms: i64,
    pub expires_at_ms: i64,
}

pub(super) async fn apply(conn: &mut PgConnection, change: &WorkChange) -> Result<(), sqlx::Error> {
    match change {
        WorkChange::MustWork(must) => must_work(conn, must).await,
        WorkChange::MustBeMember { workspace, account } => {
            sqlx::query("select access.must_be_member($1, $2)")
                .bind(workspace)
                .bind(account)
                .execute(conn)
                .await
                .map(drop)
        }
        WorkChange::MustHoldStreams {
            kind,
            lane,
            owner,
            states,
            most,
        } => sqlx::query("select access.must_hold_streams($1, $2, $3, $4, $5)")
            .bind(kind)
            .bind(lane.number())
            .bind(&owner.as_bytes()[..])
            .bind(states)
            .bind(most)
            .execute(conn)
            .await
            .map(drop),
        WorkChange::MustHoldTokens { workspace, most } => {
            sqlx::query("select access.must_hold_tokens($1, $2)")
                .bind(workspace)
                .bind(most)
                .execute(conn)
                .await
                .map(drop)
        }
        WorkChange::Open {
            workspace,
            key_id,
            at_ms,
        } => sqlx::query(
            "insert into access.workspace (workspace_id, key_id, opened_at_ms) values ($1, $2, $3)",
        )
        .bind(workspace)
        .bind(key_id)
        .bind(at_ms)
        .execute(conn)
        .await
        .map(drop),
        WorkChange::Join {
            workspace,
            account,
            role,
            at_ms,
        } => join(conn, *workspace, *account, (role, *at_ms)).await,
        WorkChange::Leave {
            workspace,
            account,
            at_ms,
        } => leave(conn, *workspace, *account, *at_ms).await,
        WorkChange::Delete {
            workspace,
            key_id,
            at_ms,
        } => delete(conn, *workspace, *key_id, *at_ms).await,
        WorkChange::AddProject {
            project,
            workspace,
            at_ms,
        } => sqlx::query(
            "insert into access.project (project_id, workspace_id, created_at_ms) values ($1, $2, $3)",
        )
        .bind(project)
        .bind(workspace)
        .bind(at_ms)
        .execute(conn)
        .await
        .map(drop),
        WorkChange::MintToken(token) => mint(conn, token).await,
        WorkChange::RetireToken { row_id, until_ms } => sqlx::query(
            "update access.ledger set expires_at_ms = least(expires_at_ms, $2) where row_id = $1",
        )
        .bind(row_id)
        .bind(until_ms)
        .execute(conn)
        .await
        .map(drop),
        WorkChange::ExposeToken { row_id, at_ms } => sqlx::query(
            "update access.named_token set exposed_at_ms = $2
              where row_id = $1 and exposed_at_ms is null",
        )
        .bind(row_id)
        .bind(at_ms)
        .execute(conn)
        .await
        .map(drop),
    }
}

async fn must_work(conn: &mut PgConnection, must: &MustWork) -> Result<(), sqlx::Error> {
    sqlx::query("select access.must_work($1, $2, $3, $4)")
        .bind(must.row_id)
        .bind(must.workspace)
        .bind(must.project)
        .bind(&must.roles)
        .execute(conn)
        .await
        .map(drop)
}

async fn join(
    conn: &mut PgConnection,
    workspace: Uuid,
    account: Uuid,
    (role, at_ms): (&'static str, i64),
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.membership (workspace_id, account_id, role, joined_at_ms)
         values ($1, $2, $3, $4)
         on conflict (workspace_id, account_id) do update set role = excluded.role",
    )
    .bind(workspace)
    .bind(account)
    .bind(role)
    .bind(at_ms)
    .execute(conn)
    .await
    .map(drop)
}

async fn leave(
    conn: &mut PgConnection,
    workspace: Uuid,
    account: Uuid,
    at_ms: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query("delete from access.membership where workspace_id = $1 and account_id = $2")
        .bind(workspace)
        .bind(account)
        .execute(&mut *conn)
        .await?;
    // Who comes back later does not find their old apps at work again.
    sqlx::query(
        "update access.ledger set revoked_at_ms = $3, revoked_reason = 'member_left'
          where workspace_id = $1 and account_id = $2 and kind = 'grant' and revoked_at_ms is null",
    )
    .bind(workspace)
    .bind(account)
    .bind(at_ms)
    .execute(conn)
    .await
    .map(drop)
}

async fn delete(
    conn: &mut PgConnection,
    workspace: Uuid,
    key_id: Uuid,
    at_ms: i64,
) -> Result<(), sqlx::Error> {
    for statement in [
        "update access.workspace set deleted_at_ms = $2 where workspace_id = $1 and deleted_at_ms is null",
        "update access.ledger set revoked_at_ms = $2, revoked_reason = 'workspace_deleted'
          where workspace_id = $1 and revoked_at_ms is null",
    ] {
        sqlx::query(statement)
            .bind(workspace)
            .bind(at_ms)
            .execute(&mut *conn)
            .await?;
    }
    sqlx::query("delete from access.membership where workspace_id = $1")
        .bind(workspace)
        .execute(&mut *conn)
        .await?;
    super::drop_key(conn, key_id, at_ms).await
}

async fn mint(conn: &mut PgConnection, token: &NamedTokenRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.ledger
            (row_id, kind, door, created_at_ms, expires_at_ms, scopes, workspace_id, reach)
         values ($1, 'named_token', 'workspace', $2, $3, $4, $5, $6)",
    )
    .bind(token.row_id)
    .bind(token.at_ms)
    .bind(token.expires_at_ms)
    .bind(&token.scopes)
    .bind(token.workspace)
    .bind(&token.reach)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "insert into access.named_token
            (token_hash, row_id, workspace_id, line_id, last_four, key_id, body, made_by, minted_at_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(&token.token_hash[..])
    .bind(token.row_id)
    .bind(token.workspace)
    .bind(token.line)
    .bind(&token.last_four)
    .bind(token.key_id)
    .bind(&token.body)
    .bind(token.made_by)
    .bind(token.at_ms)
    .execute(conn)
    .await
    .map(drop)
}
