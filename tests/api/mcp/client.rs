//! An MCP client as far as the wire goes.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::{Answer, Client};

pub const MCP: &str = "/mcp";

/// A message to `/mcp`, with the headers clients of the contract send.
pub fn message(client: &Client<'_>, body: impl Into<reqwest::Body>) -> RequestBuilder {
    message_to(client, MCP, body)
}

/// The same to another door's tools.
pub fn message_to(
    client: &Client<'_>,
    path: &str,
    body: impl Into<reqwest::Body>,
) -> RequestBuilder {
    client
        .request(Method::POST, path)
        .header("Accept", "application/json, text/event-stream")
        .header("Content-Type", "application/json")
        .header("MCP-Protocol-Version", "2025-06-18")
        .body(body)
}

pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub async fn ask(client: &Client<'_>, method: &str, params: &Value) -> Answer {
    Answer::of(message(client, request(1, method, params).to_string())).await
}

/// Calls a tool; the result, whether it is an error or not.
pub async fn call(client: &Client<'_>, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = ask(client, "tools/call", &params).await.ok(200);
    assert_eq!(
        (&answer.body["jsonrpc"], &answer.body["id"]),
        (&json!("2.0"), &json!(1))
    );
    let result = answer.body["result"].clone();
    let text = result["content"][0]["text"].as_str().expect("a text");
    let told: Value = serde_json::from_str(text).expect("the text is JSON");
    assert_eq!(told, result["structuredContent"], "{text}");
    result
}

/// The published rows of the tools.
pub async fn listed(client: &Client<'_>) -> Vec<Value> {
    let answer = ask(client, "tools/list", &json!({})).await.ok(200);
    answer.body["result"]["tools"]
        .as_array()
        .expect("tools")
        .clone()
}
