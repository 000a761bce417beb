//! What never reaches a tool.

use helix::testing::{Setup, TestApp};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{MCP, ask, message, request};
use crate::harness::{Answer, Client};
use crate::rows::Rows;

fn fault(answer: &Answer, status: u16, code: i64) {
    assert_eq!(answer.status, status, "{}", answer.text);
    assert_eq!(
        (&answer.body["error"]["code"], &answer.body["id"]),
        (&json!(code), &Value::Null),
        "{}",
        answer.text
    );
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_ne!(answer.header("x-request-id"), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_no_message_is_refused_whoever_sends_it() {
    let app = TestApp::start().await;
    let ana = Client::new(&app, &app.caller("ana").await);
    let nobody = ana.with_token("nonsense".to_owned());
    let before = Rows::of(&app).await;
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    for body in [
        "{",
        "",
        "[]",
        "7",
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\u0000"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","more":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},7]"#,
        &deep,
    ] {
        for client in [&ana, &nobody] {
            fault(
                &Answer::of(message(client, body.to_owned())).await,
                400,
                -32700,
            );
        }
    }
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credential_material_anywhere_is_refused_and_shown_to_nobody() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let secret = "Bearer abcdefghijkl";
    let before = Rows::of(&app).await;
    for body in [
        json!({"jsonrpc": "2.0", "id": secret, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": secret}),
        request(1, "tools/call", &json!({"name": secret, "arguments": {}})),
        request(
            1,
            "tools/call",
            &json!({"name": "helix_run_inspect", "arguments": {secret: 1}}),
        ),
        request(
            1,
            "tools/call",
            &json!({"name": "helix_run_start", "arguments":
            {"idempotency_key": "ferry-plan-0001", "request": {"objective": secret}}}),
        ),
    ] {
        let answer = Answer::of(message(&client, body.to_string())).await;
        fault(&answer, 400, -32602);
        assert!(!answer.text.contains("abcdefghijkl"), "{}", answer.text);
        assert_eq!(answer.header("pragma"), "no-cache");
    }
    let in_query = client.request(Method::POST, "/mcp?access_token=abcdefghijkl");
    let in_query = in_query
        .header("Accept", "application/json")
        .header("Content-Type", "application/json")
        .body(request(1, "ping", &json!({})).to_string());
    assert_eq!(Answer::of(in_query).await.status, 400);
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_methods_are_refused_before_anybody_is_asked_who_they_are() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    for method in [Method::GET, Method::DELETE, Method::PUT, Method::PATCH] {
        for client in [&client, &client.with_token("nonsense".to_owned())] {
            let answer = Answer::of(client.request(method.clone(), MCP)).await;
            fault(&answer, 405, -32000);
            assert_eq!(answer.header("allow"), "POST");
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_decide_what_can_be_read_and_answered() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let ping = request(1, "ping", &json!({})).to_string();
    let with = |name: &'static str, value: &'static str| {
        let mut headers = vec![
            ("Accept", "application/json"),
            ("Content-Type", "application/json"),
        ];
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value));
        let request = client.request(Method::POST, MCP).body(ping.clone());
        headers.into_iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        })
    };
    for accept in [
        "*/*",
        "application/*",
        "application/json",
        "text/html, application/json;q=0.5",
    ] {
        Answer::of(with("Accept", accept)).await.ok(200);
    }
    fault(&Answer::of(with("Accept", "text/html")).await, 406, -32000);
    let in_two_lines = with("Accept", "text/html").header("Accept", "application/json");
    Answer::of(in_two_lines).await.ok(200);
    fault(
        &Answer::of(with("Content-Type", "text/plain")).await,
        415,
        -32000,
    );
    Answer::of(with("Content-Type", "application/json; charset=utf-8"))
        .await
        .ok(200);
    fault(
        &Answer::of(with("MCP-Protocol-Version", "1999-01-01")).await,
        400,
        -32000,
    );
    for version in [
        "2024-10-07",
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
    ] {
        Answer::of(with("MCP-Protocol-Version", version))
            .await
            .ok(200);
    }
    Answer::of(with("Mcp-Session-Id", "of-another"))
        .await
        .ok(200);
    let encoded = Answer::of(with("Content-Encoding", "gzip")).await;
    encoded.expect(415, "invalid_request");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_nobody_gets_the_challenge_of_this_door() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await).with_token("nonsense".to_owned());
    let answer = ask(&client, "tools/list", &json!({}))
        .await
        .expect(401, "unauthorized");
    let challenge = answer.header("www-authenticate");
    assert!(
        challenge.contains("/.well-known/oauth-protected-resource/mcp\""),
        "{challenge}"
    );
    assert!(
        challenge.contains("scope=\"helix.agent_runs.read helix.agent_runs.write\""),
        "{challenge}"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_an_admitted_origin_may_read_every_answer() {
    let app = TestApp::start().await;
    let ana = Client::new(&app, &app.caller("ana").await);
    let nobody = ana.with_token("nonsense".to_owned());
    let ping = request(1, "ping", &json!({})).to_string();
    let page = "http://localhost:6274";
    for (client, status) in [(&ana, 200), (&nobody, 401)] {
        let asked = message(client, ping.clone()).header("Origin", page);
        let answer = Answer::of(asked).await.ok(status);
        assert_eq!(answer.header("access-control-allow-origin"), page);
        assert_eq!(
            answer.header("access-control-expose-headers"),
            "WWW-Authenticate, X-Request-Id, Retry-After"
        );
        assert_eq!(answer.header("vary"), "Origin");
    }
    let asked = app.client().request(Method::OPTIONS, app.url(MCP));
    let asked = Answer::of(asked.header("Origin", page)).await.ok(204);
    assert_eq!(
        (
            asked.header("access-control-allow-origin"),
            asked.header("access-control-allow-methods")
        ),
        (page, "POST")
    );
    for foreign in ["https://evil.example", "null"] {
        let asked = message(&ana, ping.clone()).header("Origin", foreign);
        let refused = Answer::of(asked).await.expect(403, "origin_not_allowed");
        assert_eq!(refused.header("access-control-allow-origin"), "");
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_message_of_a_batch_counts_against_the_principals_limit() {
    let app = TestApp::with(Setup {
        environment: vec![("HELIX_MCP_PRINCIPAL_RATE_LIMIT", "5".to_owned())],
        ..Setup::default()
    })
    .await;
    app.freeze().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let batch = |count: u64| {
        let messages = (0..count).map(|id| request(id, "ping", &json!({})));
        Value::Array(messages.collect()).to_string()
    };
    let four = Answer::of(message(&client, batch(4))).await.ok(200);
    assert_eq!(four.body.as_array().unwrap().len(), 4);
    assert_eq!(four.header("x-ratelimit-remaining"), "1");
    Answer::of(message(&client, batch(2)))
        .await
        .expect(429, "rate_limited");
    app.finish().await;
}
