//! Claims whose clients hang up: no turn is lost to them.

use std::time::Duration;

use helix::testing::TestApp;
use serde_json::json;
use sqlx::{Connection, Executor, PgConnection};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::client::{CLAIM, Worker, app, go, started_bare};
use crate::harness::Client;
use crate::raw;

/// How a client leaves.
#[derive(Debug, Clone, Copy)]
enum Farewell {
    /// It closes its connection.
    Close,
    /// It only says that it will send nothing more.
    Half,
    Reset,
}

const FAREWELLS: [Farewell; 3] = [Farewell::Close, Farewell::Half, Farewell::Reset];

/// Asks for a turn over a connection of its own.
async fn ask(worker: &Worker<'_>) -> TcpStream {
    let body = json!({"worker": "gone", "wait_ms": 25_000}).to_string();
    let mut line = raw::connect(worker.app).await;
    let request = format!(
        "POST {CLAIM} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
        worker.token,
        body.len()
    );
    line.write_all(request.as_bytes()).await.unwrap();
    line
}

/// The connection, if the farewell leaves one.
async fn leave(mut line: TcpStream, farewell: Farewell) -> Option<TcpStream> {
    match farewell {
        Farewell::Close => drop(line),
        Farewell::Half => {
            line.shutdown().await.unwrap();
            return Some(line);
        }
        Farewell::Reset => {
            line.set_zero_linger().unwrap();
            drop(line);
        }
    }
    None
}

async fn database(app: &TestApp) -> PgConnection {
    PgConnection::connect_with(&app.database().options)
        .await
        .unwrap()
}

/// Looks until the answer of `question` is true.
async fn becomes_true(connection: &mut PgConnection, question: &str) {
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    loop {
        tick.tick().await;
        let answer = sqlx::query_scalar::<_, bool>(question).fetch_one(&mut *connection);
        if answer.await.unwrap() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_client_has_left_takes_no_turn() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    for (number, farewell) in FAREWELLS.into_iter().enumerate() {
        let (gone, worker) = (Worker::new(&app).await, Worker::new(&app).await);
        let line = ask(&gone).await;
        let used = format!(
            "select last_used_at_ms is not null from access.worker_token
              where token_hash = sha256('{}'::bytea)",
            gone.token
        );
        becomes_true(&mut database(&app).await, &used).await;
        let left = leave(line, farewell).await;
        let run = started_bare(&client, &format!("ferry-plan-{number:04}")).await;
        let body = go(1);
        let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), async {
            let turn = worker.claim().await;
            assert_eq!(turn.given["attempt"], 1, "{farewell:?}");
            worker.complete(&turn, &json!({})).await.ok(200);
        });
        done.ok(200);
        drop(left);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_taken_for_a_client_that_leaves_in_that_moment_goes_back_as_it_was() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let mut watch = database(&app).await;
    for (number, farewell) in FAREWELLS.into_iter().enumerate() {
        let (gone, worker) = (Worker::new(&app).await, Worker::new(&app).await);
        let run = started_bare(&client, &format!("ferry-plan-{number:04}")).await;
        let body = go(1);
        let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), async {
            let open = "select exists (select 1 from worker.offer where state = 'open')";
            becomes_true(&mut watch, open).await;
            // The statement that takes the turn stands still while its client leaves.
            let mut beside = database(&app).await;
            let mut held = beside.begin().await.unwrap();
            held.execute("select 1 from access.ledger where kind = 'worker_token' for update")
                .await
                .unwrap();
            let line = ask(&gone).await;
            let stands = "select exists (select 1 from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock')";
            becomes_true(&mut watch, stands).await;
            let left = leave(line, farewell).await;
            held.rollback().await.unwrap();
            let turn = worker.claim().await;
            assert_eq!(turn.given["attempt"], 1, "{farewell:?}");
            worker.complete(&turn, &json!({})).await.ok(200);
            drop(left);
        });
        done.ok(200);
    }
    app.finish().await;
}
