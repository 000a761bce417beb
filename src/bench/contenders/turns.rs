//! A unit of the main job: over HTTP with everything a caller is owed, and as bare SQL.

use std::sync::Arc;

use sqlx::PgPool;
use uuid::Uuid;

use super::super::BenchError;
use super::super::ground::Ground;
use super::super::service::Service;
use super::super::slice::Work;
use super::NOTE;
use crate::ids::Ids;

/// Start, one turn and the events, by an authenticated caller.
pub struct HttpTurns(pub Arc<Service>);

impl Work for HttpTurns {
    type Hand = ();

    fn hand(&self, _number: usize) {}

    async fn once(&self, (): &mut ()) -> Result<(), BenchError> {
        self.0.unit().await
    }
}

/// Start and one turn over REST.
pub struct RestTurns(pub Arc<Service>);

impl Work for RestTurns {
    type Hand = ();

    fn hand(&self, _number: usize) {}

    async fn once(&self, (): &mut ()) -> Result<(), BenchError> {
        self.0.rest_turn().await.map(drop)
    }
}

/// The same by tool.
pub struct McpTurns(pub Arc<Service>);

impl Work for McpTurns {
    type Hand = ();

    fn hand(&self, _number: usize) {}

    async fn once(&self, (): &mut ()) -> Result<(), BenchError> {
        self.0.mcp_turn().await
    }
}

/// The tables that the bare commits write.
pub const RAW_TABLES: &str = "
create table raw_run (run_id uuid primary key, version bigint not null, body bytea not null);
create table raw_event (run_id uuid, seq bigint, payload bytea not null, primary key (run_id, seq));
create table raw_receipt (receipt_id uuid primary key, state text not null, body bytea)";

const START: &str = "with run as (insert into raw_run values ($1, 1, $3)),
    receipt as (insert into raw_receipt values ($2, 'completed', $3))
    insert into raw_event values ($1, 1, $3)";

const CLAIM: &str =
    "with run as (update raw_run set version = 2 where run_id = $1 and version = 1),
    receipt as (insert into raw_receipt values ($2, 'processing', null))
    insert into raw_event values ($1, 2, $3)";

const FINISH: &str =
    "with run as (update raw_run set version = 3, body = $3 where run_id = $1 and version = 2),
    receipt as (update raw_receipt set state = 'completed', body = $3 where receipt_id = $2)
    insert into raw_event select $1, seq, $3 from generate_series(3, 4) as seq";

/// The same three commits and two reads, each one statement on a connection of its own.
pub struct RawTurns {
    pool: PgPool,
    ids: Ids,
}

impl RawTurns {
    pub fn new(ground: &Ground) -> Self {
        Self {
            pool: ground.raw.clone(),
            ids: ground.core.ids,
        }
    }

    async fn commit(&self, sql: &str, run: Uuid, receipt: Uuid) -> Result<(), BenchError> {
        sqlx::query(sql)
            .bind(run)
            .bind(receipt)
            .bind(NOTE.as_bytes())
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

impl Work for RawTurns {
    type Hand = ();

    fn hand(&self, _number: usize) {}

    async fn once(&self, (): &mut ()) -> Result<(), BenchError> {
        let (run, start, turn) = (self.ids.uuid(), self.ids.uuid(), self.ids.uuid());
        self.commit(START, run, start).await?;
        sqlx::query("select version, body from raw_run where run_id = $1")
            .bind(run)
            .fetch_one(&self.pool)
            .await?;
        self.commit(CLAIM, run, turn).await?;
        self.commit(FINISH, run, turn).await?;
        let events = sqlx::query(
            "select seq, payload from raw_event where run_id = $1 and seq > 0 order by seq limit 100",
        )
        .bind(run)
        .fetch_all(&self.pool)
        .await?;
        if events.len() == 4 {
            Ok(())
        } else {
            Err(BenchError::NothingDone)
        }
    }
}
