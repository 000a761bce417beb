//! What is told, and what is in it.

use std::time::Duration;

use helix::testing::Script;
use serde_json::json;

use super::receiver::{Got, Receiver};
use super::{app, cancelled, started, turn};
use crate::harness::{Answer, Client};

/// What the run door shows of a run is what its endpoint was told last.
#[track_caller]
fn check_told(receiver: &Receiver, seen: &Answer, kind: &str) {
    let got = receiver.got();
    let body = got.last().unwrap().body();
    let data = &body["data"];
    assert_eq!(body["type"], kind);
    for field in [
        "run_id",
        "version",
        "lifecycle_status",
        "completion_status",
        "terminal_authority_status",
    ] {
        assert_eq!(data[field], seen.body[field], "{field}");
    }
    assert_eq!(body["timestamp"], seen.body["updated_at"]);
    assert_eq!(body.as_object().unwrap().len(), 3);
    assert_eq!(data.as_object().unwrap().len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_state_in_which_a_run_rests_is_told_as_the_run_door_shows_it() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    let question =
        json!({"question_id": "q", "prompt": "Which?", "required_fields": [], "options": []});
    let cases = [
        ("run.needs_input", json!({"pending_questions": [question]})),
        (
            "run.conflict_detected",
            json!({"contradictions": ["two times"]}),
        ),
        (
            "run.blocked",
            json!({"ok": false, "status_code": 422, "terminal_authority_status": "blocked"}),
        ),
        ("run.needs_more_evidence", Script::nothing()),
        ("run.completed", Script::success()),
        ("run.failed", json!({"ok": false, "status_code": 500})),
    ];
    for (kind, fields) in &cases {
        let run = started(&client, &format!("start-{kind}")).await;
        turn(&client, &run, 1, fields).await;
        app.settle().await;
        check_told(&receiver, &client.inspect(&run).await, kind);
    }
    let body = json!({"objective": "List", "budget": {"max_steps": 1}});
    let run = client.started("start-budget-exhausted", &body).await;
    turn(&client, &run, 1, &Script::nothing()).await;
    app.settle().await;
    check_told(
        &receiver,
        &client.inspect(&run).await,
        "run.budget_exhausted",
    );
    let run = cancelled(&client, "start-cancelled").await;
    app.settle().await;
    check_told(&receiver, &client.inspect(&run).await, "run.cancelled");
    assert_eq!(receiver.got().len(), 8, "nothing else was told");
    let got = receiver.got();
    let ids: std::collections::BTreeSet<&str> = got.iter().map(Got::id).collect();
    assert_eq!(ids.len(), 8, "each message has its own id");
    for got in &got {
        assert!(got.is_signed_by(&hook), "{got:?}");
        assert_eq!(got.signatures(), 1);
        assert_eq!(got.headers["content-type"], "application/json");
        assert_eq!(got.path, "/in?token=kestrel");
        let seq = got.body()["data"]["seq"].as_u64().unwrap();
        let run = got.body()["data"]["run_id"].as_str().unwrap().to_owned();
        let last = client.event_names(&run).await.len() as u64;
        assert_eq!(seq, last, "the event that ended the step");
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_sweeper_does_is_told_and_a_take_over_is_not() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    app.webhook(&ana, &receiver.url, &[]).await;
    let run = started(&client, "ferry-plan-0001").await;
    let first = app.script.hold(&Script::success());
    let second = app.script.hold(&Script::success());
    let go = |version: u64| json!({"expected_version": version, "instruction": "go"});
    let (one, two) = (client.clone(), client.clone());
    let (body_one, body_two) = (go(1), go(2));
    let (lost, taken, ()) = tokio::join!(
        one.continue_run(&run, "ferry-turn-0001", &body_one),
        async {
            app.script.begun(1).await;
            app.advance(Duration::from_secs(120 + 61)).await;
            two.continue_run(&run, "ferry-turn-0002", &body_two).await
        },
        async {
            app.script.begun(2).await;
            // The turn that took over is given up too, and the sweeper frees the run.
            app.advance(Duration::from_secs(120 + 60 + 31)).await;
            app.settle().await;
            first.open();
            second.open();
        }
    );
    lost.expect(409, "outcome_unknown");
    taken.expect(409, "outcome_unknown");
    app.settle().await;
    assert_eq!(receiver.kinds(), ["run.needs_more_evidence"]);
    check_told(
        &receiver,
        &client.inspect(&run).await,
        "run.needs_more_evidence",
    );
    app.advance(Duration::from_secs(366 * 24 * 3_600)).await;
    app.settle().await;
    assert_eq!(
        receiver.kinds(),
        ["run.needs_more_evidence", "run.failed"],
        "its expiry"
    );
    let told = receiver.got()[1].body();
    assert_eq!(told["data"]["terminal_authority_status"], "blocked");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_is_told_only_what_it_asked_for_in_the_order_of_the_run() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let (some, all) = (Receiver::start().await, Receiver::start().await);
    app.webhook(&ana, &some.url, &["run.completed", "run.needs_input"])
        .await;
    app.webhook(&ana, &all.url, &[]).await;
    let run = started(&client, "ferry-plan-0001").await;
    let done = turn(&client, &run, 1, &Script::nothing()).await;
    let done = turn(&client, &run, done.version(), &Script::nothing()).await;
    turn(&client, &run, done.version(), &Script::success()).await;
    app.settle().await;
    assert_eq!(some.kinds(), ["run.completed"]);
    assert_eq!(
        all.kinds(),
        [
            "run.needs_more_evidence",
            "run.needs_more_evidence",
            "run.completed"
        ]
    );
    app.finish().await;
}
