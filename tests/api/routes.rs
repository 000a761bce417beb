//! Every registered route against every kind of caller. A new route without a row fails.

use std::collections::BTreeSet;

use helix::testing::{AGENT_ROUTES, AccountType, TestApp};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};
use crate::rows::Rows;

const READ: &str = "helix.agent_runs.read";
const WRITE: &str = "helix.agent_runs.write";

/// What a route needs and what its owner gets.
struct Row {
    method: &'static str,
    pattern: &'static str,
    scope: &'static str,
    body: Option<Value>,
    /// The status for a good request of the owner.
    good: u16,
}

fn rows() -> Vec<Row> {
    let row = |method, pattern, scope, body, good| Row {
        method,
        pattern,
        scope,
        body,
        good,
    };
    let get = |pattern, good| row("GET", pattern, READ, None, good);
    let post = |pattern, body, good| row("POST", pattern, WRITE, Some(body), good);
    vec![
        post("/api/v1/agent-runs", json!({"objective": "List"}), 201),
        get("/api/v1/agent-runs", 200),
        get("/api/v1/agent-runs/{run_id}", 200),
        post(
            "/api/v1/agent-runs/{run_id}/continue",
            json!({"expected_version": 1, "instruction": "go"}),
            200,
        ),
        post(
            "/api/v1/agent-runs/{run_id}/cancel",
            json!({"expected_version": 3}),
            200,
        ),
        get("/api/v1/agent-runs/{run_id}/events", 200),
        get("/api/v1/agent-runs/{run_id}/evidence", 200),
        get("/api/v1/agent-runs/{run_id}/evidence/{ref}", 404),
        get("/api/v1/agent-runs/{run_id}/log", 200),
    ]
}

/// Calls a route for the run `run`, with the token or none.
async fn call(app: &TestApp, row: &Row, run: &str, token: Option<&str>, key: &str) -> Answer {
    let path = row
        .pattern
        .replace("{run_id}", run)
        .replace("{ref}", "evidence%3Anone");
    let method = Method::from_bytes(row.method.as_bytes()).expect("a method");
    let mut request = app.client().request(method, app.url(&path));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if let Some(body) = &row.body {
        request = request
            .header("Idempotency-Key", key)
            .body(body.to_string());
    }
    Answer::of(request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_has_a_row_and_every_row_a_route() {
    let of = |pairs: Vec<(&'static str, &'static str)>| pairs.into_iter().collect::<BTreeSet<_>>();
    let known = of(rows().iter().map(|row| (row.method, row.pattern)).collect());
    assert_eq!(known, of(AGENT_ROUTES.to_vec()));
    assert_eq!(known.len(), AGENT_ROUTES.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_caller_gets_its_answer_on_every_route_and_leaves_no_trace() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let gone = app.caller("gone").await;
    app.unlink(&gone).await;
    let ben = app.caller("ben").await;
    let other_tenant = app.linked("ana", "other-coop", AccountType::User).await;
    let mine = Client::new(&app, &ana);
    let run = mine
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    // One digit apart: as likely as any run to be somebody's.
    let digit = if run.as_bytes()[4] == b'0' { "1" } else { "0" };
    let missing = format!("run_{digit}{}", &run[5..]);
    let before = Rows::of(&app).await;
    let other_scope = |scope: &str| if scope == READ { WRITE } else { READ };
    for row in rows() {
        let name = format!("{} {}", row.method, row.pattern);
        let refused = [
            (None, 401, "unauthorized"),
            (Some("not.a.token".to_owned()), 401, "unauthorized"),
            (
                Some(ana.token_with(&json!({"exp": 1}))),
                401,
                "unauthorized",
            ),
            (
                Some(ana.token_with(&json!({"aud": "https://elsewhere.example.org"}))),
                401,
                "unauthorized",
            ),
            (
                Some(ana.token_with(&json!({"tenantId": null}))),
                401,
                "tenant_required",
            ),
            (Some(ana.stranger().token()), 403, "account_not_linked"),
            (Some(gone.token()), 403, "account_not_linked"),
            (Some(ana.token_of("")), 403, "insufficient_scope"),
            (
                Some(ana.token_of(other_scope(row.scope))),
                403,
                "insufficient_scope",
            ),
            (
                Some(ana.token_of(&row.scope.to_uppercase())),
                403,
                "insufficient_scope",
            ),
        ];
        for (token, status, code) in refused {
            for run in [&run, &missing] {
                let answer = call(&app, &row, run, token.as_deref(), "ferry-walk-0001").await;
                let answer = answer.expect(status, code);
                let challenged = status == 401 || code == "insufficient_scope";
                assert_eq!(
                    !answer.header("www-authenticate").is_empty(),
                    challenged,
                    "{name}"
                );
                if code == "insufficient_scope" {
                    assert_eq!(
                        answer.body["details"]["required_scope"], row.scope,
                        "{name}"
                    );
                }
            }
        }
        if row.pattern.contains("{run_id}") {
            let absent = call(&app, &row, &missing, Some(&ana.token()), "ferry-walk-0001").await;
            let absent = absent.expect(404, "not_found");
            for foreign in [&ben, &other_tenant] {
                let answer =
                    call(&app, &row, &run, Some(&foreign.token()), "ferry-walk-0001").await;
                assert_same(&name, &absent, &answer);
            }
        }
    }
    assert_eq!(Rows::of(&app).await, before);
    for row in rows() {
        let answer = call(
            &app,
            &row,
            &run,
            Some(&ana.token_of(row.scope)),
            "ferry-walk-0001",
        )
        .await;
        assert_eq!(
            answer.status, row.good,
            "{} {}: {}",
            row.method, row.pattern, answer.text
        );
    }
    app.finish().await;
}

/// A foreign thing looks like a missing one, down to the headers.
#[track_caller]
fn assert_same(name: &str, absent: &Answer, foreign: &Answer) {
    let of = |answer: &Answer| {
        let mut body = answer.body.clone();
        assert_eq!(body["request_id"], answer.header("x-request-id"));
        body["request_id"] = Value::Null;
        let mut names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
        names.sort();
        (answer.status, body, names, answer.text.len())
    };
    assert_eq!(of(absent), of(foreign), "{name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_methods_are_refused_with_those_that_exist() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    for row in rows() {
        let path = row.pattern.replace("{run_id}", &run).replace("{ref}", "r");
        let known: BTreeSet<&str> = AGENT_ROUTES
            .iter()
            .filter(|(_, pattern)| *pattern == row.pattern)
            .map(|(method, _)| *method)
            .collect();
        for method in [
            "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE",
        ] {
            if known.contains(method) {
                continue;
            }
            let request = client.request(Method::from_bytes(method.as_bytes()).unwrap(), &path);
            let answer = Answer::of(request).await.expect(405, "invalid_request");
            let allowed: BTreeSet<&str> = answer.header("allow").split(", ").collect();
            assert_eq!(allowed, known, "{method} {path}");
        }
    }
    app.finish().await;
}
