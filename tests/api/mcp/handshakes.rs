//! Every era on one address, in any order.

use helix::testing::TestApp;
use serde_json::{Value, json};

use super::client::{MCP, ask, listed, message, request};
use crate::harness::{Answer, Client};
use crate::process::Process;

fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_ends_with_the_version_asked_for_or_the_newest() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    for (asked, given) in [
        ("2024-10-07", "2024-11-05"),
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let answer = ask(&client, "initialize", &hello(asked)).await.ok(200);
        let result = &answer.body["result"];
        assert_eq!(result["protocolVersion"], given, "{asked}: {}", answer.text);
        assert_eq!(result["serverInfo"]["name"], "casimirbot-helix-agent");
        assert_eq!(result["serverInfo"]["version"], "1.0.0");
        assert_eq!(
            result["capabilities"],
            json!({"tools": {"listChanged": true}})
        );
        let instructions = result["instructions"].as_str().unwrap();
        assert!(
            instructions.contains("run_id") && instructions.contains("terminal_authority_status")
        );
        assert_eq!(answer.header("mcp-session-id"), "");
        assert!(answer.header("x-request-id").starts_with("mcp_req_"));
    }
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let told = Answer::of(message(&client, told.to_string())).await.ok(202);
    assert_eq!(told.text, "");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stateless_era_discovers_and_lists_without_a_handshake() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for method in ["server/discover", "tools/list"] {
        let body = request(7, method, &json!({"_meta": meta})).to_string();
        let asked = client
            .request(reqwest::Method::POST, MCP)
            .header("Accept", "application/json, text/event-stream")
            .header("Content-Type", "application/json")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", method)
            .body(body);
        let answer = Answer::of(asked).await.ok(200);
        assert_eq!(answer.body["id"], 7, "{}", answer.text);
        assert!(answer.body["result"].is_object(), "{}", answer.text);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_catalogue_is_whole_whatever_the_token_may_do() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let tools = listed(&client).await;
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "helix_run_start",
            "helix_run_continue",
            "helix_run_cancel",
            "helix_run_inspect",
            "helix_run_fetch_evidence",
            "helix_run_list_events",
        ]
    );
    for tool in &tools {
        let schemes = &tool["securitySchemes"];
        assert_eq!(schemes, &tool["_meta"]["securitySchemes"], "{tool}");
        assert_eq!(schemes[0]["type"], "oauth2");
        for side in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[side]["type"], "object", "{tool}");
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        let hints = tool["annotations"].as_object().unwrap();
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(hints[hint].is_boolean(), "{tool}");
        }
    }
    let reader = client.with_token(ana.token_of("helix.agent_runs.read"));
    assert_eq!(listed(&reader).await, tools);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_served_is_an_unknown_method_and_a_call_without_a_tool_is_not() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    for method in [
        "resources/list",
        "prompts/list",
        "completion/complete",
        "tasks/list",
        "nonsense",
    ] {
        let answer = ask(&client, method, &json!({})).await;
        assert_eq!(
            answer.body["error"]["code"], -32601,
            "{method}: {}",
            answer.text
        );
    }
    ask(&client, "ping", &json!({})).await.ok(200);
    for params in [
        json!({}),
        json!({"name": 7}),
        json!({"name": "helix_run_start", "arguments": []}),
    ] {
        let answer = ask(&client, "tools/call", &params).await.ok(200);
        assert_eq!(answer.body["error"]["code"], -32602, "{}", answer.text);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_word_of_a_client_reaches_the_log() {
    let app = TestApp::start().await;
    let process = Process::serve(&app).await;
    let token = app.caller("ana").await.token();
    let canary = "zanzibar-canary";
    let asked = request(1, canary, &json!({canary: canary}));
    let called = request(
        2,
        "tools/call",
        &json!({"name": canary, "arguments": {canary: canary}}),
    );
    for body in [asked, called] {
        let sent = app
            .client()
            .post(format!("{}{MCP}", process.url))
            .bearer_auth(&token)
            .header("Content-Type", "application/json")
            .body(body.to_string());
        let answer = Answer::of(sent).await.ok(200);
        assert!(answer.body["error"].is_object(), "{}", answer.text);
    }
    let told = process.stop().await;
    assert!(told.contains("/mcp"), "the requests were logged");
    assert!(!told.contains(canary), "{told}");
    app.finish().await;
}
