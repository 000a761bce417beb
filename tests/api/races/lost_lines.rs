//! Every connection to the database dies; neither it nor the server does.

use helix::testing::TestApp;
use serde_json::json;
use sqlx::{ConnectOptions, Executor, PgConnection};

use crate::harness::{Client, RUNS};

/// A connection beside the database of the servers, from which it can be closed to them.
struct Gatekeeper {
    database: String,
    beside: PgConnection,
}

impl Gatekeeper {
    async fn of(app: &TestApp) -> Self {
        let options = &app.database().options;
        let database = options.get_database().expect("a name").to_owned();
        let beside = options.clone().database("postgres").connect().await;
        Self {
            database,
            beside: beside.unwrap(),
        }
    }

    async fn end_all(&mut self) {
        let end = sqlx::query(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1",
        );
        let ended = end.bind(&self.database).execute(&mut self.beside).await;
        ended.unwrap();
    }

    /// Whether the database lets new connections in: `true` or `false`.
    async fn admit(&mut self, word: &str) {
        let alter = format!(
            "alter database \"{}\" allow_connections {word}",
            self.database
        );
        self.beside.execute(alter.as_str()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_under_way_is_recorded_all_the_same() {
    let app = TestApp::start().await;
    let mut keeper = Gatekeeper::of(&app).await;
    let client = Client::new(&app, &app.caller("ana").await);
    for number in 0..3 {
        let key = format!("ferry-plan-{number:04}");
        let body = json!({"objective": "List the ferries"});
        let run = client.started(&key, &body).await;
        let gate = app.script.hold_with_receipt(&json!({}));
        let turn = json!({"expected_version": 1, "instruction": "go"});
        let continued = client.continue_run(&run, "ferry-turn-0001", &turn);
        let cut = async {
            app.script.begun(number + 1).await;
            keeper.admit("false").await;
            keeper.end_all().await;
            gate.open();
            // By the time others hear of it, the turn's own first try has failed.
            let refused = client.inspect(&run).await;
            keeper.admit("true").await;
            refused
        };
        let (done, refused) = tokio::join!(continued, cut);
        assert_eq!(refused.status, 503, "{}", refused.text);
        done.ok(200);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_afterwards_notices_nothing() {
    let app = TestApp::start().await;
    let mut keeper = Gatekeeper::of(&app).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let body = json!({"objective": "List the ferries"});
    let run = client.started("ferry-plan-0001", &body).await;
    for number in 0..5 {
        let reads = (0..8).map(|_| client.inspect(&run));
        for read in futures_util::future::join_all(reads).await {
            read.ok(200);
        }
        keeper.end_all().await;
        client.get(RUNS).await.ok(200);
        let key = format!("ferry-plan-{:04}", 10 + number);
        client.start(&key, &body).await.ok(201);
    }
    app.finish().await;
}
