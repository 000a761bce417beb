use std::time::Duration;

use helix::testing::{Script, Setup, TestApp, Turns};
use serde_json::json;

use crate::harness::{Client, RUNS};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_started_continued_and_completed() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);

    let started = client
        .start(
            "ferry-plan-0001",
            &json!({"objective": " List the ferries "}),
        )
        .await
        .ok(201);
    assert_eq!(started.body["objective"], "List the ferries");
    assert_eq!(
        started.statuses(),
        "waiting/needs_more_evidence/not_evaluated"
    );
    let run = started.run_id();
    assert_eq!(started.header("location"), format!("{RUNS}/{run}"));
    assert_eq!(started.header("etag"), "W/\"agent-run-1\"");
    assert_eq!(started.header("idempotency-replayed"), "false");

    app.script.answer(&Script::success());
    let body = json!({"expected_version": 1, "instruction": "go"});
    let done = client
        .continue_run(&run, "ferry-turn-0001", &body)
        .await
        .ok(200);
    assert_eq!(done.statuses(), "completed/completed/authorized");
    assert_eq!(
        (done.version(), &done.body["budget"]["steps_used"]),
        (3, &json!(1))
    );
    assert_eq!(client.inspect(&run).await.body, done.body);
    assert_eq!(
        client.event_names(&run).await,
        [
            "run_started",
            "continuation_received",
            "evidence_reentered",
            "terminal_authority_evaluated",
            "run_completed"
        ]
    );
    let bundle = client.get(&format!("{RUNS}/{run}/evidence")).await.ok(200);
    assert_eq!(bundle.body, done.body["evidence"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_built_in_solver_answers_from_a_library_and_its_refs_read_back() {
    let text = b"The last ferry to Vik leaves at 21:15 on weekdays.\n".to_vec();
    let setup = Setup {
        turns: Turns::Solved,
        library: vec![("ferries.txt", text.clone())],
        ..Setup::default()
    };
    let app = TestApp::with(setup).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let objective = json!({"objective": "When does the last ferry to Vik leave?", "database_scope": ["research_library"]});
    let run = client.started("ferry-plan-0001", &objective).await;
    let body = json!({"expected_version": 1, "instruction": "Answer from the library."});
    let done = client
        .continue_run(&run, "ferry-turn-0001", &body)
        .await
        .ok(200);
    assert_eq!(done.statuses(), "completed/completed/authorized");
    let refs = done.body["evidence"]["evidence_refs"].as_array().unwrap();
    let item_ref = refs[0].as_str().unwrap().replace(':', "%3A");
    let item = client
        .get(&format!("{RUNS}/{run}/evidence/{item_ref}"))
        .await
        .ok(200);
    let (start, end) = (
        item.body["span"]["start"].as_u64().unwrap(),
        item.body["span"]["end"].as_u64().unwrap(),
    );
    let span = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
    assert_eq!(item.body["quote"].as_str().unwrap().as_bytes(), &text[span]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_turn_is_recovered_by_itself_and_its_key_is_of_unknown_outcome() {
    let app = TestApp::start().await;
    app.freeze().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    let gate = app.script.hold(&Script::success());
    let body = json!({"expected_version": 1, "instruction": "go"});
    let (turn, body_again) = (client.clone(), body.clone());
    let (first, ()) = tokio::join!(turn.continue_run(&run, "ferry-turn-0001", &body), async {
        app.script.begun(1).await;
        app.advance(Duration::from_secs(120 + 60 + 31)).await;
        app.settle().await;
        gate.open();
    });
    first.expect(409, "outcome_unknown");
    let inspected = client.inspect(&run).await.ok(200);
    assert_eq!(
        inspected.statuses(),
        "waiting/needs_more_evidence/not_evaluated"
    );
    assert_eq!(
        (inspected.version(), &inspected.body["budget"]["steps_used"]),
        (3, &json!(1))
    );
    client
        .continue_run(&run, "ferry-turn-0001", &body_again)
        .await
        .expect(409, "outcome_unknown");
    assert_eq!(
        client.event_names(&run).await.last().unwrap(),
        "runtime_recovered"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_texts_a_request_may_hold_are_a_turn_like_any_other() {
    let setup = Setup {
        turns: Turns::Solved,
        library: vec![("ferries.txt", b"The last ferry leaves at 21:15.\n".to_vec())],
        ..Setup::default()
    };
    let app = TestApp::with(setup).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let words: String = (0..20_000)
        .map(|n| if n % 500 == 499 { ' ' } else { '\u{e9}' })
        .collect();
    for (number, objective) in ["x".repeat(20_000), words.clone()].iter().enumerate() {
        let body = json!({"objective": objective, "database_scope": ["research_library"]});
        let run = client
            .started(&format!("long-text-start-{number}"), &body)
            .await;
        let body = json!({"expected_version": 1, "instruction": words});
        let turn = client
            .continue_run(&run, &format!("long-text-turn-{number}"), &body)
            .await
            .ok(200);
        assert_eq!(turn.body["lifecycle_status"], "waiting");
        assert_eq!(client.inspect(&run).await.ok(200).body, turn.body);
    }
    app.finish().await;
}
