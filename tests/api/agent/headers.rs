//! Headers of requests and answers: request ids, hosts and origins, envelopes.

use std::time::Duration;

use helix::testing::{Setup, TestApp};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection};

use crate::harness::{Answer, Client, RUNS};
use crate::raw;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_request_id_is_echoed_cut_or_replaced() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let ask = async |id: &str| {
        let request = client
            .request(Method::GET, &format!("{RUNS}/run_abc"))
            .header("X-Request-Id", id);
        Answer::of(request).await.expect(400, "invalid_request")
    };
    let long = "r".repeat(200);
    for (id, echoed) in [
        ("tide-42", "tide-42"),
        ("  tide 42  ", "tide 42"),
        (long.as_str(), &long[..160]),
    ] {
        let answer = ask(id).await;
        assert_eq!(answer.header("x-request-id"), echoed);
        assert_eq!(answer.body["request_id"], echoed);
    }
    let cut_secret = format!("{}helix_room_src_x", "r ".repeat(79));
    for id in [
        "",
        "   ",
        "Bearer abcdefghijkl",
        "access_token=1",
        cut_secret.as_str(),
    ] {
        let answer = ask(id).await;
        let made = answer.header("x-request-id");
        let uuid = made
            .strip_prefix("agent_req_")
            .unwrap_or_else(|| panic!("{id:?}: {made}"));
        assert!(uuid::Uuid::parse_str(uuid).is_ok());
        assert_eq!(answer.body["request_id"], made);
        let rejected = id.trim();
        assert!(rejected.is_empty() || !answer.text.contains(rejected));
    }
    let first = ask("").await;
    assert_ne!(
        first.header("x-request-id"),
        ask("").await.header("x-request-id")
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_forbids_caching_and_names_its_request() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let started = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .ok(201);
    let run = started.run_id();
    let nobody = client.with_token("nobody".to_owned());
    let answers = [
        started,
        client.get(RUNS).await.ok(200),
        client.get(&format!("{RUNS}/{run}/events")).await.ok(200),
        client.get(&format!("{RUNS}/{run}/log")).await.ok(200),
        client.get(&format!("{RUNS}/run_abc")).await.ok(400),
        client
            .get(&format!("{RUNS}/run_{}", uuid::Uuid::nil()))
            .await
            .ok(404),
        nobody.get(RUNS).await.ok(401),
        client.get("/api/v1/nothing").await.ok(404),
        client.post_text(RUNS, "ferry-plan-0002", "{").await.ok(400),
        Answer::of(client.request(Method::DELETE, RUNS))
            .await
            .ok(405),
        Answer::of(client.request(Method::PUT, &format!("{RUNS}/{run}")))
            .await
            .ok(405),
    ];
    for answer in &answers {
        assert_eq!(
            answer.header("cache-control"),
            "no-store",
            "{}",
            answer.text
        );
        assert_eq!(answer.header("pragma"), "no-cache");
        assert!(answer.header("x-request-id").starts_with("agent_req_"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        if answer.status >= 400 {
            let body = &answer.body;
            assert_eq!(
                body["schema"], "helix.agent_api.error.v1",
                "{}",
                answer.text
            );
            assert_eq!(body["request_id"], answer.header("x-request-id"));
            assert!(body["message"].is_string() && body["retryable"].is_boolean());
        }
    }
    assert_eq!(
        (answers[9].header("allow"), answers[10].header("allow")),
        ("GET, POST", "GET")
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditional_headers_change_nothing() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    for (name, value) in [
        ("If-None-Match", "W/\"agent-run-1\""),
        ("If-Match", "\"other\""),
    ] {
        let request = client
            .request(Method::GET, &format!("{RUNS}/{run}"))
            .header(name, value);
        let answer = Answer::of(request).await.ok(200);
        assert_eq!(answer.header("etag"), "W/\"agent-run-1\"");
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_come_as_problem_json_to_those_who_ask_for_it() {
    let app = TestApp::with(Setup {
        settings: vec![("public_url", "https://helix.example.org/base".to_owned())],
        ..Setup::default()
    })
    .await;
    let client = Client::new(&app, &app.caller("ana").await);
    let request = client
        .request(Method::POST, RUNS)
        .header("Accept", "text/html;q=0.5, application/problem+json")
        .header("X-Request-Id", "tide-42")
        .body("{}");
    let answer = Answer::of(request).await.ok(400);
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(
        answer.body["type"],
        "https://helix.example.org/base/errors/invalid_request"
    );
    assert_eq!(
        (&answer.body["status"], &answer.body["request_id"]),
        (&json!(400), &json!("tide-42"))
    );
    assert!(answer.body["title"].is_string() && answer.body["detail"].is_string());
    assert!(answer.body["details"]["issues"].is_array());
    let plain = client
        .post_text(RUNS, "ferry-plan-0001", "{}")
        .await
        .ok(400);
    assert_eq!(plain.header("content-type"), "application/json");
    let good = client
        .request(Method::GET, RUNS)
        .header("Accept", "application/problem+json");
    assert_eq!(
        Answer::of(good).await.ok(200).header("content-type"),
        "application/json"
    );
    app.finish().await;
}

const ADMITTED: &[&[&str]] = &[
    &["host: helix.example.org"],
    &["host: HELIX.example.org:443"],
    &["host: localhost:99"],
    &["host: [::1]"],
    &["host: 127.0.0.1", "origin: http://127.0.0.1:5173"],
    &[
        "host: helix.example.org",
        "origin: https://tool.example.org",
    ],
    &[
        "host: helix.example.org",
        "origin: https://helix.example.org",
    ],
    &["host: helix.example.org", "origin:"],
];

const REFUSED: &[(&[&str], &str)] = &[
    (&["host: evil.example"], "host_not_allowed"),
    (
        &["host: helix.example.org.evil.example"],
        "host_not_allowed",
    ),
    (&["host: user@helix.example.org"], "host_not_allowed"),
    (
        &["host: helix.example.org", "host: helix.example.org"],
        "host_not_allowed",
    ),
    (&["host: helix.example.org:444"], "host_not_allowed"),
    (
        &["host: helix.example.org", "origin: null"],
        "origin_not_allowed",
    ),
    (
        &[
            "host: helix.example.org",
            "origin: https://helix.example.org.evil.example",
        ],
        "origin_not_allowed",
    ),
    (
        &[
            "host: helix.example.org",
            "origin: http://helix.example.org",
        ],
        "origin_not_allowed",
    ),
    (
        &[
            "host: helix.example.org",
            "origin: https://tool.example.org",
            "origin: https://tool.example.org",
        ],
        "origin_not_allowed",
    ),
    (&["host: evil.example", "origin: null"], "host_not_allowed"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_and_origins_are_compared_whole_before_anything_is_read() {
    let app = TestApp::with(Setup {
        settings: vec![
            ("public_url", "https://helix.example.org".to_owned()),
            (
                "agent_allowed_origins",
                "https://tool.example.org".to_owned(),
            ),
        ],
        ..Setup::default()
    })
    .await;
    let ana = app.caller("ana").await;
    let authorization = format!("authorization: Bearer {}", ana.token());
    let get = format!("GET {RUNS} HTTP/1.1");
    let ask = async |lines: &[&str]| {
        let head: Vec<&str> = [get.as_str(), authorization.as_str()]
            .into_iter()
            .chain(lines.iter().copied())
            .collect();
        raw::send(&app, &head, b"").await
    };
    for lines in ADMITTED {
        let answer = ask(lines).await;
        assert_eq!(answer.status, 200, "{lines:?}: {answer:?}");
    }
    for (lines, code) in REFUSED {
        let answer = ask(lines).await;
        if lines.len() == 2 && lines[0] == lines[1] && answer.status == 400 {
            // Two hosts are no request at all.
            continue;
        }
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (403, &json!(code)),
            "{lines:?}: {answer:?}"
        );
        assert!(
            answer.header("x-request-id").is_some() && answer.header("www-authenticate").is_none()
        );
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(!answer.body.contains("evil"));
    }
    // The place of a request is judged before its body, its token and its path.
    for line in [
        format!("POST {RUNS} HTTP/1.1"),
        format!("DELETE {RUNS} HTTP/1.1"),
        "GET /api/v1/nothing HTTP/1.1".to_owned(),
    ] {
        let answer = raw::send(
            &app,
            &[&line, "host: evil.example", "content-length: 1"],
            b"{",
        )
        .await;
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (403, &Value::from("host_not_allowed")),
            "{line}"
        );
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_production_loopback_is_no_excuse_and_https_is_required() {
    let app = TestApp::with(Setup {
        settings: vec![
            ("production", "on".to_owned()),
            ("public_url", "https://helix.example.org".to_owned()),
            ("agent_allowed_hosts", "helix.example.org".to_owned()),
            ("trust_proxy", "loopback".to_owned()),
        ],
        environment: vec![
            ("HELIX_AGENT_ALLOW_LOCAL_HS256", String::new()),
            ("HELIX_AGENT_LOCAL_JWT_SECRET", String::new()),
            (
                "HELIX_AGENT_OAUTH_JWKS_URL",
                "https://id.example.org/keys".to_owned(),
            ),
        ],
        ..Setup::default()
    })
    .await;
    let get = format!("GET {RUNS} HTTP/1.1");
    let ask = async |lines: &[&str]| {
        let head: Vec<&str> = [get.as_str()]
            .into_iter()
            .chain(lines.iter().copied())
            .collect();
        raw::send(&app, &head, b"").await
    };
    let (host, https) = ("host: helix.example.org", "x-forwarded-proto: https");
    for (lines, status, code) in [
        (&["host: evil.example", https][..], 403, "host_not_allowed"),
        (
            &["host: helix.example.org.evil.example", https],
            403,
            "host_not_allowed",
        ),
        (&["host: localhost", https], 403, "host_not_allowed"),
        (&["host: 127.0.0.1", https], 403, "host_not_allowed"),
        (&[host, https, "origin: null"], 403, "origin_not_allowed"),
        (
            &[
                host,
                https,
                "origin: https://helix.example.org.evil.example",
            ],
            403,
            "origin_not_allowed",
        ),
        (
            &[host, https, "origin: http://127.0.0.1:5173"],
            403,
            "origin_not_allowed",
        ),
        (&[host], 403, "https_required"),
        (&[host, "x-forwarded-proto: http"], 403, "https_required"),
        (&[host, https], 401, "unauthorized"),
        (
            &[host, https, "origin: https://helix.example.org"],
            401,
            "unauthorized",
        ),
    ] {
        let answer = ask(lines).await;
        let code = json!(code);
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (status, &code),
            "{lines:?}: {answer:?}"
        );
        assert!(answer.header("x-request-id").is_some());
        assert_eq!(
            answer.header("www-authenticate").is_some(),
            status == 401,
            "{lines:?}"
        );
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_told_to_those_who_ask_for_the_head_alone() {
    let app = TestApp::start().await;
    for path in ["/healthz", "/readyz"] {
        let head = app.client().head(app.url(path));
        let asked = Answer::of(head.header("X-Request-Id", "ferry-1"))
            .await
            .ok(200);
        assert_eq!(
            (
                asked.text.as_str(),
                asked.header("cache-control"),
                asked.header("x-request-id")
            ),
            ("", "no-store", "ferry-1")
        );
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_takes_no_writes_is_not_ready() {
    let app = TestApp::start().await;
    let mut database = PgConnection::connect_with(&app.database().options)
        .await
        .unwrap();
    let full = "create function es.full_disk() returns trigger language plpgsql as $$
        begin raise exception 'could not extend file' using errcode = '53100'; end $$;
        create trigger full_disk before insert or update on es.lease
            for each row when (new.task = 'write_check') execute function es.full_disk()";
    database.execute(full).await.unwrap();
    let mut tick = tokio::time::interval(Duration::from_millis(50));
    let mut answers = async |status| loop {
        tick.tick().await;
        let asked = Answer::of(app.client().get(app.url("/readyz"))).await;
        if asked.status == status {
            return asked;
        }
    };
    let asked = answers(503).await;
    assert_eq!(
        asked.body["checks"],
        json!({"database": "ok", "writes": "unavailable", "migrations": "ok", "keys": "ok"})
    );
    assert_eq!(asked.header("retry-after"), "1");
    database
        .execute("drop trigger full_disk on es.lease")
        .await
        .unwrap();
    let asked = answers(200).await;
    assert_eq!(asked.body["checks"]["writes"], "ok");
    database.close().await.unwrap();
    app.finish().await;
}
