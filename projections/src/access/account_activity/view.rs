//! An account's totals, as the operator's list shows them.

use std::collections::HashMap;

use helix_aggregates::ids::AccountId;
use helix_aggregates::time::Timestamp;
use serde::Serialize;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use crate::feed::unsigned;

/// What an account did. May lag behind the log by a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ActivityView {
    pub runs_started: u64,
    pub turns: TurnsView,
    /// `null` when the account has done nothing and nothing was linked to it.
    pub last_activity_at: Option<Timestamp>,
}

/// Finished turns by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TurnsView {
    pub completed: u64,
    pub waiting: u64,
    pub blocked: u64,
    pub failed: u64,
    pub budget_exhausted: u64,
}

/// The totals of `accounts`; one that did nothing is not in the map.
pub async fn totals(
    pool: &PgPool,
    accounts: &[AccountId],
) -> Result<HashMap<AccountId, ActivityView>, sqlx::Error> {
    let ids: Vec<Uuid> = accounts.iter().map(|account| account.uuid()).collect();
    let rows = sqlx::query(
        "select a.account_id, sum(a.runs_started)::bigint as runs_started,
                sum(a.turns_completed)::bigint as completed, sum(a.turns_waiting)::bigint as waiting,
                sum(a.turns_blocked)::bigint as blocked, sum(a.turns_failed)::bigint as failed,
                sum(a.turns_budget_exhausted)::bigint as budget_exhausted, max(a.last_at_ms) as last_at_ms
           from es.projection_live v
           join access.account_activity a on a.version = v.version
          where v.name = 'account_activity' and a.account_id = any ($1)
          group by a.account_id",
    )
    .bind(ids)
    .fetch_all(pool)
    .await?;
    let mut totals = HashMap::with_capacity(rows.len());
    for row in &rows {
        let count = |name| row.try_get::<i64, _>(name).map(unsigned);
        let turns = TurnsView {
            completed: count("completed")?,
            waiting: count("waiting")?,
            blocked: count("blocked")?,
            failed: count("failed")?,
            budget_exhausted: count("budget_exhausted")?,
        };
        let view = ActivityView {
            runs_started: count("runs_started")?,
            turns,
            last_activity_at: Some(Timestamp::from_millis(row.try_get("last_at_ms")?)),
        };
        totals.insert(AccountId::new(row.try_get("account_id")?), view);
    }
    Ok(totals)
}
