use std::time::Duration;

use helix::testing::{Script, TestApp};
use helix_aggregates::time::Timestamp;
use serde_json::json;

use super::beside::Beside;
use crate::harness::{Client, RUNS};

const HOUR: Duration = Duration::from_secs(3_600);

/// The host's clock cannot be moved by a test; the database's can, so the two are set apart: what
/// counts is the database's alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_whose_clock_is_a_day_off_neither_frees_nor_expires_anything() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    app.advance(24 * HOUR).await;
    let started = client
        .start("a-day-ahead", &json!({"objective": "List"}))
        .await
        .ok(201);
    let run = started.run_id();
    let created = Timestamp::parse(started.body["created_at"].as_str().unwrap()).unwrap();
    let host = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let ahead = created.millis() - host;
    assert!(
        (23 * 3_600_000..25 * 3_600_000).contains(&ahead),
        "{ahead} ms"
    );
    let gate = app.script.hold(&Script::success());
    let body = json!({"expected_version": 1, "instruction": "go"});
    let (turn, ()) = tokio::join!(
        client.continue_run(&run, "a-turn-a-day-ahead", &body),
        async {
            app.script.begun(1).await;
            app.settle().await;
            let next = json!({"expected_version": 2, "instruction": "go"});
            let busy = client.continue_run(&run, "no-early-take-over", &next);
            busy.await.expect(409, "run_busy");
            client
                .continue_run(&run, "a-turn-a-day-ahead", &body)
                .await
                .expect(409, "idempotency_in_progress");
            gate.open();
        }
    );
    assert_eq!(turn.ok(200).statuses(), "completed/completed/authorized");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_within_a_run_never_runs_backwards() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let mut beside = Beside::open(&app).await;
    let run = client
        .started("back-and-forth", &json!({"objective": "List"}))
        .await;
    for (turn, hours) in [-1_i64, -2, 0, -1].iter().enumerate() {
        beside
            .run(&format!(
                "update es.clock set offset_ms = {}",
                hours * 3_600_000
            ))
            .await;
        app.advance(Duration::ZERO).await;
        let version = client.inspect(&run).await.version();
        let body = json!({"expected_version": version, "instruction": "go"});
        client
            .at(turn % 2)
            .continue_run(&run, &format!("turn-in-time-{turn}"), &body)
            .await
            .ok(200);
    }
    let page = client
        .get(&format!("{RUNS}/{run}/events?limit=200"))
        .await
        .ok(200);
    let times: Vec<&str> = page.body["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["created_at"].as_str().unwrap())
        .collect();
    assert!(times.len() > 8 && times.is_sorted(), "{times:?}");
    app.finish().await;
}
