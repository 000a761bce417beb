//! What a test does in the database behind the servers' backs.

use std::time::Duration;

use helix::testing::TestApp;
use sqlx::{ConnectOptions, Executor, PgConnection};

/// A connection of the database's owner.
pub struct Beside(PgConnection);

impl Beside {
    pub async fn open(app: &TestApp) -> Self {
        Self(app.database().options.connect().await.unwrap())
    }

    pub async fn run(&mut self, statements: &str) {
        self.0.execute(statements).await.unwrap();
    }

    pub async fn number(&mut self, query: &str) -> i64 {
        sqlx::query_scalar(query)
            .fetch_one(&mut self.0)
            .await
            .unwrap()
    }
}

/// Commands that await their verdict.
pub const APPENDS: &str = "helix_append_queue_depth";
const LIMIT: Duration = Duration::from_secs(15);

/// Waits until a gauge of the first server stands at `count`.
pub async fn stands(app: &TestApp, gauge: &str, count: usize) {
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let line = format!("{gauge} {count}\n");
    let reached = async {
        while !app.metrics(0).await.contains(&line) {
            tick.tick().await;
        }
    };
    tokio::time::timeout(LIMIT, reached)
        .await
        .unwrap_or_else(|_| panic!("{gauge} never stood at {count}"));
}
