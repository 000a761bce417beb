//! Steps and time: only turns spend steps, and time runs out at the moment that was said.

use std::time::Duration;

use helix::testing::{Script, Setup, TestApp};
use serde_json::{Value, json};

use crate::harness::{Client, RUNS};

async fn started(client: &Client<'_>, key: &str, budget: Value) -> String {
    let body = json!({"objective": "List the ferries", "budget": budget});
    client.started(key, &body).await
}

fn turn(version: u64) -> Value {
    json!({"expected_version": version, "instruction": "go"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_turns_spend_steps_and_the_last_one_ends_the_run() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client, "ferry-plan-0001", json!({"max_steps": 1})).await;
    client
        .continue_run(&run, "ferry-turn-0001", &turn(2))
        .await
        .expect(409, "version_conflict");
    let unknown = json!({"expected_version": 1, "answers": [{"question_id": "q", "value": 1}]});
    client
        .continue_run(&run, "ferry-turn-0002", &unknown)
        .await
        .expect(400, "invalid_request");
    started(&client, "ferry-plan-0001", json!({"max_steps": 1})).await;
    assert_eq!(client.inspect(&run).await.body["budget"]["steps_used"], 0);
    app.script
        .answer(&json!({"evidence_refs": ["evidence:test:1"]}));
    let spent = client
        .continue_run(&run, "ferry-turn-0003", &turn(1))
        .await
        .ok(200);
    assert_eq!(spent.statuses(), "failed/budget_exhausted/not_evaluated");
    assert_eq!(
        (spent.version(), &spent.body["budget"]["steps_used"]),
        (3, &json!(1))
    );
    assert!(spent.body["completed_at"].is_null());
    let events = client
        .get(&format!("{RUNS}/{run}/events?after_seq=2"))
        .await
        .ok(200);
    let last = events.body["events"].as_array().unwrap().last().unwrap();
    assert_eq!(last["event_type"], "budget_exhausted");
    let payload = json!({
        "version": 3, "lifecycle_status": "failed", "completion_status": "budget_exhausted",
        "failure_code": null,
    });
    assert_eq!(last["payload"], payload);
    client
        .continue_run(&run, "ferry-turn-0004", &turn(3))
        .await
        .expect(409, "run_not_resumable");
    assert_eq!(app.script.turns(), 1);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_step_may_still_complete_the_run() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client, "ferry-plan-0001", json!({"max_steps": 1})).await;
    app.script.answer(&Script::success());
    let done = client
        .continue_run(&run, "ferry-turn-0001", &turn(1))
        .await
        .ok(200);
    assert_eq!(done.statuses(), "completed/completed/authorized");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_runs_out_at_the_moment_of_expiry_and_not_before() {
    let app = TestApp::start().await;
    app.freeze().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let minute = json!({"expires_in_seconds": 60});
    let early = started(&client, "ferry-plan-0001", minute.clone()).await;
    let late = started(&client, "ferry-plan-0002", minute.clone()).await;
    app.advance(Duration::from_millis(59_999)).await;
    let done = client
        .continue_run(&early, "ferry-turn-0001", &turn(1))
        .await
        .ok(200);
    assert_eq!(done.statuses(), "waiting/needs_more_evidence/not_evaluated");
    app.advance(Duration::from_millis(1)).await;
    // A stale version is reported before the expiry.
    client
        .continue_run(&late, "ferry-turn-0001", &turn(2))
        .await
        .expect(409, "version_conflict");
    let expired = client
        .continue_run(&late, "ferry-turn-0002", &turn(1))
        .await
        .ok(200);
    assert_eq!(expired.statuses(), "failed/failed/blocked");
    assert_eq!(expired.header("etag"), "W/\"agent-run-2\"");
    assert_eq!(
        (expired.version(), &expired.body["budget"]["steps_used"]),
        (2, &json!(0))
    );
    assert_eq!(expired.body["completed_at"], expired.body["updated_at"]);
    let page = client
        .get(&format!("{RUNS}/{late}/events?after_seq=1"))
        .await
        .ok(200);
    let events = page.body["events"].as_array().unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["event_type"], "run_failed");
    let expires_at = &expired.body["budget"]["expires_at"];
    let payload = json!({"version": 2, "failure_code": "run_expired", "expires_at": expires_at});
    assert_eq!(events[0]["payload"], payload);
    let replayed = client
        .continue_run(&late, "ferry-turn-0002", &turn(1))
        .await
        .ok(200);
    assert_eq!(replayed.body, expired.body);
    let again = client
        .continue_run(&late, "ferry-turn-0003", &turn(2))
        .await;
    again.expect(409, "run_not_resumable");
    assert_eq!(app.script.turns(), 1);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_last_step_past_its_expiry_ends_as_expired_and_not_as_exhausted() {
    let app = TestApp::with(Setup {
        settings: vec![("agent_turn_timeout_ms", "30000".to_owned())],
        ..Setup::default()
    })
    .await;
    app.freeze().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let budget = json!({"max_steps": 1, "expires_in_seconds": 110});
    let run = started(&client, "ferry-plan-0001", budget).await;
    let other = started(&client, "ferry-plan-0002", json!({"max_steps": 1})).await;
    let gates = [
        app.script.hold(&Script::success()),
        app.script.hold(&Script::success()),
    ];
    let body = turn(1);
    let (first, second, ()) = tokio::join!(
        client.continue_run(&run, "ferry-turn-0001", &body),
        client.continue_run(&other, "ferry-turn-0001", &body),
        async {
            app.script.begun(2).await;
            // Past turn timeout, grace and the sweeper's own wait: both claims are freed.
            app.advance(Duration::from_millis(120_001)).await;
            app.settle().await;
            gates.iter().for_each(helix::testing::Gate::open);
        }
    );
    first.expect(409, "outcome_unknown");
    second.expect(409, "outcome_unknown");
    for (run, statuses) in [
        (&run, "failed/failed/blocked"),
        (&other, "failed/budget_exhausted/blocked"),
    ] {
        assert_eq!(client.inspect(run).await.statuses(), statuses);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_run_ends_by_itself_within_30_seconds() {
    let app = TestApp::start().await;
    app.freeze().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(
        &client,
        "ferry-plan-0001",
        json!({"expires_in_seconds": 60}),
    )
    .await;
    app.advance(Duration::from_secs(90)).await;
    app.settle().await;
    let seen = client.inspect(&run).await.ok(200);
    assert_eq!(seen.statuses(), "failed/failed/blocked");
    assert_eq!(
        client.event_names(&run).await,
        ["run_started", "run_failed"]
    );
    assert_eq!(
        seen.body["recommended_next_action"],
        json!({"operation": "none", "reason": "run_failed"})
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_meets_the_expiry_fails_the_run_whatever_it_found() {
    let app = TestApp::start().await;
    app.freeze().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let minute = json!({"expires_in_seconds": 60});
    let late = started(&client, "ferry-plan-0001", minute.clone()).await;
    let cut = started(&client, "ferry-plan-0002", minute).await;
    // A perfect result that comes after the moment.
    let gate = app.script.hold(&Script::success());
    let body = turn(1);
    let (failed, ()) = tokio::join!(
        client.continue_run(&late, "ferry-turn-0001", &body),
        async {
            app.script.begun(1).await;
            app.advance(Duration::from_millis(59_500)).await;
            let seen = client.inspect(&late).await.ok(200);
            assert_eq!(seen.body["lifecycle_status"], "running");
            // Half a second is left to a turn that is never answered.
            let _gate = app.script.hold(&Script::success());
            let cut_off = client
                .continue_run(&cut, "ferry-turn-0001", &body)
                .await
                .ok(200);
            check_expired(&client, &cut, &cut_off.body).await;
            app.advance(Duration::from_millis(500)).await;
            gate.open();
        }
    );
    check_expired(&client, &late, &failed.ok(200).body).await;
    app.finish().await;
}

async fn check_expired(client: &Client<'_>, run: &str, body: &Value) {
    let statuses = [
        "lifecycle_status",
        "completion_status",
        "terminal_authority_status",
    ];
    assert_eq!(
        statuses.map(|name| body[name].as_str().unwrap()),
        ["failed", "failed", "blocked"]
    );
    let latest = &body["latest_result"];
    assert_eq!(
        (&latest["failure_code"], &latest["status"]),
        (&json!("run_expired"), &json!(500))
    );
    assert_eq!(
        (&body["version"], &body["budget"]["steps_used"]),
        (&json!(3), &json!(1))
    );
    assert!(body["completed_at"].is_null());
    let page = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
    let last = page.body["events"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    let payload = json!({
        "version": 3, "lifecycle_status": "failed", "completion_status": "failed",
        "failure_code": "run_expired",
    });
    assert_eq!(
        (&last["event_type"], &last["payload"]),
        (&json!("run_failed"), &payload)
    );
}
