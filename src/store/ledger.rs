//! Changes of the access ledger that ride in the transaction of the event that justifies them
//! (`access` 2).

pub mod grants;
pub mod people;
pub mod work;

use sqlx::PgConnection;
use uuid::Uuid;

use grants::GrantChange;
use people::PeopleChange;
use work::WorkChange;

use super::webhooks::{self, WebhookChange};

/// One row change. Texts arrive sealed or as MACs: nothing here is readable.
#[derive(Debug, Clone)]
pub enum LedgerChange {
    AddDataKey(WrappedKey),
    AddAccount {
        account: Uuid,
        email_mac: [u8; 32],
        account_type: &'static str,
        key_id: Uuid,
        body: Vec<u8>,
        at_ms: i64,
        /// `None`: somebody still has to show that the address is theirs.
        verified_at_ms: Option<i64>,
    },
    LinkProvider {
        provider: String,
        subject_mac: [u8; 32],
        account: Uuid,
        at_ms: i64,
    },
    /// Makes the binding usable; linking the same tuple again revives the same row.
    LinkBinding(BindingRow),
    AddWorkerToken(WorkerTokenRow),
    Revoke {
        row_id: Uuid,
        reason: &'static str,
        at_ms: i64,
    },
    Webhook(WebhookChange),
    People(PeopleChange),
    Grant(GrantChange),
    Work(WorkChange),
}

impl LedgerChange {
    /// The credential that this stops, and the moment of it.
    pub fn stops(&self) -> Option<(Uuid, i64)> {
        match self {
            Self::Revoke { row_id, at_ms, .. }
            | Self::Grant(GrantChange::Pause { row_id, at_ms }) => Some((*row_id, *at_ms)),
            Self::AddDataKey(_)
            | Self::AddAccount { .. }
            | Self::LinkProvider { .. }
            | Self::LinkBinding(_)
            | Self::AddWorkerToken(_)
            | Self::Webhook(_)
            | Self::People(_)
            | Self::Grant(_)
            | Self::Work(_) => None,
        }
    }
}

/// A data key as the database may see it.
#[derive(Debug, Clone)]
pub struct WrappedKey {
    pub key_id: Uuid,
    pub owner: [u8; 32],
    pub bucket: i16,
    pub kek_id: String,
    pub wrapped: Vec<u8>,
    pub at_ms: i64,
}

#[derive(Debug, Clone)]
pub struct BindingRow {
    pub tuple_mac: [u8; 32],
    pub ref_mac: [u8; 32],
    pub stream: Uuid,
    pub row_id: Uuid,
    pub account: Uuid,
    pub provider: String,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub at_ms: i64,
}

#[derive(Debug, Clone)]
pub struct WorkerTokenRow {
    pub token_hash: [u8; 32],
    pub row_id: Uuid,
    pub last_four: String,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub at_ms: i64,
}

/// Applies one change inside the append's transaction.
pub async fn apply(conn: &mut PgConnection, change: &LedgerChange) -> Result<(), sqlx::Error> {
    match change {
        LedgerChange::AddDataKey(key) => add_data_key(conn, key).await,
        LedgerChange::AddAccount { account, email_mac, account_type, key_id, body, at_ms, verified_at_ms } => {
            sqlx::query(
                "insert into access.account
                    (account_id, email_mac, account_type, key_id, body, created_at_ms, verified_at_ms)
                 values ($1, $2, $3, $4, $5, $6, $7)",
            )
            .bind(account)
            .bind(&email_mac[..])
            .bind(*account_type)
            .bind(key_id)
            .bind(body)
            .bind(at_ms)
            .bind(verified_at_ms)
            .execute(conn)
            .await
            .map(drop)
        }
        LedgerChange::LinkProvider { provider, subject_mac, account, at_ms } => sqlx::query(
            "insert into access.linked_provider (provider, subject_mac, account_id, linked_at_ms)
             values ($1, $2, $3, $4) on conflict do nothing",
        )
        .bind(provider)
        .bind(&subject_mac[..])
        .bind(account)
        .bind(at_ms)
        .execute(conn)
        .await
        .map(drop),
        LedgerChange::LinkBinding(binding) => link_binding(conn, binding).await,
        LedgerChange::Webhook(change) => webhooks::apply(conn, change).await,
        LedgerChange::AddWorkerToken(token) => add_worker_token(conn, token).await,
        LedgerChange::People(change) => people::apply(conn, change).await,
        LedgerChange::Grant(change) => grants::apply(conn, change).await,
        LedgerChange::Work(change) => work::apply(conn, change).await,
        LedgerChange::Revoke { row_id, reason, at_ms } => sqlx::query(
            "update access.ledger set revoked_at_ms = $2, revoked_reason = $3
              where row_id = $1 and revoked_at_ms is null",
        )
        .bind(row_id)
        .bind(at_ms)
        .bind(*reason)
        .execute(conn)
        .await
        .map(drop),
    }
}

/// Also used on its own: a data key without a user is harmless.
pub async fn add_data_key(conn: &mut PgConnection, key: &WrappedKey) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into es.data_key (key_id, owner_key, bucket, kek_id, wrapped, created_at_ms)
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(key.key_id)
    .bind(&key.owner[..])
    .bind(key.bucket)
    .bind(&key.kek_id)
    .bind(&key.wrapped)
    .bind(key.at_ms)
    .execute(conn)
    .await
    .map(drop)
}

async fn link_binding(conn: &mut PgConnection, binding: &BindingRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.ledger as t (row_id, kind, door, account_id, created_at_ms)
         values ($1, 'agent_binding', 'agent', $2, $3)
         on conflict (row_id) do update
            set revoked_at_ms = null, revoked_reason = null, account_id = excluded.account_id",
    )
    .bind(binding.row_id)
    .bind(binding.account)
    .bind(binding.at_ms)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "insert into access.agent_binding
            (tuple_mac, ref_mac, stream_id, row_id, account_id, provider, key_id, body, linked_at_ms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (tuple_mac) do update
            set account_id = excluded.account_id, key_id = excluded.key_id, body = excluded.body,
                linked_at_ms = excluded.linked_at_ms",
    )
    .bind(&binding.tuple_mac[..])
    .bind(&binding.ref_mac[..])
    .bind(binding.stream)
    .bind(binding.row_id)
    .bind(binding.account)
    .bind(&binding.provider)
    .bind(binding.key_id)
    .bind(&binding.body)
    .bind(binding.at_ms)
    .execute(conn)
    .await
    .map(drop)
}

async fn add_worker_token(
    conn: &mut PgConnection,
    token: &WorkerTokenRow,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into access.ledger (row_id, kind, door, created_at_ms)
         values ($1, 'worker_token', 'worker', $2)",
    )
    .bind(token.row_id)
    .bind(token.at_ms)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "insert into access.worker_token (token_hash, row_id, last_four, key_id, body, issued_at_ms)
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(&token.token_hash[..])
    .bind(token.row_id)
    .bind(&token.last_four)
    .bind(token.key_id)
    .bind(&token.body)
    .bind(token.at_ms)
    .execute(conn)
    .await
    .map(drop)
}

/// Destroys a key, and with it what was sealed under it.
async fn drop_key(conn: &mut PgConnection, key_id: Uuid, at_ms: i64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update es.data_key set dropped_at_ms = $2, kek_id = null, wrapped = null where key_id = $1",
    )
    .bind(key_id)
    .bind(at_ms)
    .execute(conn)
    .await
    .map(drop)
}
