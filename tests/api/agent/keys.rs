//! What a used idempotency key means.

use std::time::Duration;

use helix::testing::{AccountType, Script, TestApp};
use serde_json::{Value, json};

use crate::harness::{Answer, Client, RUNS};
use crate::rows::Rows;

const KEY: &str = "ferry-plan-0001";

fn plan() -> Value {
    json!({"objective": "List the ferries that stop at Vik"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_meaning_under_one_key_is_one_run_however_it_is_spelled() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let first = client.start(KEY, &plan()).await.ok(201);
    let before = Rows::of(&app).await;
    let spellings = [
        r#"{ "objective" : "  List the ferries that stop at Vik\t" }"#.to_owned(),
        r#"{"budget":{"expires_in_seconds":3600,"max_steps":12},"completion_contract":{},
            "objective":"List the ferries that stop at V\u0069k"}"#
            .to_owned(),
        json!({
            "database_scope": [], "constraints": [], "objective": plan()["objective"],
            "completion_contract": {
                "allow_conflicts": false, "max_unresolved_requirements": 0,
                "required_output_fields": [], "require_terminal_authority": true,
                "min_evidence_refs": 1,
            },
            "budget": {"max_steps": 12},
        })
        .to_string(),
        r#"{"objective":"List the ferries that stop at Vik","budget":{"max_steps":1.2e1}}"#
            .to_owned(),
    ];
    for body in spellings {
        for key in [KEY, "  ferry-plan-0001 ", "\"ferry-plan-0001\""] {
            let again = client.post_text(RUNS, key, body.clone()).await.ok(201);
            assert_eq!(again.body, first.body, "{body}");
            assert_eq!(again.header("idempotency-replayed"), "true");
            for name in ["location", "etag"] {
                assert_eq!(again.header(name), first.header(name));
            }
        }
    }
    let scope = |scope: Value| json!({"objective": "List", "database_scope": scope});
    let once = client
        .start("ferry-plan-0002", &scope(json!(["research_library"])))
        .await
        .ok(201);
    let padded = scope(json!(["research_library ", "research_library"]));
    let twice = client.start("ferry-plan-0002", &padded).await.ok(201);
    assert_eq!(twice.body, once.body);
    let after = Rows::of(&app).await;
    assert_eq!(
        (after.events, after.receipts),
        (before.events + 1, before.receipts + 1)
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_reused_with_another_request_is_refused_and_still_answers_for_the_first() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let first = client.start(KEY, &plan()).await.ok(201);
    let before = Rows::of(&app).await;
    let others = [
        json!({"objective": "List the ferries that stop at Vík"}),
        json!({"objective": plan()["objective"], "budget": {"max_steps": 11}}),
        json!({"objective": plan()["objective"], "constraints": ["by sea"]}),
        json!({"objective": plan()["objective"], "completion_contract": {"allow_conflicts": true}}),
    ];
    for other in others {
        let refused = client.start(KEY, &other).await;
        let refused = refused.expect(409, "idempotency_conflict");
        assert_eq!(refused.body["retryable"], false);
        assert!(refused.body.get("details").is_none());
        let again = client.start(KEY, &plan()).await.ok(201);
        assert_eq!(again.body, first.body);
    }
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_means_something_only_for_its_owner_and_operation() {
    let app = TestApp::start().await;
    let ana = Client::new(&app, &app.caller("ana").await);
    let other_tenant = app.linked("ana", "other-coop", AccountType::User).await;
    let other = Client::new(&app, &other_tenant);
    let mine = ana.start(KEY, &plan()).await.ok(201);
    let theirs = other.start(KEY, &plan()).await.ok(201);
    assert_eq!(theirs.header("idempotency-replayed"), "false");
    let (run, theirs) = (mine.run_id(), theirs.run_id());
    assert_ne!(run, theirs);
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let continued = ana.continue_run(&run, KEY, &turn).await.ok(200);
    assert_eq!(continued.header("idempotency-replayed"), "false");
    let version = json!({"expected_version": continued.version()});
    let cancelled = ana.cancel(&run, KEY, &version).await.ok(200);
    assert_eq!(cancelled.header("idempotency-replayed"), "false");
    // Another run is another operation.
    let end = json!({"expected_version": 1});
    let untouched = other.cancel(&theirs, KEY, &end).await.ok(200);
    assert_eq!(untouched.header("idempotency-replayed"), "false");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_is_answered_before_version_state_and_policy_are_looked_at() {
    let mut app = TestApp::start().await;
    app.add_server_with(&[("agent_database_scopes", "")]).await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let body = json!({"objective": "List", "database_scope": ["research_library"]});
    let started = client.start(KEY, &body).await.ok(201);
    let run = started.run_id();
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let first = client.continue_run(&run, KEY, &turn).await.ok(200);
    assert_eq!(first.version(), 3);
    let end = json!({"expected_version": 3});
    let ended = client.cancel(&run, KEY, &end).await.ok(200);
    assert_eq!(ended.version(), 4);
    let before = Rows::of(&app).await;
    let narrow = client.with_token(ana.token_of("helix.agent_runs.write"));
    for again in [&client, &narrow, &client.at(1)] {
        let replayed = again.continue_run(&run, KEY, &turn).await.ok(200);
        assert_eq!(
            (&replayed.body, replayed.header("idempotency-replayed")),
            (&first.body, "true")
        );
        assert_eq!(replayed.header("etag"), "W/\"agent-run-3\"");
        let replayed = again.cancel(&run, KEY, &end).await.ok(200);
        assert_eq!(replayed.body, ended.body);
        let stale = again.continue_run(&run, "ferry-turn-0002", &turn).await;
        let stale = stale.expect(409, "version_conflict");
        assert_eq!(
            (&stale.body["details"], &stale.body["retryable"]),
            (&json!({"current_version": 4}), &json!(true))
        );
    }
    let replayed = client.start(KEY, &body).await.ok(201);
    assert_eq!(replayed.body, started.body);
    assert_eq!(replayed.header("etag"), "W/\"agent-run-1\"");
    assert_eq!(Rows::of(&app).await, before);
    assert_eq!(app.script.turns(), 1);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_turn_executes_its_key_is_in_progress_and_other_keys_are_busy() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client.start(KEY, &plan()).await.run_id();
    let gate = app.script.hold(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let (done, ()) = tokio::join!(client.continue_run(&run, KEY, &turn), async {
        app.script.begun(1).await;
        let shown = client.inspect(&run).await.ok(200);
        assert_eq!(shown.statuses(), "running/pending/not_evaluated");
        assert_eq!(shown.version(), 2);
        assert_eq!(
            shown.body["recommended_next_action"]["operation"],
            "inspect"
        );
        let same = client.continue_run(&run, KEY, &turn).await;
        let same = same.expect(409, "idempotency_in_progress");
        assert_eq!(same.body["retryable"], true);
        assert_eq!(same.body["details"]["run_id"], run.as_str());
        let lease = same.body["details"]["lease_expires_at"].as_str().unwrap();
        assert!(lease.ends_with('Z') && lease.len() == 24, "{lease}");
        let other = json!({"expected_version": 1, "instruction": "stay"});
        let other = client.continue_run(&run, KEY, &other).await;
        other.expect(409, "idempotency_conflict");
        let claimed = json!({"expected_version": 2, "instruction": "go"});
        let busy = client.continue_run(&run, "ferry-turn-0002", &claimed).await;
        let busy = busy.expect(409, "run_busy");
        assert_eq!(
            (&busy.body["details"], &busy.body["retryable"]),
            (&json!({"current_version": 2}), &json!(true))
        );
        let stale = client.continue_run(&run, "ferry-turn-0003", &turn).await;
        stale.expect(409, "version_conflict");
        gate.open();
    });
    let done = done.ok(200);
    // The refused keys are free again, also for other requests.
    let ended = json!({"expected_version": done.version(), "instruction": "more"});
    for key in ["ferry-turn-0002", "ferry-turn-0003"] {
        let answer = client.continue_run(&run, key, &ended).await;
        answer.expect(409, "run_not_resumable");
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_has_8_to_200_characters_and_is_sent_once() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let long = "k".repeat(200);
    let cases = [
        ("kkkkkkk".to_owned(), 400),
        ("kkkkkkkk".to_owned(), 201),
        (long.clone(), 201),
        (format!("{long}k"), 400),
        (String::new(), 400),
        ("        ".to_owned(), 400),
        ("\"kkkkkkk\"".to_owned(), 400),
    ];
    let before = Rows::of(&app).await;
    for (key, status) in cases {
        let answer = client.start(&key, &plan()).await;
        assert_eq!(answer.status, status, "{key:?}: {}", answer.text);
        if status == 400 {
            let answer = answer.expect(400, "invalid_request");
            assert!(answer.body.get("details").is_none(), "{}", answer.text);
        }
    }
    let padded = client.start("  kkkkkkkk   ", &plan()).await.ok(201);
    assert_eq!(padded.header("idempotency-replayed"), "true");
    let after = Rows::of(&app).await;
    assert_eq!(after.receipts, before.receipts + 2);
    let without = |body: String| client.request(reqwest::Method::POST, RUNS).body(body);
    let missing = Answer::of(without(plan().to_string())).await;
    let missing = missing.expect(400, "invalid_request");
    assert!(missing.body.get("details").is_none());
    // The body is judged before the key.
    let both = Answer::of(without("{}".to_owned())).await;
    assert_eq!(
        both.ok(400).body["details"]["issues"][0]["path"],
        json!(["objective"])
    );
    let twice = without(plan().to_string())
        .header("Idempotency-Key", "kkkkkkkk")
        .header("Idempotency-Key", "llllllll");
    Answer::of(twice).await.expect(400, "invalid_request");
    assert_eq!(Rows::of(&app).await, after);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_remembered_for_24_hours_and_then_forgotten() {
    let app = TestApp::start().await;
    app.freeze().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let week = json!({"objective": "List", "budget": {"expires_in_seconds": 604_800}});
    let run = client.started(KEY, &week).await;
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let first = client.continue_run(&run, KEY, &turn).await.ok(200);
    app.advance(Duration::from_secs(86_399)).await;
    let replayed = client.continue_run(&run, KEY, &turn).await.ok(200);
    assert_eq!(replayed.body, first.body);
    let next = json!({"expected_version": 3, "instruction": "other"});
    let conflict = client.continue_run(&run, KEY, &next).await;
    conflict.expect(409, "idempotency_conflict");
    app.advance(Duration::from_secs(2)).await;
    let fresh = client.continue_run(&run, KEY, &next).await.ok(200);
    assert_eq!(fresh.header("idempotency-replayed"), "false");
    assert_eq!((fresh.version(), app.script.turns()), (5, 2));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_continue_or_cancel_leaves_its_key_free() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client.start(KEY, &plan()).await.run_id();
    let before = Rows::of(&app).await;
    let missing = format!("run_{}", uuid::Uuid::nil());
    let good = json!({"expected_version": 1, "instruction": "go"});
    let stale = json!({"expected_version": 2, "instruction": "go"});
    let unknown = json!({"expected_version": 1, "answers": [{"question_id": "q", "value": 1}]});
    let free = "ferry-turn-0001";
    for (run, body, status) in [
        (&missing, &good, 404),
        (&run, &stale, 409),
        (&run, &unknown, 400),
        (&run, &json!({"expected_version": 1}), 400),
    ] {
        let refused = client.continue_run(run, free, body).await;
        assert_eq!(refused.status, status, "{}", refused.text);
    }
    let stale = client
        .cancel(&run, free, &json!({"expected_version": 9}))
        .await;
    stale.expect(409, "version_conflict");
    assert_eq!(Rows::of(&app).await, before);
    let done = client.continue_run(&run, free, &good).await.ok(200);
    assert_eq!(done.header("idempotency-replayed"), "false");
    let cancel = json!({"expected_version": done.version()});
    client.cancel(&run, free, &cancel).await.ok(200);
    app.finish().await;
}
