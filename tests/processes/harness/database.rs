//! What a test sees and does behind the servers' backs: gates in the middle of a transaction, the
//! database's clock, and the rules that hold after any history.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor, PgConnection};

use super::until;

/// Names the lock that gates wait for.
const GATE: i64 = 4_242;
const LIMIT: Duration = Duration::from_secs(30);

/// An owner's connection beside the servers.
pub struct Beside {
    conn: PgConnection,
}

impl Beside {
    pub async fn open(options: PgConnectOptions) -> Self {
        Self {
            conn: options.connect().await.unwrap(),
        }
    }

    /// Transactions that write an event of these kinds stop before it, their lane already taken,
    /// until the gate is opened.
    pub async fn close_gate(&mut self, kinds: &str) {
        let statement = format!(
            "create or replace function public.gate() returns trigger language plpgsql as
               $$ begin perform pg_advisory_xact_lock_shared({GATE}); return new; end $$;
             drop trigger if exists gate on es.event;
             create trigger gate before insert on es.event for each row
               when (new.kind = any ('{{{kinds}}}')) execute function public.gate();
             select pg_advisory_lock({GATE});"
        );
        self.run(&statement).await;
    }

    pub async fn open_gate(&mut self) {
        self.run(&format!("select pg_advisory_unlock({GATE})"))
            .await;
    }

    /// Waits until a transaction stands at the gate.
    pub async fn held(&mut self) {
        self.waiting("wait_event = 'advisory'", 1).await;
    }

    /// Waits until so many backends wait for a lock as described.
    pub async fn waiting(&mut self, how: &str, count: i64) {
        let query = format!(
            "select count(*) from pg_stat_activity
              where datname = current_database() and wait_event_type = 'Lock' and {how}"
        );
        until(&query, LIMIT, async || {
            (self.number(&query).await >= count).then_some(())
        })
        .await;
    }

    /// Ends what stands at the gate, as the end of its machine would, and opens the gate.
    pub async fn break_gate(&mut self) {
        let query = "select count(pg_terminate_backend(pid)) from pg_stat_activity
              where datname = current_database() and wait_event = 'advisory'";
        assert!(self.number(query).await > 0, "somebody stood at the gate");
        until("the transaction is undone", LIMIT, async || {
            let held = "select count(*) from pg_stat_activity
                where datname = current_database() and wait_event = 'advisory'";
            (self.number(held).await == 0).then_some(())
        })
        .await;
        self.open_gate().await;
    }

    /// Moves the database's clock, which no host's clock follows.
    pub async fn advance(&mut self, span: Duration) {
        let ms = i64::try_from(span.as_millis()).unwrap();
        self.run(&format!("update es.clock set offset_ms = offset_ms + {ms}"))
            .await;
    }

    pub async fn run(&mut self, statements: &str) {
        self.conn.execute(statements).await.unwrap();
    }

    pub async fn number(&mut self, query: &str) -> i64 {
        sqlx::query_scalar(query)
            .fetch_one(&mut self.conn)
            .await
            .unwrap()
    }

    pub async fn runs(&mut self) -> i64 {
        self.number("select count(*) from es.stream where kind = 'run'")
            .await
    }

    /// Sequences without gaps, one event a version, lanes without gaps, and no transaction left
    /// open. Links and views are judged by the commands.
    pub async fn check(mut self) {
        for (what, query) in [
            (
                "streams whose events are not 1 to n",
                "select count(*) from (select 1 from es.event group by lane, stream_id
                   having max(seq) <> count(*) or min(seq) <> 1) as gap",
            ),
            (
                "heads that are not the last event",
                "select count(*) from es.stream s where (s.version, s.head) is distinct from
                   (select (e.seq, e.hash) from es.event e
                     where e.lane = s.lane and e.stream_id = s.stream_id order by seq desc limit 1)",
            ),
            (
                "lanes whose positions are not 1 to n",
                "select count(*) from es.lane l where pos <>
                   (select count(*) from es.event e where e.lane = l.lane)",
            ),
        ] {
            assert_eq!(self.number(query).await, 0, "{what}");
        }
        // Background work has transactions of its own, which end at once.
        let open = "select count(*) from pg_stat_activity
              where datname = current_database() and state like 'idle in transaction%'";
        until("no session is left in a transaction", LIMIT, async || {
            (self.number(open).await == 0).then_some(())
        })
        .await;
        self.conn.close().await.unwrap();
    }
}
