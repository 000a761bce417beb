//! Hostile and merely odd input: sizes, encodings, paths.

use helix::testing::TestApp;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Answer, Client, RUNS};
use crate::process::Process;
use crate::raw::{self, RawAnswer};
use crate::rows::Rows;

const LIMIT: usize = 524_288;

fn padded(bytes: usize) -> String {
    let body = json!({"objective": "List"}).to_string();
    format!("{body}{}", " ".repeat(bytes - body.len()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_may_have_512_kib_and_not_a_byte_more() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    for (key, bytes) in [("size-0001", LIMIT - 1), ("size-0002", LIMIT)] {
        client.post_text(RUNS, key, padded(bytes)).await.ok(201);
    }
    let before = Rows::of(&app).await;
    let run = client.get(RUNS).await.body["runs"][0]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    for path in [
        RUNS.to_owned(),
        format!("{RUNS}/{run}/continue"),
        format!("{RUNS}/{run}/cancel"),
    ] {
        let over = client
            .post_text(&path, "size-0003", padded(LIMIT + 1))
            .await;
        let over = over.expect(413, "invalid_request");
        assert!(over.body.get("details").is_none());
        assert!(over.header("x-request-id").starts_with("agent_req_"));
        assert_eq!(over.header("cache-control"), "no-store");
        // The size is judged before the token.
        let anonymous = client.with_token("nobody".to_owned());
        anonymous
            .post_text(&path, "size-0003", padded(LIMIT + 1))
            .await
            .expect(413, "invalid_request");
    }
    assert_eq!(Rows::of(&app).await, before);
    client
        .post_text(RUNS, "size-0003", padded(64))
        .await
        .ok(201);
    app.finish().await;
}

/// Sends chunks until the server answers and stops reading.
async fn endless(mut stream: TcpStream, token: &str) -> RawAnswer {
    let head = format!(
        "POST {RUNS} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         idempotency-key: endless-0001\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    let chunk = format!("4000\r\n{}\r\n", " ".repeat(0x4000));
    let (mut reader, mut writer) = stream.into_split();
    let mut sent = 0_usize;
    // What the server took beyond the limit lies in buffers of the system.
    let sending = async {
        while writer.write_all(chunk.as_bytes()).await.is_ok() {
            sent += chunk.len();
            assert!(sent < 64 << 20, "the server reads on");
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        answer = raw::answer(&mut reader) => answer,
        () = sending => unreachable!("a pending future"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunked_body_without_end_is_cut_off_at_the_limit_and_memory_stays_flat() {
    let app = TestApp::start().await;
    let token = app.caller("ana").await.token();
    let process = Process::serve(&app).await;
    let check = async || {
        let answer = endless(raw::connect_to(&process.url).await, &token).await;
        assert_eq!(answer.status, 413, "{answer:?}");
        assert_eq!(answer.json()["error"], "invalid_request");
    };
    check().await;
    let before = process.peak_memory();
    for _ in 0..32 {
        check().await;
    }
    let grown = process.peak_memory() - before;
    assert!(grown < 8 << 20, "{grown} bytes");
    process.stop().await;
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_whose_end_is_doubtful_is_refused_and_its_connection_closed() {
    let app = TestApp::start().await;
    let token = app.caller("ana").await.token();
    let before = Rows::of(&app).await;
    let body = json!({"objective": "List"}).to_string();
    let length = format!("content-length: {}", body.len());
    let shorter = format!("content-length: {}", body.len() - 1);
    for framing in [
        format!("{length}\r\n{shorter}"),
        format!("{length}\r\ntransfer-encoding: chunked"),
        "transfer-encoding: xchunked".to_owned(),
        "transfer-encoding: chunked, identity".to_owned(),
        "content-length: +20".to_owned(),
        "content-length: -1".to_owned(),
        "content-length: 0x14".to_owned(),
        format!("{length}, {}", body.len()),
        format!("{length}\r\n folded: yes"),
        format!("{length}\r\nx y: 1"),
        format!("content-length : {}", body.len()),
    ] {
        let mut stream = raw::connect(&app).await;
        let head = format!(
            "POST {RUNS} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             idempotency-key: framing-0001\r\n{framing}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        let answer = raw::answer(&mut stream).await;
        assert!([400, 501].contains(&answer.status), "{framing}: {answer:?}");
        let mut rest = Vec::new();
        drop(stream.read_to_end(&mut rest).await);
        assert_eq!(rest, b"", "{framing}");
    }
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encoded_body_is_refused_whatever_it_would_open_to() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let before = Rows::of(&app).await;
    for encoding in [
        "gzip",
        "deflate",
        "br",
        "zstd",
        "GZIP",
        "identity, gzip",
        "unknown",
    ] {
        let request = client
            .request(Method::POST, RUNS)
            .header("Idempotency-Key", "packed-0001")
            .header("Content-Encoding", encoding)
            .body(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
        let refused = Answer::of(request).await.expect(415, "invalid_request");
        assert_eq!(refused.body["schema"], "helix.agent_api.error.v1");
    }
    assert_eq!(Rows::of(&app).await, before);
    client
        .start("packed-0001", &json!({"objective": "List"}))
        .await
        .ok(201);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_segment_is_an_id_or_nothing() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    let uuid = run.strip_prefix("run_").unwrap();
    let authorization = format!("authorization: Bearer {}", ana.token());
    let get = async |path: &str| {
        let line = format!("GET {path} HTTP/1.1");
        raw::send(&app, &[&line, "host: localhost", &authorization], b"").await
    };
    let long = "a".repeat(201);
    let bad = [
        "run_abc".to_owned(),
        format!("run_{long}"),
        "run_abcdefgh%2F..%2Fx".to_owned(),
        "run_abcdefgh%00".to_owned(),
        "run_abcdefgh%252e".to_owned(),
        "run_abcdefgh%0d%0aX-Forged:1".to_owned(),
        "run_abcdefgh%ff".to_owned(),
        "run_abcdefgh%".to_owned(),
        "RUN_abcdefgh".to_owned(),
        "run_%E2%80%AEabcdefgh".to_owned(),
        "..%2f..%2fetc%2fpasswd".to_owned(),
        "%20".to_owned(),
        format!("RUN_{uuid}"),
        format!("run_{}", uuid.to_uppercase()),
        format!("run_{}", uuid.replace('-', "")),
        format!("{run}%00"),
        format!("{run}%20"),
        format!("{run};x=1"),
        format!("{run}.json"),
        format!("{run}/"),
        format!("{run}/unknown"),
        "run_abcdefgh'--".to_owned(),
    ];
    for id in &bad {
        for tail in ["", "/events", "/evidence", "/log"] {
            let answer = get(&format!("{RUNS}/{id}{tail}")).await;
            let body = answer.json();
            assert!(
                [400, 404].contains(&answer.status),
                "{id}{tail}: {answer:?}"
            );
            assert_eq!(
                body["schema"], "helix.agent_api.error.v1",
                "{id}{tail}: {answer:?}"
            );
            let code = if answer.status == 400 {
                "invalid_request"
            } else {
                "not_found"
            };
            assert_eq!(body["error"], code, "{id}{tail}");
            assert!(answer.header("x-request-id").is_some());
            assert!(answer.header("x-forged").is_none());
        }
    }
    for id in [
        run.clone(),
        run.replace('_', "%5F"),
        run.replace('-', "%2D"),
    ] {
        let answer = get(&format!("{RUNS}/{id}")).await;
        assert_eq!(
            (answer.status, &answer.json()["run_id"]),
            (200, &json!(run)),
            "{id}"
        );
    }
    for path in [
        "/api",
        "/api/v1",
        "/api/v1/agent-runs/",
        "//api/v1/agent-runs",
        "/API/v1/agent-runs",
        "/api/v1/agent-runs%2f",
    ] {
        let answer = get(path).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (404, &json!("not_found")),
            "{path}"
        );
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_characters_are_kept_whole_and_nul_is_refused_in_every_text() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let odd = "a\u{2028}b\u{202e}c\u{feff}d\u{fffe}e\u{10ffff}f\u{7f}g\u{1b}[31m";
    let literal = serde_json::to_string(odd).unwrap();
    let ask = json!({"question_id": odd, "prompt": "Which?", "required_fields": [], "options": []});
    let body = format!("{{\"objective\":{literal},\"constraints\":[{literal}]}}");
    let run = client.post_text(RUNS, "odd-text-0001", body).await.ok(201);
    let id = run.run_id();
    assert_eq!(
        (&run.body["objective"], &run.body["constraints"]),
        (&json!(odd), &json!([odd]))
    );
    let plain = json!({"question_id": "q", "prompt": odd, "required_fields": [odd], "options": [{"value": odd, "label": odd}]});
    app.script.answer(
        &json!({"summary": odd, "claims_supported": [odd], "pending_questions": [plain, ask]}),
    );
    let turn = json!({"expected_version": 1, "instruction": odd});
    let asked = client
        .continue_run(&id, "odd-turn-0001", &turn)
        .await
        .ok(200);
    assert_eq!(
        (&asked.body["summary"], &asked.body["pending_questions"][0]),
        (&json!(odd), &plain)
    );
    assert_eq!(app.script.inputs()[0].instruction, odd);
    let answer =
        json!({"expected_version": 3, "answers": [{"question_id": "q", "value": {odd: [odd]}}]});
    client
        .continue_run(&id, "odd-turn-0002", &answer)
        .await
        .ok(200);
    let given: Value = serde_json::from_str(&app.script.inputs()[1].answers[0].value).unwrap();
    assert_eq!(given, json!({odd: [odd]}));
    let cancel = json!({"expected_version": 5, "reason": odd});
    let done = client.cancel(&id, "odd-stop-0001", &cancel).await.ok(200);
    assert_eq!(done.body["summary"], odd);
    let events = client.get(&format!("{RUNS}/{id}/events")).await.ok(200);
    let last = events.body["events"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(last["payload"]["reason"], odd);
    assert_eq!(client.inspect(&id).await.body, done.body);
    let before = Rows::of(&app).await;
    for bad in ["a\\u0000b", "a\\ud83d", "\\udd8a", "\\ud83d\\ud83d"] {
        let texts = [
            (RUNS.to_owned(), format!("{{\"objective\":\"{bad}\"}}")),
            (
                RUNS.to_owned(),
                format!("{{\"objective\":\"x\",\"constraints\":[\"{bad}\"]}}"),
            ),
            (
                format!("{RUNS}/{id}/continue"),
                format!("{{\"expected_version\":6,\"instruction\":\"{bad}\"}}"),
            ),
            (
                format!("{RUNS}/{id}/cancel"),
                format!("{{\"expected_version\":6,\"reason\":\"{bad}\"}}"),
            ),
        ];
        for (path, body) in texts {
            client
                .post_text(&path, "odd-text-0002", body)
                .await
                .expect(400, "invalid_request");
        }
    }
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_given_twice_or_unknown_is_refused_at_any_depth() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    let before = Rows::of(&app).await;
    let turn = format!("{RUNS}/{run}/continue");
    for (path, body) in [
        (
            RUNS,
            r#"{"objective":"x","completion_contract":{"allow_conflicts":true,"allow_conflicts":false}}"#,
        ),
        (
            RUNS,
            r#"{"objective":"x","completion_contract":{"allow_conflict":true}}"#,
        ),
        (
            &turn,
            r#"{"expected_version":1,"expected_version":2,"instruction":"go"}"#,
        ),
        (
            &turn,
            r#"{"expected_version":1,"answers":[{"question_id":"q1","question_id":"q2","value":1}]}"#,
        ),
        (
            &turn,
            r#"{"expected_version":1,"answers":[{"question_id":"q1","value":{"a":{"b":1,"b":2}}}]}"#,
        ),
        (
            &turn,
            r#"{"expected_version":1,"answers":[{"question_id":"q1","vaule":1}]}"#,
        ),
    ] {
        let refused = client.post_text(path, "ferry-turn-0001", body).await;
        refused.expect(400, "invalid_request");
    }
    assert_eq!(Rows::of(&app).await, before);
    app.finish().await;
}
