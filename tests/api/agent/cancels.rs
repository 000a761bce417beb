//! Cancelling: what it ends, what it leaves alone, what it answers later.

use helix::testing::{Script, TestApp};
use serde_json::json;

use crate::harness::{Client, RUNS};
use crate::rows::Rows;

async fn started(client: &Client<'_>, key: &str) -> String {
    let body = json!({"objective": "List the ferries"});
    client.started(key, &body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_shows_its_reason_and_when() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    for (key, body, reason) in [
        (
            "ferry-plan-0001",
            json!({"expected_version": 1}),
            "cancelled_by_client",
        ),
        (
            "ferry-plan-0002",
            json!({"expected_version": 1, "reason": " genug, Zoë\u{2028}! "}),
            "genug, Zoë\u{2028}!",
        ),
    ] {
        let run = started(&client, key).await;
        let done = client.cancel(&run, "ferry-stop-0001", &body).await.ok(200);
        assert_eq!(done.statuses(), "cancelled/cancelled/blocked");
        assert_eq!((done.version(), &done.body["summary"]), (2, &json!(reason)));
        assert_eq!(done.body["cancelled_at"], done.body["updated_at"]);
        assert!(done.body["completed_at"].is_null());
        // The stored bundle is not rewritten.
        assert_eq!(
            done.body["evidence"]["terminal_authority_status"],
            "not_evaluated"
        );
        assert_eq!(done.header("etag"), "W/\"agent-run-2\"");
        let page = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
        let event = &page.body["events"][1];
        assert_eq!(event["event_type"], "run_cancelled");
        assert_eq!(event["payload"], json!({"version": 2, "reason": reason}));
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_that_is_not_valid_ends_nothing() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client, "ferry-plan-0001").await;
    let before = Rows::of(&app).await;
    for body in [
        json!({}),
        json!({"expected_version": "1"}),
        json!({"expected_version": 0}),
        json!({"expected_version": 1, "reason": ""}),
        json!({"expected_version": 1, "reason": " \t"}),
        json!({"expected_version": 1, "reason": null}),
        json!({"expected_version": 1, "reason": "r".repeat(1_001)}),
        json!({"expected_version": 1, "resaon": "x"}),
    ] {
        let refused = client.cancel(&run, "ferry-stop-0001", &body).await;
        refused.expect(400, "invalid_request");
    }
    assert_eq!(Rows::of(&app).await, before);
    let longest = json!({"expected_version": 1, "reason": "🦊".repeat(500)});
    client
        .cancel(&run, "ferry-stop-0001", &longest)
        .await
        .ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_what_has_ended_is_refused_and_adds_no_event() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client, "ferry-plan-0001").await;
    app.script.answer(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    let cancelled = started(&client, "ferry-plan-0002").await;
    let cancel = json!({"expected_version": 1});
    let first = client
        .cancel(&cancelled, "ferry-stop-0001", &cancel)
        .await
        .ok(200);
    let before = Rows::of(&app).await;
    let now = client
        .cancel(&run, "ferry-stop-0001", &json!({"expected_version": 3}))
        .await;
    let now = now.expect(409, "run_not_resumable");
    assert_eq!(now.body["retryable"], false);
    let old = client
        .cancel(&run, "ferry-stop-0002", &json!({"expected_version": 2}))
        .await;
    let old = old.expect(409, "version_conflict");
    assert_eq!(old.body["details"], json!({"current_version": 3}));
    let replayed = client
        .cancel(&cancelled, "ferry-stop-0001", &cancel)
        .await
        .ok(200);
    assert_eq!(
        (&replayed.body, replayed.header("idempotency-replayed")),
        (&first.body, "true")
    );
    let other_key = client.cancel(&cancelled, "ferry-stop-0002", &cancel).await;
    other_key.expect(409, "version_conflict");
    let other_key = client
        .cancel(
            &cancelled,
            "ferry-stop-0002",
            &json!({"expected_version": 2}),
        )
        .await;
    other_key.expect(409, "run_not_resumable");
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_reaches_the_run_it_names_and_no_other() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let first = started(&client, "ferry-plan-0001").await;
    let second = started(&client, "ferry-plan-0002").await;
    let third = started(&client, "ferry-plan-0003").await;
    let gate = app.script.hold(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let before = client.inspect(&third).await.ok(200);
    let (done, ()) = tokio::join!(
        client.continue_run(&first, "ferry-turn-0001", &turn),
        async {
            app.script.begun(1).await;
            client
                .cancel(&second, "ferry-stop-0001", &json!({"expected_version": 1}))
                .await
                .ok(200);
            gate.open();
        }
    );
    assert_eq!(done.ok(200).statuses(), "completed/completed/authorized");
    assert_eq!(client.inspect(&third).await.body, before.body);
    assert_eq!(client.event_names(&third).await, ["run_started"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_during_a_turn_ends_the_run_at_once_from_whatever_server_it_comes() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    for server in [0, 1] {
        let run = started(&client, &format!("ferry-plan-{server:04}")).await;
        // The gate stays shut: the turn ends because it is told to.
        let _gate = app.script.hold(&Script::success());
        let turn = json!({"expected_version": 1, "instruction": "go"});
        let (lost, cancelled) =
            tokio::join!(client.continue_run(&run, "ferry-turn-0001", &turn), async {
                app.script.begun(server + 1).await;
                let claimed = json!({"expected_version": 2, "reason": "changed my mind"});
                let canceller = client.at(server);
                canceller
                    .cancel(&run, "ferry-stop-0001", &claimed)
                    .await
                    .ok(200)
            });
        let lost = lost.expect(409, "outcome_unknown");
        let details = json!({"run_id": run, "claimed_version": 2});
        assert_eq!(
            (&lost.body["details"], &lost.body["retryable"]),
            (&details, &json!(false))
        );
        let steps = &cancelled.body["budget"]["steps_used"];
        assert_eq!((cancelled.version(), steps), (3, &json!(1)));
        assert_eq!(client.inspect(&run).await.body, cancelled.body);
        let names = client.event_names(&run).await;
        assert_eq!(
            names,
            ["run_started", "continuation_received", "run_cancelled"]
        );
        let again = client.continue_run(&run, "ferry-turn-0001", &turn).await;
        again.expect(409, "outcome_unknown");
    }
    app.finish().await;
}
