//! Continuing a run: what is required, what the executor is given, in which order refusals come.

use helix::testing::{Script, TestApp};
use serde_json::{Value, json};

use crate::harness::{Client, RUNS};
use crate::rows::Rows;

async fn started(client: &Client<'_>) -> String {
    let body = json!({"objective": "List the ferries", "constraints": ["by sea"]});
    client.started("ferry-plan-0001", &body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_continue_that_is_not_valid_spends_nothing() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    let before = Rows::of(&app).await;
    let with_version = |version: Value| json!({"expected_version": version, "instruction": "go"});
    let with = |name: &str, value: Value| {
        let mut body = json!({"expected_version": 1});
        body[name] = value;
        body
    };
    let answer = json!({"question_id": "q", "value": 1});
    let bodies = [
        with_version(json!("1")),
        with_version(json!(0)),
        with_version(Value::Null),
        with_version(json!(true)),
        with_version(json!(-1)),
        with_version(json!(1.5)),
        json!({"instruction": "go"}),
        json!({"expected_version": 1}),
        with("instruction", json!("  \n ")),
        with("instruction", json!(7)),
        with("instruction", Value::Null),
        with("instruction", json!("é".repeat(20_001))),
        with("answers", json!([])),
        with("answers", json!({})),
        with("answers", json!(vec![answer; 65])),
        with("answers", json!([{"value": 1}])),
        with("answers", json!([{"question_id": " ", "value": 1}])),
        with(
            "answers",
            json!([{"question_id": "q".repeat(241), "value": 1}]),
        ),
        with(
            "answers",
            json!([{"question_id": "q", "value": 1, "extra": 2}]),
        ),
        with("answers", json!(["q"])),
        json!({"expected_version": 1, "instruction": "go", "answer": []}),
    ];
    for (number, body) in bodies.iter().enumerate() {
        let key = format!("bad-turn-{number:04}");
        let refused = client.continue_run(&run, &key, body).await;
        let refused = refused.expect(400, "invalid_request");
        for issue in refused.body["details"]["issues"]
            .as_array()
            .expect("issues")
        {
            assert!(
                issue["code"].is_string() && issue["path"].is_array(),
                "{body}"
            );
        }
    }
    assert_eq!(Rows::of(&app).await, before);
    assert_eq!(app.script.turns(), 0);
    let longest = with("instruction", json!("é".repeat(20_000)));
    client
        .continue_run(&run, "good-turn-0001", &longest)
        .await
        .ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_executor_is_given_the_run_and_the_instruction_as_they_are() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    app.script.answer(&json!({
        "summary": "Half done.", "evidence_refs": ["evidence:test:1"],
        "receipt_refs": ["receipt:test:1"], "unresolved_requirements": ["the timetable"],
    }));
    let turn = json!({"expected_version": 1, "instruction": " look closer "});
    let done = client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    assert_eq!(done.statuses(), "waiting/needs_more_evidence/not_evaluated");
    assert_eq!(done.body["summary"], "Half done.");
    let turn = json!({"expected_version": 3, "instruction": "again"});
    client
        .continue_run(&run, "ferry-turn-0002", &turn)
        .await
        .ok(200);
    let inputs = app.script.inputs();
    let first = &inputs[0];
    assert_eq!(
        (first.run_id.as_str(), first.run_version),
        (run.as_str(), 2)
    );
    assert_eq!(first.objective, "List the ferries");
    assert_eq!(first.instruction, "look closer");
    assert_eq!(first.constraints, ["by sea"]);
    assert_eq!(first.allowed_tools, ["__helix_external_agent_no_tools__"]);
    assert_eq!(first.remaining_steps, 11);
    assert!(first.turn_id.starts_with("turn_") && first.trace_id.starts_with("trace_"));
    let second = &inputs[1];
    assert_eq!((second.run_version, second.remaining_steps), (4, 10));
    assert_eq!(second.session_id, first.session_id);
    assert_ne!(second.turn_id, first.turn_id);
    assert_eq!(second.previous_summary.as_deref(), Some("Half done."));
    assert_eq!(second.previous_evidence_refs, ["evidence:test:1"]);
    assert_eq!(second.previous_receipt_refs, ["receipt:test:1"]);
    assert_eq!(second.previous_unresolved_requirements, ["the timetable"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_come_in_the_order_of_the_contract() {
    let mut app = TestApp::start().await;
    app.add_server_with(&[("agent_database_scopes", "")]).await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let body = json!({"objective": "List", "database_scope": ["research_library"]});
    let run = client.started("ferry-plan-0001", &body).await;
    let closed = client.at(1);
    let turn = |version: u64, answers: Value| json!({"expected_version": version, "instruction": "go", "answers": answers});
    let unknown = json!([{"question_id": "q", "value": 1}, {"question_id": "q", "value": 2}]);
    let ask = |body: Value| {
        let (closed, run) = (closed.clone(), run.clone());
        async move { closed.continue_run(&run, "ferry-turn-0001", &body).await }
    };
    // Version before policy, policy before answers, answers before execution.
    let stale = ask(turn(2, unknown.clone())).await;
    stale.expect(409, "version_conflict");
    let blocked = ask(turn(1, unknown.clone())).await;
    let blocked = blocked.expect(403, "account_policy_blocked");
    assert_eq!(
        blocked.body["details"],
        json!({"denied_scopes": ["research_library"]})
    );
    let twice = client
        .continue_run(&run, "ferry-turn-0001", &turn(1, unknown))
        .await;
    let twice = twice.expect(400, "invalid_request");
    assert!(twice.body.get("details").is_none());
    client
        .cancel(&run, "ferry-stop-0001", &json!({"expected_version": 1}))
        .await
        .ok(200);
    // End before policy.
    ask(turn(2, json!([])))
        .await
        .expect(409, "run_not_resumable");
    assert_eq!(app.script.turns(), 0);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_ended_says_so_whatever_ended_it() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let endings = [
        (Script::success(), "completed/completed/authorized", "none"),
        (
            json!({"ok": false, "status_code": 500, "failure_code": "upstream_gone"}),
            "failed/failed/not_evaluated",
            "none",
        ),
        (
            json!({"ok": false, "status_code": 422, "terminal_authority_status": "blocked"}),
            "waiting/blocked/blocked",
            "continue",
        ),
        (
            json!({"needs_input": true}),
            "waiting/needs_input/not_evaluated",
            "continue",
        ),
    ];
    for (number, (result, statuses, operation)) in endings.iter().enumerate() {
        let body = json!({"objective": "List"});
        let run = client
            .start(&format!("ferry-plan-{number:04}"), &body)
            .await
            .run_id();
        app.script.answer(result);
        let turn = json!({"expected_version": 1, "instruction": "go"});
        let done = client
            .continue_run(&run, "ferry-turn-0001", &turn)
            .await
            .ok(200);
        assert_eq!(done.statuses(), *statuses);
        let next = &done.body["recommended_next_action"];
        assert_eq!(next["operation"], *operation, "{next}");
        let lifecycle = done.body["lifecycle_status"].as_str().unwrap();
        assert_eq!(
            done.body["completed_at"].is_string(),
            lifecycle == "completed"
        );
        let more = json!({"expected_version": 3, "instruction": "more"});
        let again = client.continue_run(&run, "ferry-turn-0002", &more).await;
        if *operation == "none" {
            assert_eq!(next["reason"], format!("run_{lifecycle}"));
            again.expect(409, "run_not_resumable");
            let cancel = json!({"expected_version": 3});
            let cancelled = client.cancel(&run, "ferry-stop-0001", &cancel).await;
            cancelled.expect(409, "run_not_resumable");
        } else {
            again.ok(200);
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_changes_nothing_and_its_key_replays() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    let gate = app.script.hold(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    tokio::select! {
        _ = client.continue_run(&run, "ferry-turn-0001", &turn) => panic!("the turn is held"),
        () = app.script.begun(1) => {}
    }
    gate.open();
    let ended = client
        .get(&format!("{RUNS}/{run}/events?after_seq=4&wait_ms=25000"))
        .await
        .ok(200);
    assert_eq!(ended.body["events"][0]["event_type"], "run_completed");
    let replayed = client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    assert_eq!(replayed.header("idempotency-replayed"), "true");
    assert_eq!(replayed.statuses(), "completed/completed/authorized");
    app.finish().await;
}
