//! Heads that are none, too long or too late, and what stands before and behind them.

use std::time::{Duration, Instant};

use helix::testing::TestApp;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::harness::{Client, RUNS};
use crate::process::Process;
use crate::raw::{self, RawAnswer};
use crate::rows::Rows;

/// A request of the list of runs, without the end of its head.
fn list(token: &str, fields: &str) -> String {
    format!("GET {RUNS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{fields}")
}

/// How many requests the router has answered, by the metrics of all routes.
async fn routed(app: &TestApp) -> u64 {
    sum(
        &app.metrics(0).await,
        "helix_http_request_duration_seconds_count",
    )
}

/// How many connections were cut.
async fn cut(app: &TestApp) -> u64 {
    sum(&app.metrics(0).await, "helix_http_connections_cut_total")
}

fn sum(metrics: &str, name: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(name));
    let values = lines.filter_map(|line| line.rsplit(' ').next());
    values.map(|value| value.parse::<u64>().unwrap()).sum()
}

#[track_caller]
fn check_refusal(answer: &RawAnswer, status: u16, what: &str) {
    let body = answer.json();
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    assert_eq!(body["schema"], "helix.agent_api.error.v1", "{what}");
    assert_eq!(body["error"], "invalid_request", "{what}");
    assert_eq!(body["retryable"], false, "{what}");
    let id = body["request_id"].as_str().unwrap();
    assert!(id.starts_with("helix_req_"), "{what}: {id}");
    for (name, value) in [
        ("x-request-id", id),
        ("content-type", "application/json"),
        ("cache-control", "no-store"),
        ("pragma", "no-cache"),
        ("x-content-type-options", "nosniff"),
        ("connection", "close"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{what}");
    }
    assert!(answer.header("date").is_some() && answer.header("www-authenticate").is_none());
}

/// Heads by name, and how they are refused.
fn refused(token: &str) -> Vec<(&'static str, String, u16)> {
    let head = |fields: &str| list(token, fields) + "\r\n";
    let post = |fields: &str| head(fields).replacen("GET", "POST", 1);
    let many = |count: usize| head(&"x: 1\r\n".repeat(count - 2));
    let long = |bytes: usize| {
        let rest = bytes - head("x: \r\n").len();
        head(&format!("x: {}\r\n", "a".repeat(rest)))
    };
    let both = "content-length: 5\r\ntransfer-encoding: chunked\r\n";
    let line = |line: &str| format!("{line}\r\nhost: localhost\r\n\r\n");
    vec![
        ("bare LF", head("").replace("\r\n", "\n"), 400),
        ("bare LF at the end", list(token, "\n"), 400),
        ("bare CR", head("x: a\rb\r\n"), 400),
        ("obs-fold", head("x: a\r\n b\r\n"), 400),
        ("space before the colon", head("x : a\r\n"), 400),
        ("space in a name", head("x y: a\r\n"), 400),
        ("no colon", head("x\r\n"), 400),
        ("NUL", head("x: a\0b\r\n"), 400),
        ("a control character", head("x: \u{1b}[1m\r\n"), 400),
        (
            "Content-Length and Transfer-Encoding",
            post(both) + "0\r\n\r\n",
            400,
        ),
        (
            "two lengths",
            post("content-length: 1\r\ncontent-length: 2\r\n") + "a",
            400,
        ),
        (
            "one length twice",
            post("content-length: 1\r\ncontent-length: 1\r\n") + "a",
            400,
        ),
        (
            "a list of lengths",
            post("content-length: 1, 1\r\n") + "a",
            400,
        ),
        ("a signed length", post("content-length: +1\r\n") + "a", 400),
        (
            "xchunked",
            post("transfer-encoding: xchunked\r\n") + "0\r\n\r\n",
            400,
        ),
        (
            "gzip, chunked",
            post("transfer-encoding: gzip, chunked\r\n"),
            400,
        ),
        ("no Host", format!("GET {RUNS} HTTP/1.1\r\n\r\n"), 400),
        ("two Hosts", head("Host: localhost\r\n"), 400),
        ("no version", line("GET /"), 400),
        (
            "HTTP/2 by its preface",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
            400,
        ),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\0\u{1}".to_owned(), 400),
        ("a tunnel", line("CONNECT localhost:80 HTTP/1.1"), 400),
        (
            "WebSocket",
            head("Connection: Upgrade\r\nUpgrade: websocket\r\n"),
            400,
        ),
        (
            "a name in the place of a target",
            line("GET localhost HTTP/1.1"),
            400,
        ),
        (
            "bytes beyond what was framed",
            "{\"more\":1}".to_owned(),
            400,
        ),
        ("101 fields", many(101), 431),
        ("32 KiB and a byte", long(32 * 1024 + 1), 431),
        ("a line without end", "a".repeat(32 * 1024 + 1), 431),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_is_none_is_refused_before_the_router_and_its_connection_closed() {
    let app = TestApp::start().await;
    let token = app.caller("ana").await.token();
    let good = list(&token, "\r\n");
    let (rows, before) = (Rows::of(&app).await, routed(&app).await);
    let heads = refused(&token);
    for (what, head, status) in &heads {
        let answers = raw::exchange(&app, head).await;
        assert_eq!(answers.len(), 1, "{what}: {answers:?}");
        check_refusal(&answers[0], *status, what);
    }
    let mut seen = heads.len() as u64;
    assert_eq!((routed(&app).await, cut(&app).await), (before, seen));
    // Behind a good one and before another, in one piece.
    for (what, head, status) in &heads {
        let answers = raw::exchange(&app, [&good, head.as_str(), &good].concat()).await;
        assert_eq!(answers.len(), 2, "{what}: {answers:?}");
        assert_eq!(answers[0].status, 200, "{what}");
        check_refusal(&answers[1], *status, what);
    }
    let passed = before + seen;
    seen *= 2;
    assert_eq!((routed(&app).await, cut(&app).await), (passed, seen));
    assert_eq!(Rows::of(&app).await, rows);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_waits_until_what_was_asked_before_is_answered() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let body = json!({"objective": "List the ferries"});
    let run = client.started("ferry-plan-0001", &body).await;
    let gate = app.script.hold(&json!({}));
    let turn = json!({"expected_version": 1, "instruction": "go"}).to_string();
    let token = ana.token();
    let fields = format!(
        "Idempotency-Key: ferry-turn-0001\r\nContent-Length: {}\r\n\r\n",
        turn.len()
    );
    let post = list(&token, &fields).replacen(
        &format!("GET {RUNS}"),
        &format!("POST {RUNS}/{run}/continue"),
        1,
    );
    let mut stream = raw::connect(&app).await;
    let good = list(&token, "\r\n");
    let sent = format!("{post}{turn}{}", good.repeat(20));
    stream.write_all(sent.as_bytes()).await.unwrap();
    app.script.begun(1).await;
    // By now more are waiting than actix-http takes up at a time.
    let more = format!("{}{}x y: 1\r\n\r\n", good.repeat(2), list(&token, ""));
    stream.write_all(more.as_bytes()).await.unwrap();
    client.inspect(&run).await.ok(200);
    let mut byte = [0];
    let nothing = stream.try_read(&mut byte).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    gate.open();
    let answers = raw::to_end(&mut stream).await;
    drop(stream);
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [&[200; 23][..], &[400]].concat());
    assert_eq!(answers[0].json()["run_id"], json!(run));
    check_refusal(&answers[23], 400, "the last one");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_used_again_until_its_client_is_done_with_it() {
    let app = TestApp::start().await;
    let token = app.caller("ana").await.token();
    let before = routed(&app).await;
    let good = list(&token, "\r\n");
    let mut stream = raw::connect(&app).await;
    for _ in 0..3 {
        stream.write_all(good.as_bytes()).await.unwrap();
        assert_eq!(raw::answer(&mut stream).await.status, 200);
        // Some clients end a request with a line too many.
        stream.write_all(b"\r\n").await.unwrap();
    }
    // What comes behind the last request is none, good as it may look.
    let last = list(&token, "Connection: close\r\n\r\n") + &good + "\0";
    stream.write_all(last.as_bytes()).await.unwrap();
    let answers = raw::to_end(&mut stream).await;
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(
        (answers[0].status, answers[0].header("connection")),
        (200, Some("close"))
    );
    assert_eq!(routed(&app).await, before + 4);
    // HTTP/2 is offered by some clients in passing; nobody takes it up.
    let offer =
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n";
    let mut stream = raw::connect(&app).await;
    stream
        .write_all(list(&token, offer).as_bytes())
        .await
        .unwrap();
    let answer = raw::answer(&mut stream).await;
    assert!(answer.head.starts_with("http/1.1 200 "), "{answer:?}");
    assert_eq!(cut(&app).await, 0);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_fields_and_32_kib_are_read_whole() {
    let app = TestApp::start().await;
    let token = app.caller("ana").await.token();
    for count in 96..=100 {
        let filler = "x: 1\r\n".repeat(count - 5);
        let last = format!("{filler}X-Request-Id: tide-{count}\r\nConnection: close\r\n");
        let head = list("", &last).replacen("Authorization: Bearer \r\n", "", 1);
        let head = format!("{head}Authorization: Bearer {token}\r\nAccept: */*\r\n\r\n");
        assert_eq!(head.matches("\r\n").count(), count + 2);
        let answers = raw::exchange(&app, &head).await;
        assert_eq!(answers.len(), 1);
        let id = format!("tide-{count}");
        assert_eq!(
            (answers[0].status, answers[0].header("x-request-id")),
            (200, Some(&*id))
        );
        // Two of them are two, wherever they stand.
        let twice = head.replacen("Accept: */*", &format!("Authorization: Bearer {token}"), 1);
        let answers = raw::exchange(&app, &twice).await;
        assert_eq!((answers.len(), answers[0].status), (1, 400), "{answers:?}");
        assert_eq!(answers[0].header("x-request-id"), Some(&*id));
    }
    let rest = 32 * 1024 - list(&token, "Connection: close\r\nx: \r\n\r\n").len();
    let long = list(
        &token,
        &format!("Connection: close\r\nx: {}\r\n\r\n", "a".repeat(rest)),
    );
    let answers = raw::exchange(&app, &long).await;
    assert_eq!((answers.len(), answers[0].status), (1, 200));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_not_chunked_as_it_says_is_answered_by_the_router_and_nothing_follows_it() {
    let app = TestApp::start().await;
    let token = app.caller("ana").await.token();
    let good = list(&token, "\r\n");
    let rows = Rows::of(&app).await;
    let body = json!({"objective": "List"}).to_string();
    let fields = "Idempotency-Key: chunks-0001\r\nTransfer-Encoding: chunked\r\n\r\n";
    let head = list(&token, fields).replacen("GET", "POST", 1);
    let size = format!("{:x}", body.len());
    for chunks in [
        format!("{size}\n{body}\r\n0\r\n\r\n"),
        format!("{size} \r\n{body}\r\n0\r\n\r\n"),
        format!("0x{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("-{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("{size};{}\r\n{body}\r\n0\r\n\r\n", "a".repeat(300)),
        format!("{size}\r\n{body}!\r\n0\r\n\r\n"),
        format!("{size}\r\n{body}\r\n0\r\n\n"),
        format!("{size}\r\n{body}\r\n0\r\nno trailer\r\n\r\n"),
        format!("{size}\r\n{body}\r\n00000000000000000\r\n\r\n"),
    ] {
        let answers =
            raw::exchange(&app, [&head, &chunks, &good].map(String::as_str).concat()).await;
        assert_eq!(answers.len(), 1, "{chunks:?}: {answers:?}");
        let answer = &answers[0];
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (400, &json!("invalid_request"))
        );
        assert!(
            answer
                .header("x-request-id")
                .unwrap()
                .starts_with("agent_req_")
        );
    }
    assert_eq!(Rows::of(&app).await, rows);
    let fine = format!("{size};name=\"value\"\r\n{body}\r\n0\r\nTrailer: x\r\n\r\n");
    let last = list(&token, "Connection: close\r\n\r\n");
    let answers = raw::exchange(&app, [&head, &fine, &last].map(String::as_str).concat()).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [201, 200]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_fields_is_answered_while_it_goes_on() {
    let app = TestApp::start().await;
    let token = app.caller("ana").await.token();
    let flood = list(&token, &"x: 1\r\n".repeat(100_000)) + "\r\n";
    let (mut reader, mut writer) = raw::connect(&app).await.into_split();
    let (answer, sent) = tokio::join!(raw::answer(&mut reader), writer.write_all(flood.as_bytes()));
    sent.unwrap();
    check_refusal(&answer, 431, "the flood");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_has_5_seconds_and_a_connection_that_is_kept_has_more() {
    let app = TestApp::start().await;
    let token = app.caller("ana").await.token();
    let good = list(&token, "\r\n");
    let begun = list(&token, "");
    let slow = async |before: usize, sent: &str| {
        let mut stream = raw::connect(&app).await;
        let started = Instant::now();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let answers = raw::to_end(&mut stream).await;
        let took = started.elapsed();
        assert_eq!(answers.len(), before + 1, "{sent}: {answers:?}");
        check_refusal(&answers[before], 408, sent);
        assert!(
            took > Duration::from_millis(4_900) && took < Duration::from_secs(7),
            "{took:?}"
        );
    };
    let second = format!("{good}{begun}");
    let kept = async {
        let mut stream = raw::connect(&app).await;
        stream.write_all(good.as_bytes()).await.unwrap();
        assert_eq!(raw::answer(&mut stream).await.status, 200);
        stream
    };
    let mut kept = kept.await;
    tokio::join!(slow(0, ""), slow(0, &begun), slow(1, &second));
    kept.write_all(list(&token, "Connection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    assert_eq!(raw::to_end(&mut kept).await[0].status, 200);
    assert_eq!(cut(&app).await, 3);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_one_line_of_the_log_with_its_id_and_nothing_of_its_sender() {
    let app = TestApp::start().await;
    let process = Process::serve(&app).await;
    let mut stream = raw::connect_to(&process.url).await;
    let head = b"GET /canary-target HTTP/1.1\r\nHost: canary-host\r\nX : canary-value\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let answers = raw::to_end(&mut stream).await;
    drop(stream);
    check_refusal(&answers[0], 400, "the canary");
    let id = answers[0].header("x-request-id").unwrap();
    assert!(!answers[0].body.contains("canary"));
    let log = process.stop().await;
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(id)).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("request head refused"), "{lines:?}");
    assert!(!log.contains("canary"));
    app.finish().await;
}
