//! What a test does in the database behind the servers' backs.

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
