//! Apps that registered (`access` 3.3).

use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};

use super::StoreError;
use super::patience::in_time;
use super::read_pool::ReadPool;

/// A registration is kept so long without anybody's consent, and after its last grant ended.
const UNUSED_MS: i64 = 7 * 86_400_000;
const ENDED_MS: i64 = 90 * 86_400_000;

#[derive(Debug, Clone)]
pub struct ClientRow {
    pub client_id: String,
    /// `None`: a public client.
    pub secret_hash: Option<[u8; 32]>,
    pub auth_method: String,
    /// Of a public client.
    pub fingerprint: Option<[u8; 32]>,
    /// What the app says of itself, as accepted.
    pub metadata: Value,
    pub registered_at_ms: i64,
}

/// Keeps a registration. A public client that registers with the same words again finds its first
/// row: what is returned counts.
pub async fn register(pool: &PgPool, client: &ClientRow) -> Result<ClientRow, StoreError> {
    let query = sqlx::query(
        "insert into access.oauth_client as t
            (client_id, secret_hash, auth_method, fingerprint, metadata, registered_at_ms)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (fingerprint) do update set fingerprint = excluded.fingerprint
         returning client_id, secret_hash, auth_method, fingerprint, metadata, registered_at_ms",
    )
    .bind(&client.client_id)
    .bind(client.secret_hash.as_ref().map(|hash| &hash[..]))
    .bind(&client.auth_method)
    .bind(client.fingerprint.as_ref().map(|print| &print[..]))
    .bind(&client.metadata)
    .bind(client.registered_at_ms);
    client_of(&in_time(query.fetch_one(pool)).await?)
}

pub async fn find(reads: &ReadPool, client_id: &str) -> Result<Option<ClientRow>, StoreError> {
    let query = || {
        sqlx::query(
            "select client_id, secret_hash, auth_method, fingerprint, metadata, registered_at_ms
               from access.oauth_client where client_id = $1",
        )
        .bind(client_id)
    };
    let row = reads.optional(query).await?;
    row.as_ref().map(client_of).transpose()
}

fn client_of(row: &PgRow) -> Result<ClientRow, StoreError> {
    let hash = |column| -> Result<Option<[u8; 32]>, StoreError> {
        let bytes: Option<Vec<u8>> = row.try_get(column)?;
        let exact = |bytes: Vec<u8>| {
            <[u8; 32]>::try_from(bytes).map_err(|_| {
                StoreError::Damaged("a hash of a client has another length".to_owned())
            })
        };
        bytes.map(exact).transpose()
    };
    Ok(ClientRow {
        client_id: row.try_get("client_id")?,
        secret_hash: hash("secret_hash")?,
        auth_method: row.try_get("auth_method")?,
        fingerprint: hash("fingerprint")?,
        metadata: row.try_get("metadata")?,
        registered_at_ms: row.try_get("registered_at_ms")?,
    })
}

/// Forgets registrations that nobody uses, never one with a live grant; how many, at most `limit`.
pub async fn sweep(pool: &PgPool, limit: i64) -> Result<u64, StoreError> {
    let query = sqlx::query(
        "with clock as (select es.now_ms() as now_ms)
         delete from access.oauth_client where client_id in
            (select c.client_id from access.oauth_client c, clock
              where case when c.last_grant_at_ms is null then c.registered_at_ms < now_ms - $2
                         else not exists
                             (select 1 from access.oauth_grant g
                                join access.ledger l on l.row_id = g.row_id
                               where g.client_id = c.client_id
                                 and least(coalesce(l.revoked_at_ms, l.expires_at_ms), l.expires_at_ms)
                                     > now_ms - $3)
                    end
              limit $1)",
    )
    .bind(limit)
    .bind(UNUSED_MS)
    .bind(ENDED_MS);
    Ok(in_time(query.execute(pool)).await?.rows_affected())
}
