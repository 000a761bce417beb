//! What the commands of an endpoint do to its row, in the transaction of their event.

use sqlx::PgConnection;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub enum WebhookChange {
    Add(WebhookRow),
    /// A new secret in the sealed body.
    Rotate {
        webhook: Uuid,
        generation: i32,
        fingerprint: String,
        body: Vec<u8>,
    },
    /// Withdraws what waits: an endpoint that is enabled again hears of nothing before that.
    Disable {
        webhook: Uuid,
        reason: &'static str,
        at_ms: i64,
    },
    Enable {
        webhook: Uuid,
    },
    Delete {
        webhook: Uuid,
        at_ms: i64,
    },
}

#[derive(Debug, Clone)]
pub struct WebhookRow {
    pub webhook: Uuid,
    pub account: Uuid,
    pub key_id: Uuid,
    pub body: Vec<u8>,
    pub fingerprint: String,
    pub kinds: Vec<String>,
    pub at_ms: i64,
}

/// Where each lane stands now. An event committed later has a greater position, whatever its time.
const LANES_NOW: &str = "(select array_agg(pos order by lane) from es.lane)";

/// Applies one change inside the append's transaction.
pub async fn apply(conn: &mut PgConnection, change: &WebhookChange) -> Result<(), sqlx::Error> {
    match change {
        WebhookChange::Add(row) => add(conn, row).await,
        WebhookChange::Rotate {
            webhook,
            generation,
            fingerprint,
            body,
        } => sqlx::query(
            "update access.webhook set generation = $2, fingerprint = $3, body = $4
              where webhook_id = $1 and deleted_at_ms is null",
        )
        .bind(webhook)
        .bind(generation)
        .bind(fingerprint)
        .bind(body)
        .execute(conn)
        .await
        .map(drop),
        WebhookChange::Disable {
            webhook,
            reason,
            at_ms,
        } => {
            sqlx::query(
                "update access.webhook set disabled_at_ms = $2, disabled_reason = $3
                  where webhook_id = $1",
            )
            .bind(webhook)
            .bind(at_ms)
            .bind(*reason)
            .execute(&mut *conn)
            .await?;
            withdraw(conn, *webhook, *at_ms).await
        }
        WebhookChange::Enable { webhook } => {
            let sql = format!(
                "update access.webhook set disabled_at_ms = null, disabled_reason = null,
                        failures = 0, failing_since_ms = null, rest_until_ms = 0, after_pos = {LANES_NOW}
                  where webhook_id = $1"
            );
            sqlx::query(&sql)
                .bind(webhook)
                .execute(conn)
                .await
                .map(drop)
        }
        WebhookChange::Delete { webhook, at_ms } => {
            sqlx::query(
                "update access.webhook set deleted_at_ms = $2, body = null where webhook_id = $1",
            )
            .bind(webhook)
            .bind(at_ms)
            .execute(&mut *conn)
            .await?;
            withdraw(conn, *webhook, *at_ms).await
        }
    }
}

async fn add(conn: &mut PgConnection, row: &WebhookRow) -> Result<(), sqlx::Error> {
    let sql = format!(
        "insert into access.webhook (webhook_id, account_id, key_id, body, generation, fingerprint,
                kinds, after_pos, created_at_ms)
         values ($1, $2, $3, $4, 1, $5, $6, {LANES_NOW}, $7)"
    );
    sqlx::query(&sql)
        .bind(row.webhook)
        .bind(row.account)
        .bind(row.key_id)
        .bind(&row.body)
        .bind(&row.fingerprint)
        .bind(&row.kinds)
        .bind(row.at_ms)
        .execute(conn)
        .await
        .map(drop)
}

async fn withdraw(conn: &mut PgConnection, webhook: Uuid, at_ms: i64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update access.webhook_delivery set state = 'withdrawn', ended_at_ms = $2
          where webhook_id = $1 and state = 'pending'",
    )
    .bind(webhook)
    .bind(at_ms)
    .execute(conn)
    .await
    .map(drop)
}
