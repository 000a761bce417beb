//! What happens to something under way when its credential ends (`access` 2).

use std::time::Duration;

use futures_util::StreamExt;
use helix::testing::TestApp;
use reqwest::Method;
use serde_json::{Value, json};

use super::app::{OAuthApp, Pair};
use super::bindings::BINDINGS;
use super::browser::{Browser, field};
use crate::harness::{Answer, RUNS};

/// An app's requests for runs.
struct Runs<'a> {
    app: &'a TestApp,
    pair: Pair,
}

impl Runs<'_> {
    async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        let request = self.app.client().post(self.app.url(path));
        let request = request
            .bearer_auth(&self.pair.access)
            .header("Idempotency-Key", key);
        Answer::of(request.body(body.to_string())).await
    }

    async fn started(&self) -> String {
        let body = json!({"objective": "List the ferries"});
        self.post(RUNS, "ferry-plan-0001", &body)
            .await
            .ok(201)
            .run_id()
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Answer {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        });
        let request = self.app.client().post(self.app.url("/mcp"));
        let request = request
            .bearer_auth(&self.pair.access)
            .header("Content-Type", "application/json");
        Answer::of(request.body(message.to_string())).await
    }
}

/// An owner's browser and an app of theirs.
async fn connected(app: &TestApp) -> (Browser<'_>, Runs<'_>) {
    let mut browser = Browser::of_owner(app).await;
    let (_, pair) = OAuthApp::connected(app, &mut browser, "Tide").await;
    (browser, Runs { app, pair })
}

async fn press(browser: &mut Browser<'_>, what: &str) {
    let page = browser.get("/connections").await.ok(200).text;
    let grant = field(&page, "grantId");
    let path = format!("/connections/{what}");
    browser.press(&path, &[("grantId", &grant)]).await.ok(303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_whose_app_is_revoked_is_rolled_back_and_answers_401() {
    for through in ["rest", "mcp"] {
        let app = TestApp::issuing().await;
        let (mut browser, runs) = connected(&app).await;
        let run = runs.started().await;
        let gate = app.script.hold(&json!({}));
        let turn = json!({"expected_version": 1, "instruction": "go"});
        let continued = async {
            if through == "rest" {
                runs.post(&format!("{RUNS}/{run}/continue"), "ferry-turn-0001", &turn)
                    .await
            } else {
                let arguments =
                    json!({"run_id": run, "idempotency_key": "ferry-turn-0001", "request": turn});
                runs.call("helix_run_continue", &arguments).await
            }
        };
        let revoked = async {
            app.script.begun(1).await;
            press(&mut browser, "revoke").await;
        };
        let (answer, ()) = tokio::join!(continued, revoked);
        let answer = answer.expect(401, "unauthorized");
        assert!(
            answer.header("www-authenticate").contains("invalid_token"),
            "{through}"
        );
        gate.open();
        // Another app of the same owner takes over at once, and finds nothing of that turn.
        let (_, pair) = OAuthApp::connected(&app, &mut browser, "Ebb").await;
        let heir = Runs { app: &app, pair };
        let inspected = heir
            .call("helix_run_inspect", &json!({"run_id": run}))
            .await
            .ok(200);
        let seen = &inspected.body["result"]["structuredContent"]["run"];
        assert_eq!(seen["lifecycle_status"], "running", "{seen}");
        assert!(seen["latest_result"].is_null(), "{seen}");
        let turn = json!({"expected_version": seen["version"], "instruction": "go"});
        let path = format!("{RUNS}/{run}/continue");
        heir.post(&path, "ferry-turn-0002", &turn).await.ok(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_ends_with_what_became_of_the_app() {
    for (what, status, code) in [
        ("revoke", 401, "unauthorized"),
        ("pause", 403, "account_policy_blocked"),
    ] {
        let app = TestApp::issuing().await;
        let (mut browser, runs) = connected(&app).await;
        let run = runs.started().await;
        let url = app.url(&format!("{RUNS}/{run}/events?after_seq=1&wait_ms=25000"));
        let polled = Answer::of(app.client().get(url).bearer_auth(&runs.pair.access));
        let (answer, ()) = tokio::join!(polled, press(&mut browser, what));
        answer.expect(status, code);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_stream_is_closed_within_a_second() {
    let app = TestApp::issuing().await;
    let (mut browser, runs) = connected(&app).await;
    let run = runs.started().await;
    let url = app.url(&format!("{RUNS}/{run}/events"));
    let request = app.client().get(url).bearer_auth(&runs.pair.access);
    let response = request
        .header("Accept", "text/event-stream")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let mut pieces = response.bytes_stream();
    let first = pieces.next().await.unwrap().unwrap();
    assert!(
        first.starts_with(b"id: 1\n") || first.starts_with(b"event:"),
        "{first:?}"
    );
    press(&mut browser, "revoke").await;
    let last = tokio::time::timeout(Duration::from_secs(1), pieces.next()).await;
    let last = last.expect("closed in time").unwrap().unwrap();
    let text = String::from_utf8(last.to_vec()).unwrap();
    assert_eq!(
        text,
        "event: closed\ndata: {\"error\":\"unauthorized\"}\n\n"
    );
    assert!(pieces.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unlinked_account_is_told_so_and_its_app_not_to_log_in_again() {
    let app = TestApp::issuing().await;
    let (mut browser, runs) = connected(&app).await;
    runs.started().await;
    let listed = browser.get(BINDINGS).await.ok(200);
    let reference = listed.body["bindings"][0]["binding_ref"].as_str().unwrap();
    Answer::of(browser.lane(Method::DELETE, &format!("{BINDINGS}/{reference}")))
        .await
        .ok(200);
    let refused = super::app::runs(&app, &runs.pair.access).await;
    let refused = refused.expect(403, "account_not_linked");
    assert_eq!(refused.header("www-authenticate"), "");
    // Consent links it anew; the earlier app works again under the same binding.
    let (_, pair) = OAuthApp::connected(&app, &mut browser, "Ebb").await;
    super::app::runs(&app, &pair.access).await.ok(200);
    super::app::runs(&app, &runs.pair.access).await.ok(200);
}
