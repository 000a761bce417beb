//! What the database holds, counted: a refused request adds nothing.

use helix::testing::TestApp;
use sqlx::{Connection, PgConnection, Row};

/// Rows of the log by table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    pub events: i64,
    pub streams: i64,
    pub receipts: i64,
}

impl Rows {
    pub async fn of(app: &TestApp) -> Self {
        let options = &app.database().options;
        let mut connection = PgConnection::connect_with(options)
            .await
            .expect("a connection");
        let row = sqlx::query(
            "select (select count(*) from es.event) as events,
                    (select count(*) from es.stream) as streams,
                    (select count(*) from es.receipt) as receipts",
        )
        .fetch_one(&mut connection)
        .await
        .expect("counts");
        connection.close().await.expect("an orderly end");
        Self {
            events: row.get("events"),
            streams: row.get("streams"),
            receipts: row.get("receipts"),
        }
    }
}
