//! Which credential opens which door, and what is refused before anything is looked at.

use helix::testing::{AGENT_ROUTES, WORKER_ROUTES};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{CLAIM, HEARTBEAT, TOOL, Worker, app, app_with, go, started_bare};
use crate::harness::{Answer, Client};
use crate::rows::Rows;

fn body_of(path: &str) -> Value {
    match path.rsplit('/').next().unwrap() {
        "claim" => json!({"worker": "w"}),
        "heartbeat" => json!({"turn_token": "t"}),
        "tool" => json!({"turn_token": "t", "capability": "docs.search", "arguments": {}}),
        _ => json!({"turn_token": "t", "product": {}}),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_worker_routes_take_a_worker_token_and_nothing_else() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let worker = Worker::new(&app).await;
    let (gone, id) = app.worker_token("gone").await;
    app.revoke_worker_token(id).await;
    let before = Rows::of(&app).await;
    let forged = format!("{}0", &worker.token[..worker.token.len() - 1]);
    for (method, path) in WORKER_ROUTES {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let body = body_of(path);
        for token in [
            None,
            Some(ana.token()),
            Some(gone.clone()),
            Some(forged.clone()),
        ] {
            let mut request = app.client().request(method.clone(), app.url(path));
            if let Some(token) = &token {
                request = request.bearer_auth(token);
            }
            let refused = Answer::of(request.body(body.to_string())).await;
            let refused = refused.expect(401, "unauthorized");
            assert!(
                refused
                    .header("www-authenticate")
                    .starts_with("Bearer error=")
            );
            assert!(!refused.text.contains("hx_wk_"), "{}", refused.text);
        }
        let twice = app
            .client()
            .request(method.clone(), app.url(path))
            .bearer_auth(&worker.token)
            .bearer_auth(&worker.token)
            .body(body.to_string());
        Answer::of(twice).await.expect(400, "invalid_request");
        // Never by the query or the body.
        let in_query = format!("{}?token={}", app.url(path), worker.token);
        let request = app.client().request(method.clone(), in_query);
        Answer::of(request.body(body.to_string()))
            .await
            .expect(400, "invalid_request");
        let (status, code) = match path.rsplit('/').next().unwrap() {
            "claim" => (204, ""),
            _ => (409, "attempt_fenced"),
        };
        worker.post(path, &body).await.expect(status, code);
    }
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_token_opens_no_other_door() {
    let app = app().await;
    let worker = Worker::new(&app).await;
    let client = Client::new(&app, &app.caller("ana").await).with_token(worker.token.clone());
    for (method, pattern) in AGENT_ROUTES {
        let path = pattern
            .replace("{run_id}", "run_00000000-0000-7000-8000-000000000001")
            .replace("{ref}", "evidence%3Anone");
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = client.request(method, &path).body("{}");
        Answer::of(request).await.expect(401, "unauthorized");
    }
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let request = client
        .request(Method::POST, "/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(hello.to_string());
    assert_eq!(Answer::of(request).await.status, 401);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_methods_are_refused_with_the_one_that_exists() {
    let app = app().await;
    let worker = Worker::new(&app).await;
    for (_, path) in WORKER_ROUTES {
        for method in ["GET", "PUT", "DELETE", "PATCH"] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = app.client().request(method, app.url(path));
            let refused = Answer::of(request.bearer_auth(&worker.token)).await;
            let refused = refused.expect(405, "invalid_request");
            assert_eq!(refused.header("allow"), "POST");
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_out_of_form_or_bounds_is_refused_and_changes_nothing() {
    let app = app().await;
    let worker = Worker::new(&app).await;
    for (path, body) in [
        (CLAIM, json!({})),
        (CLAIM, json!({"worker": "w", "wait_ms": 25_001})),
        (CLAIM, json!({"worker": "w", "more": 1})),
        (HEARTBEAT, json!({"turn_token": 7})),
        (TOOL, json!({"turn_token": "t", "capability": "c"})),
        (
            TOOL,
            json!({"turn_token": "t", "capability": "c", "arguments": {"q": "Bearer abcdefghijklmnop"}}),
        ),
    ] {
        let refused = worker.post(path, &body).await;
        let refused = refused.expect(400, "invalid_request");
        assert_eq!(refused.body["schema"], "helix.agent_api.error.v1");
    }
    let wide = json!({"worker": "w".repeat(1 << 20)});
    worker
        .post(CLAIM, &wide)
        .await
        .expect(413, "invalid_request");
    let url = app.url(CLAIM);
    let request = app.client().post(url).bearer_auth(&worker.token);
    let torn = Answer::of(request.body("{\"worker\":\"a\",\"worker\":\"b\"}")).await;
    torn.expect(400, "invalid_request");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_routes_have_limits_of_their_own_by_address_and_by_token() {
    let app = app_with(&[
        ("worker_ip_rate_limit", "6"),
        ("worker_token_rate_limit", "2"),
    ])
    .await;
    let (one, other) = (Worker::new(&app).await, Worker::new(&app).await);
    one.try_claim(0).await.ok(204);
    let second = one.try_claim(0).await.ok(204);
    assert_eq!(second.header("x-ratelimit-limit"), "2");
    let limited = one.try_claim(0).await.ok(429);
    assert_eq!(limited.body["error"], "rate_limited");
    other.try_claim(0).await.ok(204);
    other.try_claim(0).await.ok(204);
    // The sixth of the address is the third of the token.
    other.try_claim(0).await.ok(429);
    let third = Worker::new(&app).await;
    let limited = third.try_claim(0).await.ok(429);
    assert_eq!(limited.header("x-ratelimit-limit"), "6");
    // The run door counts apart.
    let client = Client::new(&app, &app.caller("ana").await);
    started_bare(&client, "ferry-plan-0001").await;
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_worker_is_refused_at_once_and_its_turn_goes_to_another() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let (token, id) = app.worker_token("leaving").await;
    let leaving = Worker {
        token,
        ..Worker::new(&app).await
    };
    let staying = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = leaving.claim().await;
        let waiting = leaving.try_claim(25_000);
        let revoked = async { app.revoke_worker_token(id).await };
        let (waited, ()) = tokio::join!(waiting, revoked);
        waited.expect(401, "unauthorized");
        leaving.heartbeat(&turn).await.expect(401, "unauthorized");
        leaving
            .complete(&turn, &json!({}))
            .await
            .expect(401, "unauthorized");
        let again = staying.claim().await;
        assert_eq!(again.given["attempt"], 2);
        // A bearer is of its worker, and of nobody else.
        staying.heartbeat(&turn).await.expect(409, "attempt_fenced");
        staying.complete(&again, &json!({})).await.ok(200);
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.ok(200);
    app.finish().await;
}
