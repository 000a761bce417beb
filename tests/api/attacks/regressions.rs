//! What clients and servers elsewhere got wrong (`access` 14).

use std::time::Duration;

use helix::testing::TestApp;
use reqwest::Method;
use serde_json::json;

use crate::access::app::{OAuthApp, RUN_SCOPES};
use crate::access::browser::Browser;
use crate::harness::{Answer, Client};
use crate::mcp::client::{MCP, message, message_to, request};
use crate::races::beside::Beside;
use crate::work::client::{Agent, WRITE};

const PAGE: &str = "http://localhost:6274";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_discovered_may_still_initialize() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discover = request(1, "server/discover", &json!({"_meta": meta})).to_string();
    let discover = client
        .request(Method::POST, MCP)
        .header("Accept", "application/json")
        .header("Content-Type", "application/json")
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "server/discover")
        .body(discover);
    Answer::of(discover).await.ok(200);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    });
    let hello = message(&client, request(2, "initialize", &hello).to_string());
    let hello = Answer::of(hello).await.ok(200).body;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_401_can_be_read_by_a_page() {
    let app = TestApp::start().await;
    let nobody = Client::new(&app, &app.caller("ana").await).with_token("nonsense".to_owned());
    let ping = request(1, "ping", &json!({})).to_string();
    for path in [MCP, "/workspace/mcp"] {
        let asked = message_to(&nobody, path, ping.clone()).header("Origin", PAGE);
        let refused = Answer::of(asked).await.expect(401, "unauthorized");
        assert_eq!(
            refused.header("access-control-allow-origin"),
            PAGE,
            "{path}"
        );
        let exposed = refused.header("access-control-expose-headers");
        assert!(exposed.contains("WWW-Authenticate"), "{path}: {exposed}");
        assert!(!refused.header("www-authenticate").is_empty());
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_gets_a_tool_door_is_told_at_once_to_post() {
    let app = TestApp::start().await;
    let runs = Client::new(&app, &app.caller("ana").await);
    let work = runs.with_token(Agent::of(&app, "ben", WRITE).await.token);
    for (path, client) in [(MCP, runs), ("/workspace/mcp", work)] {
        for accept in ["text/event-stream", "application/json"] {
            let get = client.request(Method::GET, path).header("Accept", accept);
            let refused = Answer::of(get).await.ok(405);
            assert_eq!(refused.header("allow"), "POST", "{path}");
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_registrations_that_nobody_consented_to_are_swept() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (used, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    OAuthApp::register(&app, "Ebb").await;
    let mut beside = Beside::open(&app).await;
    beside
        .run(
            "insert into access.oauth_client (client_id, auth_method, fingerprint, metadata, registered_at_ms)
             select client_id || '-' || number, auth_method,
                    decode(repeat(md5(number::text), 2), 'hex'), metadata, registered_at_ms
               from access.oauth_client, generate_series(1, 9999) number
              where last_grant_at_ms is null",
        )
        .await;
    let count = "select count(*) from access.oauth_client";
    assert_eq!(beside.number(count).await, 10_001);
    app.freeze().await;
    app.advance(Duration::from_secs(6 * 86_400)).await;
    while app.clean_up().await > 0 {}
    assert_eq!(beside.number(count).await, 10_001);
    app.advance(Duration::from_secs(2 * 86_400)).await;
    while app.clean_up().await > 0 {}
    assert_eq!(beside.number(count).await, 1);
    // The one with a connection is known as before.
    let refreshed = used.refresh(&pair.refresh).await.ok(200);
    assert_eq!(refreshed.body["scope"], RUN_SCOPES);
}
