//! Every connection to the database dies; neither it nor the server does.

use helix::testing::TestApp;
use serde_json::json;

use super::beside::Beside;
use crate::harness::{Client, RUNS};

const END_ALL: &str = "select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_under_way_is_recorded_all_the_same() {
    let app = TestApp::start().await;
    let mut beside = Beside::open(&app).await;
    let client = Client::new(&app, &app.caller("ana").await);
    for number in 0..5 {
        let key = format!("ferry-plan-{number:04}");
        let body = json!({"objective": "List the ferries"});
        let run = client.started(&key, &body).await;
        let gate = app.script.hold_with_receipt(&json!({}));
        let turn = json!({"expected_version": 1, "instruction": "go"});
        let continued = client.continue_run(&run, "ferry-turn-0001", &turn);
        let cut = async {
            app.script.begun(number + 1).await;
            beside.run(END_ALL).await;
            gate.open();
        };
        let (done, ()) = tokio::join!(continued, cut);
        done.ok(200);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_afterwards_notices_nothing() {
    let app = TestApp::start().await;
    let mut beside = Beside::open(&app).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let body = json!({"objective": "List the ferries"});
    let run = client.started("ferry-plan-0001", &body).await;
    for number in 0..5 {
        let reads = (0..8).map(|_| client.inspect(&run));
        for read in futures_util::future::join_all(reads).await {
            read.ok(200);
        }
        beside.run(END_ALL).await;
        client.get(RUNS).await.ok(200);
        let key = format!("ferry-plan-{:04}", 10 + number);
        client.start(&key, &body).await.ok(201);
    }
    app.finish().await;
}
