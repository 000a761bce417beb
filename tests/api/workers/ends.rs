//! Turns that end under their worker.

use std::time::Duration;

use serde_json::json;

use super::client::{Worker, app, app_with, go, started_bare};
use crate::harness::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_reaches_the_worker_at_its_next_heartbeat_and_then_it_is_fenced() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        let cancel = json!({"expected_version": 2});
        client
            .cancel(&run, "ferry-stop-0001", &cancel)
            .await
            .ok(200);
        let heard = worker.heartbeat(&turn).await.ok(200);
        assert_eq!(heard.body["cancel_requested"], true);
        worker
            .tool(&turn, "docs.search", json!({}))
            .await
            .expect(409, "attempt_fenced");
        worker
            .complete(&turn, &json!({}))
            .await
            .expect(409, "attempt_fenced");
        app.advance(Duration::from_secs(31)).await;
        worker.heartbeat(&turn).await.expect(409, "attempt_fenced");
        worker.try_claim(0).await.ok(204);
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.expect(409, "outcome_unknown");
    let names = client.event_names(&run).await;
    assert_eq!(
        names,
        ["run_started", "continuation_received", "run_cancelled"]
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_whose_credential_is_revoked_is_taken_from_its_worker() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        app.unlink(&ana).await;
        let heard = worker.heartbeat(&turn).await.ok(200);
        assert_eq!(heard.body["cancel_requested"], true);
        worker.beat_until_stopped(&turn).await;
        let late = worker.complete(&turn, &json!({})).await;
        assert_eq!((late.status, late.code()), (409, "attempt_fenced"));
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.expect(403, "account_not_linked");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_that_comes_after_the_deadline_changes_nothing() {
    let app = app_with(&[("agent_turn_timeout_ms", "1000")]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let (done, turn) = tokio::join!(
        client.continue_run(&run, "ferry-turn-0001", &body),
        worker.claim()
    );
    let done = done.ok(200);
    assert_eq!(
        done.body["latest_result"]["failure_code"],
        "helix_ask_timeout"
    );
    worker.beat_until_stopped(&turn).await;
    worker
        .complete(&turn, &json!({}))
        .await
        .expect(409, "attempt_fenced");
    let events = client.event_names(&run).await;
    app.settle().await;
    assert_eq!(client.inspect(&run).await.body, done.body);
    assert_eq!(client.event_names(&run).await, events);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_expires_under_its_worker_tells_it_so() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let brief = json!({"objective": "List", "budget": {"expires_in_seconds": 60}});
    let run = client.started("ferry-plan-0001", &brief).await;
    // A second is left when the turn begins.
    app.advance(Duration::from_secs(59)).await;
    let body = go(1);
    let (done, turn) = tokio::join!(
        client.continue_run(&run, "ferry-turn-0001", &body),
        worker.claim()
    );
    let done = done.ok(200);
    assert_eq!(done.body["latest_result"]["failure_code"], "run_expired");
    worker.beat_until_stopped(&turn).await;
    worker
        .complete(&turn, &json!({}))
        .await
        .expect(409, "attempt_fenced");
    app.finish().await;
}
