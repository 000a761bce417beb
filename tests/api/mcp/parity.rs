//! REST and MCP are two faces of the same use cases.

use helix::testing::{Script, TestApp};
use serde_json::{Value, json};

use super::client::{ask, call};
use crate::harness::{Client, RUNS};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_driven_by_tools_and_read_over_rest() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let plan = json!({"objective": "List the ferries", "constraints": ["by sea"]});
    let start = json!({"idempotency_key": "ferry-plan-0001", "request": plan});
    let started = call(&client, "helix_run_start", &start).await;
    let value = &started["structuredContent"];
    assert_eq!(
        (&value["operation"], &value["idempotency_replayed"]),
        (&json!("start"), &json!(false))
    );
    assert_ne!(started["isError"], true, "{started}");
    let run = value["run"]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(client.inspect(&run).await.body, value["run"]);

    let replayed = client.start("ferry-plan-0001", &plan).await.ok(201);
    assert_eq!(replayed.header("idempotency-replayed"), "true");
    assert_eq!(replayed.body, value["run"]);
    let again = call(&client, "helix_run_start", &start).await;
    assert_eq!(again["structuredContent"]["idempotency_replayed"], true);

    app.script.answer(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let arguments = json!({"run_id": run, "idempotency_key": "ferry-turn-0001", "request": turn});
    let continued = call(&client, "helix_run_continue", &arguments).await;
    assert_eq!(
        continued["structuredContent"]["run"]["lifecycle_status"],
        "completed"
    );
    let rest = client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    assert_eq!(rest.header("idempotency-replayed"), "true");

    let by_run = json!({"run_id": run});
    let inspected = call(&client, "helix_run_inspect", &by_run).await;
    assert_eq!(
        inspected["structuredContent"]["run"],
        client.inspect(&run).await.body
    );
    let evidence = call(&client, "helix_run_fetch_evidence", &by_run).await;
    let bundle = client.get(&format!("{RUNS}/{run}/evidence")).await.ok(200);
    assert_eq!(evidence["structuredContent"]["evidence"], bundle.body);
    let paged = json!({"run_id": run, "after_seq": 1, "limit": 2});
    let paged = call(&client, "helix_run_list_events", &paged).await;
    let page = client
        .get(&format!("{RUNS}/{run}/events?after_seq=1&limit=2"))
        .await
        .ok(200);
    assert_eq!(paged["structuredContent"]["page"], page.body);
    app.finish().await;
}

/// The details of a tool's error, with paths as they are within `request`.
fn of_body(error: &Value) -> Value {
    let mut details = error["details"].clone();
    let issues = details.get_mut("issues").and_then(Value::as_array_mut);
    for issue in issues.into_iter().flatten() {
        let path = issue["path"].as_array_mut().expect("a path");
        if path.first() == Some(&json!("request")) {
            path.remove(0);
        }
    }
    details
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_has_the_same_code_and_details_on_both() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .started("ferry-plan-0001", &json!({"objective": "List"}))
        .await;
    let unknown = "run_00000000-0000-0000-0000-000000000000";
    let cases: [(&str, Value); 7] = [
        (
            "x-key-0001",
            json!({"expected_version": 9, "instruction": "go"}),
        ),
        ("x-key-0002", json!({"expected_version": 1})),
        (
            "x-key-0003",
            json!({"expected_version": "1", "instruction": "go"}),
        ),
        (
            "x-key-0004",
            json!({"expected_version": 1, "instruction": "go", "more": 1}),
        ),
        ("short", json!({"expected_version": 1, "instruction": "go"})),
        (
            "x-key-0005",
            json!({"expected_version": 1, "answers": [{"question_id": "q", "value": 1}]}),
        ),
        (
            "x-key-0006",
            json!({"expected_version": 1, "instruction": "  "}),
        ),
    ];
    for (key, body) in &cases {
        for run in [run.as_str(), unknown, "run-of-nobody"] {
            let rest = client.continue_run(run, key, body).await;
            let arguments = json!({"run_id": run, "idempotency_key": key, "request": body});
            let tool = call(&client, "helix_run_continue", &arguments).await;
            let error = &tool["structuredContent"];
            assert_eq!(tool["isError"], true, "{tool}");
            for part in ["schema", "error", "message", "retryable"] {
                assert_eq!(
                    error[part], rest.body[part],
                    "{part} of {} and {error}",
                    rest.text
                );
            }
            assert_eq!(error["request_id"], Value::Null);
            assert_eq!(of_body(error), rest.body["details"], "{tool}");
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_scope_is_told_in_band_with_its_challenge() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let reader = Client::new(&app, &ana).with_token(ana.token_of("helix.agent_runs.read"));
    let start = json!({"idempotency_key": "ferry-plan-0001", "request": {"objective": "List"}});
    let refused = call(&reader, "helix_run_start", &start).await;
    assert_eq!(refused["structuredContent"]["error"], "insufficient_scope");
    let challenge = refused["_meta"]["mcp/www_authenticate"][0]
        .as_str()
        .unwrap();
    assert!(
        challenge.starts_with("Bearer resource_metadata=\""),
        "{challenge}"
    );
    assert!(
        challenge.contains("error=\"insufficient_scope\""),
        "{challenge}"
    );
    assert!(
        challenge.contains("scope=\"helix.agent_runs.write\""),
        "{challenge}"
    );
    let unknown = json!({"name": "helix_run_destroy", "arguments": {}});
    let unknown = ask(&reader, "tools/call", &unknown).await.ok(200);
    assert_eq!(unknown.body["error"]["code"], -32602, "{}", unknown.text);
    app.finish().await;
}
