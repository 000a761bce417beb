//! More requests than places: who is turned away, what that leaves behind, and who still gets in.

use helix::testing::{Setup, TestApp};
use reqwest::Method;
use serde_json::json;

use super::beside::{APPENDS, Beside, stands};
use crate::access::browser::Browser;
use crate::harness::{Answer, Client};
use crate::mcp::client as mcp;
use crate::work::person::Person;

#[track_caller]
fn check_shed(answer: &Answer) {
    let seconds: u32 = answer.header("retry-after").parse().unwrap();
    assert!((1..=3).contains(&seconds));
    assert_eq!(answer.body["schema"], "helix.agent_api.error.v1");
    assert_eq!(answer.body["retryable"], true);
    assert!(!answer.header("x-request-id").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_turned_away_has_reserved_nothing_and_withdrawals_pass_through_either_door() {
    // Two places for ordinary requests, two for withdrawals.
    let app = TestApp::with(Setup {
        settings: vec![("max_requests", "4".to_owned())],
        ..Setup::default()
    })
    .await;
    let client = Client::new(&app, &app.caller("ana").await);
    let plan = json!({"objective": "List the ferries"});
    let first = client.started("to-be-ended-1", &plan).await;
    let second = client.started("to-be-ended-2", &plan).await;
    let mut beside = Beside::open(&app).await;
    beside
        .run("begin; lock table es.lane in exclusive mode")
        .await;
    let full = async {
        stands(&app, APPENDS, 2).await;
        let shed = client.start("turned-away-1", &plan).await;
        check_shed(&shed.expect(503, "internal_error"));
        let arguments = json!({"idempotency_key": "turned-away-2", "request": plan});
        let params = json!({"name": "helix_run_start", "arguments": arguments});
        let shed = mcp::ask(&client, "tools/call", &params).await;
        check_shed(&shed.expect(503, "internal_error"));
        let turn = json!({"expected_version": 1, "instruction": "go"});
        let shed = client.continue_run(&first, "turned-away-3", &turn).await;
        check_shed(&shed.expect(503, "internal_error"));
    };
    let withdrawals = async {
        full.await;
        let ends = json!({"expected_version": 1});
        let arguments = json!({"run_id": second, "idempotency_key": "end-of-2", "request": ends});
        tokio::join!(
            client.cancel(&first, "end-of-1", &ends),
            mcp::call(&client, "helix_run_cancel", &arguments),
            async {
                // Both wait for the database and for nothing else.
                stands(&app, APPENDS, 4).await;
                beside.run("rollback").await;
            }
        )
    };
    let (one, two, (ended, ended_by_tool, ())) = tokio::join!(
        client.start("finds-a-place-1", &plan),
        client.start("finds-a-place-2", &plan),
        withdrawals
    );
    one.ok(201);
    two.ok(201);
    assert_eq!(ended.ok(200).body["lifecycle_status"], "cancelled");
    assert_eq!(
        ended_by_tool["structuredContent"]["run"]["lifecycle_status"],
        "cancelled"
    );
    // Another request under the same keys: nothing is known of the first.
    for key in ["turned-away-1", "turned-away-2"] {
        let other = client.start(key, &json!({"objective": "Another"})).await;
        assert_eq!(other.ok(201).header("idempotency-replayed"), "false");
    }
    let metrics = app.metrics(0).await;
    assert!(
        metrics.contains(
            "helix_http_requests_shed_total{places=\"ordinary\",reason=\"waited_too_long\"} 3"
        ),
        "{metrics}"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_ends_a_session_while_nobody_else_is_recognised() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let wish = json!({ "name": "night", "scopes": ["brief:read"], "reach": { "kind": "all" } });
    let token = owner.post("/tokens", &wish).await.ok(201).body["token"].clone();
    let token = token.as_str().unwrap();
    let csrf = owner.browser.csrf().await;
    let mut leaving = owner.browser.clone();
    let mut beside = Beside::open(&app).await;
    beside
        .run("begin; lock table access.named_token in access exclusive mode")
        .await;
    let path = owner.path("");
    let ask = || async {
        let request = Browser::new(&app).request(Method::GET, &path);
        Answer::of(request.bearer_auth(token)).await
    };
    let crowd = async { tokio::join!(ask(), ask(), ask(), ask()) };
    let sign_out = async {
        stands(&app, "helix_http_requests_waiting{places=\"entrance\"}", 1).await;
        let form = [("csrf", csrf.as_str())];
        leaving.submit("/sign-out", &form).await.ok(303);
        beside.run("rollback").await;
    };
    let (crowd, ()) = tokio::join!(crowd, sign_out);
    crowd.0.ok(200);
    owner.browser.get("/").await.ok(303);
    app.finish().await;
}
