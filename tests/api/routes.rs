//! Every registered route against every kind of caller. A new route without a row fails.

use std::collections::BTreeSet;

use helix::testing::{
    AGENT_ROUTES, AccountType, Caller, TestApp, WORKER_ROUTES, registered_routes,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};
use crate::mcp::client::{call as call_tool, message, request};
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

/// Whether a route asks nobody who they are.
fn is_public(method: &str, path: &str) -> bool {
    let tools = path == "/mcp" && method != "OPTIONS";
    !tools && !path.starts_with("/api/")
}

#[test]
fn every_route_has_a_row_and_every_row_a_route() {
    let of = |pairs: Vec<(&'static str, &'static str)>| pairs.into_iter().collect::<BTreeSet<_>>();
    let known = of(rows().iter().map(|row| (row.method, row.pattern)).collect());
    assert_eq!(known, of(AGENT_ROUTES.to_vec()));
    assert_eq!(known.len(), AGENT_ROUTES.len());
    let registered = registered_routes();
    let asking = registered
        .iter()
        .filter(|(method, path)| !is_public(method, path))
        .map(|(method, path)| (*method, path.as_str()));
    // Callers of workers' routes are walked beside the rest of what workers do.
    let walked = known.into_iter().chain(WORKER_ROUTES);
    let walked: BTreeSet<_> = walked.chain([("POST", "/mcp")]).collect();
    assert_eq!(asking.collect::<BTreeSet<_>>(), walked);
}

/// Tokens of callers that nothing is served to, with the refusal of each.
fn refused_tokens(linked: &Caller, gone: &Caller) -> Vec<(Option<String>, u16, &'static str)> {
    let elsewhere = json!({"aud": "https://elsewhere.example.org"});
    vec![
        (None, 401, "unauthorized"),
        (Some("not.a.token".to_owned()), 401, "unauthorized"),
        (
            Some(linked.token_with(&json!({"exp": 1}))),
            401,
            "unauthorized",
        ),
        (Some(linked.token_with(&elsewhere)), 401, "unauthorized"),
        (
            Some(linked.token_with(&json!({"tenantId": null}))),
            401,
            "tenant_required",
        ),
        (Some(linked.stranger().token()), 403, "account_not_linked"),
        (Some(gone.token()), 403, "account_not_linked"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_routes_answer_every_kind_of_caller_alike_and_leave_no_trace() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let gone = app.caller("gone").await;
    app.unlink(&gone).await;
    let before = Rows::of(&app).await;
    let callers = refused_tokens(&ana, &gone)
        .into_iter()
        .map(|(token, ..)| token);
    let callers: Vec<Option<String>> = callers.chain([Some(ana.token())]).collect();
    for (method, path) in registered_routes() {
        if !is_public(method, &path) {
            continue;
        }
        let url = app.url(&path.replace("{code}", "run_busy"));
        let verb = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut answers = BTreeSet::new();
        for token in &callers {
            let mut request = app.client().request(verb.clone(), &url);
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let answer = Answer::of(request).await;
            assert!(answer.status < 300, "{method} {path}: {}", answer.text);
            assert!(!answer.header("x-request-id").is_empty(), "{method} {path}");
            answers.insert((answer.status, answer.text));
        }
        // The date in a contact moves on while the callers take turns.
        if !path.ends_with("security.txt") {
            assert_eq!(answers.len(), 1, "{method} {path}");
        }
    }
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_caller_gets_its_answer_from_every_tool_and_leaves_no_trace() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let gone = app.caller("gone").await;
    app.unlink(&gone).await;
    let mine = Client::new(&app, &ana);
    let run = mine
        .started("ferry-plan-0001", &json!({"objective": "List"}))
        .await;
    let ben = Client::new(&app, &app.caller("ben").await);
    let before = Rows::of(&app).await;
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let start = json!({"idempotency_key": "ferry-walk-0001", "request": {"objective": "List"}});
    let keyed = json!({"run_id": run, "idempotency_key": "ferry-walk-0001", "request": turn});
    let stop = json!({"expected_version": 1});
    let stop = json!({"run_id": run, "idempotency_key": "ferry-walk-0001", "request": stop});
    let by_run = json!({"run_id": run});
    for (tool, arguments, scope) in [
        ("helix_run_start", &start, WRITE),
        ("helix_run_continue", &keyed, WRITE),
        ("helix_run_cancel", &stop, WRITE),
        ("helix_run_inspect", &by_run, READ),
        ("helix_run_fetch_evidence", &by_run, READ),
        ("helix_run_list_events", &by_run, READ),
    ] {
        for (token, status, code) in refused_tokens(&ana, &gone) {
            let asked = request(
                1,
                "tools/call",
                &json!({"name": tool, "arguments": arguments}),
            );
            let asked = message(
                &mine.with_token(token.unwrap_or_default()),
                asked.to_string(),
            );
            Answer::of(asked).await.expect(status, code);
        }
        let other = if scope == READ { WRITE } else { READ };
        for scopes in ["", other] {
            let refused = call_tool(&mine.with_token(ana.token_of(scopes)), tool, arguments).await;
            assert_eq!(
                refused["structuredContent"]["error"], "insufficient_scope",
                "{tool}"
            );
        }
        if tool != "helix_run_start" {
            let foreign = call_tool(&ben, tool, arguments).await;
            let error = &foreign["structuredContent"]["error"];
            assert_eq!(error, "not_found", "{tool}: {foreign}");
        }
    }
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
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
        let scoped = [
            ana.token_of(""),
            ana.token_of(other_scope(row.scope)),
            ana.token_of(&row.scope.to_uppercase()),
        ];
        let scoped = scoped.map(|token| (Some(token), 403, "insufficient_scope"));
        let refused = refused_tokens(&ana, &gone).into_iter().chain(scoped);
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
