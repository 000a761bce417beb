//! What an executor may send back: its result is hostile input too.

use helix::testing::{Script, Setup, TestApp};
use serde_json::{Value, json};

use crate::harness::{Answer, Client, RUNS};

async fn turned(app: &TestApp, client: &Client<'_>, number: usize, result: &Value) -> Answer {
    let body = json!({"objective": "List the ferries"});
    let key = format!("ferry-plan-{number:04}");
    let run = client.started(&key, &body).await;
    app.script.answer(result);
    let turn = json!({"expected_version": 1, "instruction": "go"});
    client.continue_run(&run, "ferry-turn-0001", &turn).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_with_credential_material_is_replaced_as_a_whole() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let secret = "Bearer abcdefghijkl";
    let mut in_product = Script::success();
    in_product["terminal_product"]["text"] = json!(format!("Use {secret}"));
    let results = [
        json!({"summary": format!("Authorization: {secret}")}),
        json!({"evidence_refs": [secret]}),
        json!({"output_fields": {"deep": [{"key": secret}]}}),
        json!({"sanitized_result": {secret: true}}),
        json!({"pending_questions": [{"question_id": "q", "prompt": secret, "required_fields": [], "options": []}]}),
        json!({"claims_supported": ["see https://maps.example.org/q?key=harbour"]}),
        json!({"failure_code": "access_token=1"}),
        in_product,
    ];
    for (number, result) in results.iter().enumerate() {
        let done = turned(&app, &client, number, result).await.ok(200);
        assert_eq!(done.statuses(), "waiting/blocked/blocked", "{result}");
        assert_eq!(
            done.body["unresolved_requirements"],
            json!(["protected_sensitive_content_rejected"])
        );
        let latest = &done.body["latest_result"];
        assert_eq!(
            latest["failure_code"],
            "protected_sensitive_content_rejected"
        );
        assert_eq!(
            (&latest["ok"], &latest["status"]),
            (&json!(false), &json!(400))
        );
        assert_eq!(done.body["evidence"]["evidence_refs"], json!([]));
        let run = done.run_id();
        let events = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
        let names = client.event_names(&run).await;
        assert_eq!(
            names,
            [
                "run_started",
                "continuation_received",
                "terminal_authority_evaluated",
                "run_blocked"
            ]
        );
        for text in [&done.text, &events.text, &client.inspect(&run).await.text] {
            for part in ["abcdefghijkl", "harbour\"", "access_token"] {
                assert!(!text.contains(part), "{text}");
            }
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_oversized_or_odd_result_ends_in_a_run_that_can_be_read() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let refs: Vec<String> = (0..10_000).map(|n| format!("evidence:test:{n}")).collect();
    let ask = |prompt: String| json!({"question_id": "q", "prompt": prompt, "required_fields": [], "options": []});
    let nested = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let mut long_product = Script::success();
    long_product["terminal_product"]["text"] = json!("n".repeat(1_000_000));
    let results = [
        json!({"summary": "n".repeat(5_000_000)}),
        json!({"pending_questions": [ask("p".repeat(2_001))]}),
        json!({"pending_questions": [ask(" ".to_owned())]}),
        json!({"output_fields": {"a\u{0}b": "c\u{0}d"}, "summary": "e\u{0}f"}),
        json!({"evidence_refs": refs, "observation_refs": refs, "claims_supported": refs}),
        json!({"evidence_refs": ["\n", "", "r".repeat(501), "evidence:test:good"]}),
        json!({"output_fields": {"deep": nested}}),
        json!({"sanitized_result": {"big": "n".repeat(2_000_000), "ok": true}}),
        json!({"unresolved_requirements": vec!["u".repeat(10_000); 500]}),
        json!({"failure_code": "not a code\n", "ok": false}),
        json!({"status_code": 65_535}),
        long_product,
    ];
    for (number, result) in results.iter().enumerate() {
        let done = turned(&app, &client, number, result).await.ok(200);
        let run = done.run_id();
        let shown = client.inspect(&run).await.ok(200);
        assert_eq!(shown.body, done.body);
        assert!(
            shown.text.len() < 1 << 20,
            "{number}: {} bytes",
            shown.text.len()
        );
        assert!(!shown.text.contains("\\u0000"));
        let summary = shown.body["summary"].as_str().unwrap();
        assert!(summary.encode_utf16().count() <= 2_000);
        let events = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
        assert!(
            events.text.len() < 1 << 20,
            "{number}: {} bytes",
            events.text.len()
        );
        client.get(&format!("{RUNS}/{run}/evidence")).await.ok(200);
        client.get(&format!("{RUNS}/{run}/log")).await.ok(200);
        if shown.body["lifecycle_status"] == "waiting" {
            let body = json!({"expected_version": shown.version()});
            client.cancel(&run, "ferry-stop-0001", &body).await.ok(200);
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_executor_that_breaks_down_fails_the_run_and_nothing_else() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    app.script.crash();
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let done = client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    assert_eq!(done.statuses(), "failed/failed/blocked");
    assert_eq!(
        done.body["unresolved_requirements"],
        json!(["executor_result_unavailable"])
    );
    let latest = json!({
        "ok": false, "status": 500, "failure_code": "helix_ask_executor_failed",
        "raw_error_included": false, "raw_provider_payload_included": false,
        "chain_of_thought_included": false,
    });
    assert_eq!(done.body["latest_result"], latest);
    assert!(done.body["completed_at"].is_null());
    turned(&app, &client, 2, &Script::success()).await.ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_outlives_its_time_fails_the_run_and_its_late_result_is_dropped() {
    let app = TestApp::with(Setup {
        settings: vec![("agent_turn_timeout_ms", "1000".to_owned())],
        ..Setup::default()
    })
    .await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    let gate = app.script.hold(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let done = client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    assert_eq!(done.statuses(), "failed/failed/blocked");
    assert_eq!(
        done.body["latest_result"]["failure_code"],
        "helix_ask_timeout"
    );
    assert_eq!(
        (done.version(), &done.body["budget"]["steps_used"]),
        (3, &json!(1))
    );
    let events = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
    gate.open();
    app.settle().await;
    assert_eq!(client.inspect(&run).await.body, done.body);
    assert_eq!(
        client.get(&format!("{RUNS}/{run}/events")).await.body,
        events.body
    );
    app.finish().await;
}
