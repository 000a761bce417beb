//! Bodies that are too much or no message, at every door (`access` 13, K28–K30, K32).

use helix::testing::TestApp;
use serde_json::{Value, json};

use crate::harness::{Answer, Client, RUNS};
use crate::mcp::client::{MCP, message_to};
use crate::raw;
use crate::work::client::{Agent, WRITE};

const WORK: &str = "/workspace/mcp";

/// A client of each door for tools, and the code by which it refuses what is no message.
async fn doors(app: &TestApp) -> [(&'static str, Client<'_>, i64); 2] {
    let runs = Client::new(app, &app.caller("ana").await);
    let work = runs.with_token(Agent::of(app, "ben", WRITE).await.token);
    [(MCP, runs, -32700), (WORK, work, -32600)]
}

fn ping(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_beyond_its_bounds_is_refused_as_none_at_both_doors() {
    let app = TestApp::start().await;
    let nested = |depth: usize| {
        ping(&format!(
            r#"{{"a":{}{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        ))
    };
    let bodies = [
        nested(40),
        nested(10_000),
        ping(&format!(r#"{{"a":[{}1]}}"#, "1,".repeat(20_000))),
        ping(&format!(r#"{{"a":"{}"}}"#, "x".repeat(300 * 1024))),
        ping(r#"{"a":1,"a":2}"#),
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.to_owned(),
        ping(r#"{"a":"\u0000"}"#),
        ping(r#"{"a\u0000":1}"#),
    ];
    for (path, client, _) in doors(&app).await {
        for body in &bodies {
            let refused = Answer::of(message_to(&client, path, body.clone())).await;
            let told = (refused.status, &refused.body["error"]["code"]);
            let start = &body[..body.len().min(80)];
            assert_eq!(told, (400, &json!(-32700)), "{path}: {start}");
            assert_eq!(refused.body["id"], Value::Null);
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_mebibytes_a_million_values_and_an_encoded_body_are_read_by_no_door() {
    let app = TestApp::start().await;
    let long = "x".repeat(2 << 20);
    let many = ping(&format!(r#"{{"a":[{}1]}}"#, "1,".repeat(1_000_000)));
    for (path, client, _) in doors(&app).await {
        for body in [&long, &many] {
            Answer::of(message_to(&client, path, body.clone()))
                .await
                .ok(413);
        }
        let encoded = message_to(&client, path, ping("{}")).header("Content-Encoding", "gzip");
        Answer::of(encoded).await.ok(415);
    }
    let runs = Client::new(&app, &app.caller("cleo").await);
    runs.post_text(RUNS, "ferry-plan-0001", long).await.ok(413);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_does_not_come_is_given_up() {
    let app = TestApp::start().await;
    let [(_, client, _), _] = doors(&app).await;
    let post = format!("POST {RUNS} HTTP/1.1");
    let authorization = format!("authorization: Bearer {}", client.token);
    let head = [
        &post,
        "host: localhost",
        &authorization,
        "idempotency-key: ferry-plan-0001",
        "content-length: 100",
    ];
    let refused = raw::send(&app, &head, b"{").await;
    assert_eq!(refused.status, 408, "{refused:?}");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_envelope_out_of_form_is_refused_at_both_doors_without_an_echo() {
    let app = TestApp::start().await;
    let with = |name: &str, value: Value| {
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        message[name] = value;
        message.to_string()
    };
    let bodies = [
        with("result", json!({})),
        with("more", json!("mark-of-the-sender")),
        with("id", json!(null)),
        with("id", json!(1.5)),
        with("id", json!({})),
        with("jsonrpc", json!("1.0")),
        with("method", json!("m".repeat(10_000))),
        with("params", json!([])),
    ];
    for (path, client, code) in doors(&app).await {
        let mut bodies = bodies.to_vec();
        if path == WORK {
            bodies.push(format!("[{}]", with("id", json!(2))));
        }
        for body in bodies {
            let refused = Answer::of(message_to(&client, path, body.clone())).await;
            let told = (refused.status, &refused.body["error"]["code"]);
            let start = &body[..body.len().min(80)];
            assert_eq!(told, (400, &json!(code)), "{path}: {start}");
            assert_eq!(refused.body["id"], Value::Null);
            assert!(!refused.text.contains("mark-of-the-sender"));
        }
    }
    app.finish().await;
}
