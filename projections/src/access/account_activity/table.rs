//! The rows in `access.account_activity`.

use helix_aggregates::access::agent_account::AgentAccount;
use helix_aggregates::agent::run::Run;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::AccountId;
use helix_aggregates::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::fold::{Activity, Turns};
use crate::feed::{FeedEvent, Poison, Upcast, signed, unsigned};
use crate::projector::{Folded, Projection, Rows, Scope};

/// The projection that the engine runs.
#[derive(Debug, Clone, Copy)]
pub struct AccountActivity;

impl Projection for AccountActivity {
    const NAME: &'static str = "account_activity";
    const KINDS: &'static [&'static str] = &[Run::KIND, AgentAccount::KIND];
    type Row = Activity;

    fn fold(row: Option<&Activity>, event: &FeedEvent, upcast: Upcast) -> Result<Activity, Poison> {
        Activity::after(row, event, upcast)
    }

    fn difference(stored: &Activity, folded: &Activity) -> Option<(&'static str, String, String)> {
        let fields = |row: &Activity| {
            [
                ("account_id", row.account.to_string()),
                ("runs_started", row.runs_started.to_string()),
                ("turns_completed", row.turns.completed.to_string()),
                ("turns_waiting", row.turns.waiting.to_string()),
                ("turns_blocked", row.turns.blocked.to_string()),
                ("turns_failed", row.turns.failed.to_string()),
                (
                    "turns_budget_exhausted",
                    row.turns.budget_exhausted.to_string(),
                ),
                ("last_at_ms", row.last.millis().to_string()),
            ]
        };
        let mut pairs = fields(stored).into_iter().zip(fields(folded));
        let ((field, stored), (_, folded)) = pairs.find(|(stored, folded)| stored != folded)?;
        Some((field, stored, folded))
    }

    async fn load(
        conn: &mut PgConnection,
        scope: Scope,
        streams: &[Uuid],
    ) -> Result<Rows<Activity>, sqlx::Error> {
        let rows = sqlx::query(
            "select stream_id, seq, account_id, runs_started, turns_completed, turns_waiting,
                    turns_blocked, turns_failed, turns_budget_exhausted, last_at_ms
               from access.account_activity
              where version = $1 and lane = $2 and stream_id = any ($3)",
        )
        .bind(scope.version)
        .bind(scope.lane)
        .bind(streams)
        .fetch_all(conn)
        .await?;
        rows.iter().map(row_of).collect()
    }

    async fn save(
        conn: &mut PgConnection,
        scope: Scope,
        rows: &Rows<Activity>,
    ) -> Result<(), sqlx::Error> {
        let column = |value: fn(&Activity) -> u64| -> Vec<i64> {
            rows.values()
                .map(|folded| signed(value(&folded.row)))
                .collect()
        };
        sqlx::query(
            "insert into access.account_activity (version, lane, stream_id, seq, account_id, runs_started,
                    turns_completed, turns_waiting, turns_blocked, turns_failed, turns_budget_exhausted,
                    last_at_ms)
             select $1, $2, * from unnest($3::uuid[], $4::bigint[], $5::uuid[], $6::bigint[], $7::bigint[],
                    $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[])
             on conflict (version, lane, stream_id) do update
                set seq = excluded.seq, account_id = excluded.account_id,
                    runs_started = excluded.runs_started, turns_completed = excluded.turns_completed,
                    turns_waiting = excluded.turns_waiting, turns_blocked = excluded.turns_blocked,
                    turns_failed = excluded.turns_failed,
                    turns_budget_exhausted = excluded.turns_budget_exhausted,
                    last_at_ms = excluded.last_at_ms",
        )
        .bind(scope.version)
        .bind(scope.lane)
        .bind(rows.keys().copied().collect::<Vec<Uuid>>())
        .bind(rows.values().map(|folded| signed(folded.seq)).collect::<Vec<i64>>())
        .bind(rows.values().map(|folded| folded.row.account.uuid()).collect::<Vec<Uuid>>())
        .bind(column(|row| row.runs_started))
        .bind(column(|row| row.turns.completed))
        .bind(column(|row| row.turns.waiting))
        .bind(column(|row| row.turns.blocked))
        .bind(column(|row| row.turns.failed))
        .bind(column(|row| row.turns.budget_exhausted))
        .bind(rows.values().map(|folded| folded.row.last.millis()).collect::<Vec<i64>>())
        .execute(conn)
        .await
        .map(drop)
    }

    async fn clear(conn: &mut PgConnection, version: i32) -> Result<(), sqlx::Error> {
        sqlx::query("delete from access.account_activity where version = $1")
            .bind(version)
            .execute(conn)
            .await
            .map(drop)
    }

    async fn strays(
        conn: &mut PgConnection,
        scope: Scope,
        until: u64,
        limit: i64,
    ) -> Result<Vec<Uuid>, sqlx::Error> {
        sqlx::query_scalar(
            "select a.stream_id from access.account_activity a
              where a.version = $1 and a.lane = $2 and not exists
                    (select 1 from es.event e
                      where e.lane = a.lane and e.stream_id = a.stream_id and e.seq = 1 and e.pos <= $3)
              order by a.stream_id limit $4",
        )
        .bind(scope.version)
        .bind(scope.lane)
        .bind(signed(until))
        .bind(limit)
        .fetch_all(conn)
        .await
    }
}

fn row_of(row: &PgRow) -> Result<(Uuid, Folded<Activity>), sqlx::Error> {
    let count = |name| row.try_get::<i64, _>(name).map(unsigned);
    let turns = Turns {
        completed: count("turns_completed")?,
        waiting: count("turns_waiting")?,
        blocked: count("turns_blocked")?,
        failed: count("turns_failed")?,
        budget_exhausted: count("turns_budget_exhausted")?,
    };
    let activity = Activity {
        account: AccountId::new(row.try_get("account_id")?),
        runs_started: count("runs_started")?,
        turns,
        last: Timestamp::from_millis(row.try_get("last_at_ms")?),
    };
    Ok((
        row.try_get("stream_id")?,
        Folded {
            seq: count("seq")?,
            row: activity,
        },
    ))
}
