//! The proof of a run, taken home; and what the server says about itself, which is nothing of anyone.

use helix::testing::{Script, TestApp};
use reqwest::{Client as Http, Method};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Answer, Client, RUNS};
use crate::process::{HELIX, Process};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downloaded_log_verifies_offline_and_an_edited_one_does_not() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    app.script.answer(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    let log = client.get(&format!("{RUNS}/{run}/log")).await.ok(200);
    assert_eq!(log.header("content-type"), "application/x-ndjson");
    assert!(log.header("content-disposition").contains(&run));
    let lines: Vec<Value> = log
        .text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6);
    let head = &lines[0];
    assert_eq!(
        (&head["schema"], &head["algorithm"]),
        (&json!("helix.run_log.v1"), &json!("es1"))
    );
    assert_eq!(head["stream"], run.replace("run_", "").replace('-', ""));
    assert_eq!(
        (&head["head"]["seq"], &head["head"]["hash"]),
        (&json!(5), &lines[5]["hash"])
    );
    let page = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
    for (line, event) in lines[1..]
        .iter()
        .zip(page.body["events"].as_array().unwrap())
    {
        assert_eq!(
            (&line["seq"], &line["kind"], &line["at"]),
            (&event["seq"], &event["event_type"], &event["created_at"])
        );
    }
    assert!(!log.text.contains("List"));
    let file = app.folder().join("run.ndjson");
    let verify = async |text: &str| {
        std::fs::write(&file, text).unwrap();
        let ended = Command::new(HELIX)
            .arg("verify")
            .arg(&file)
            .env_clear()
            .output()
            .await
            .unwrap();
        ended.status.code()
    };
    assert_eq!(verify(&log.text).await, Some(0));
    let edited = log.text.replace("run_completed", "run_cancelled");
    assert_eq!(verify(&edited).await, Some(1));
    let cut: String = log.text.split_inclusive('\n').take(5).collect();
    assert_ne!(verify(&cut).await, Some(0));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_or_secret_of_a_caller_is_in_logs_metrics_or_refusals() {
    let app = TestApp::start().await;
    let ana = app.caller("mark-subject").await;
    let process = Process::serve(&app).await;
    let http = Http::builder().no_proxy().build().unwrap();
    let token = ana.token();
    let dead = ana.token_with(&json!({"exp": 1, "jti": "mark-jti"}));
    let send = async |method: Method, path: &str, key: &str, token: &str, body: &str| {
        let request = http
            .request(method, format!("{}{path}", process.url))
            .bearer_auth(token)
            .header("Idempotency-Key", key)
            .header("X-Request-Id", "mark-request-id")
            .header("User-Agent", "mark-agent")
            .header("X-Other", "mark-header")
            .body(body.to_owned());
        Answer::of(request).await
    };
    let post =
        async |path: &str, key: &str, body: &str| send(Method::POST, path, key, &token, body).await;
    let plan = json!({
        "objective": "mark-objective", "constraints": ["mark-constraint"],
        "completion_contract": {"required_output_fields": ["mark-field"]},
    });
    let run = post(RUNS, "mark-key-0001", &plan.to_string())
        .await
        .ok(201)
        .run_id();
    let turn = json!({"expected_version": 1, "instruction": "mark-instruction"});
    let seen = post(
        &format!("{RUNS}/{run}/continue"),
        "mark-key-0002",
        &turn.to_string(),
    )
    .await
    .ok(200);
    let answers = json!({"expected_version": seen.version(), "answers": [{"question_id": "mark-question", "value": "mark-answer"}]});
    let refusals = [
        post(
            &format!("{RUNS}/{run}/continue"),
            "mark-key-0003",
            &answers.to_string(),
        )
        .await,
        post(RUNS, "mark-key-0004", "{\"objective\": mark-json").await,
        post(RUNS, "mark-key-0004", "{\"objective\":\"mark-\u{0}\"}").await,
        post(
            RUNS,
            "mark-key-0004",
            "{\"objective\":\"Bearer mark-abcdefghijkl\"}",
        )
        .await,
        post(
            RUNS,
            "mark-key-0004",
            "{\"objective\":[\"mark-value\"],\"budget\":{\"max_steps\":\"mark-number\"}}",
        )
        .await,
        post(RUNS, "mark-k", &plan.to_string()).await.ok(400),
        post(RUNS, "mark-key-0001", "{\"objective\":\"mark-other\"}").await,
        post(
            &format!("{RUNS}/mark-run/cancel"),
            "mark-key-0005",
            "{\"expected_version\":1}",
        )
        .await,
        send(
            Method::GET,
            &format!("{RUNS}/{run}/evidence/mark-ref"),
            "k",
            &token,
            "",
        )
        .await,
        send(
            Method::GET,
            &format!("{RUNS}?cursor=mark-cursor"),
            "k",
            &token,
            "",
        )
        .await,
        send(
            Method::GET,
            &format!("{RUNS}?access_token=mark-query"),
            "k",
            &token,
            "",
        )
        .await,
        send(Method::GET, "/mark-path", "k", &token, "").await,
        send(
            Method::from_bytes(b"MARK-METHOD").unwrap(),
            RUNS,
            "k",
            &token,
            "",
        )
        .await,
        send(Method::GET, RUNS, "k", "mark-token", "").await,
        send(Method::GET, RUNS, "k", &dead, "").await,
    ];
    let cancel = json!({"expected_version": seen.version(), "reason": "mark-reason"});
    post(
        &format!("{RUNS}/{run}/cancel"),
        "mark-key-0006",
        &cancel.to_string(),
    )
    .await
    .ok(200);
    for answer in &refusals {
        assert!(answer.status >= 400, "{}", answer.text);
        // The request id is the caller's own and comes back; an id that is asked for by name too.
        let text = answer
            .text
            .replace("mark-request-id", "")
            .replace("mark-question", "");
        assert!(!text.to_lowercase().contains("mark-"), "{}", answer.text);
    }
    let metrics = http
        .get(&process.metrics)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let log = process.stop().await;
    assert!(
        log.contains("/api/v1/agent-runs/{run_id}/continue"),
        "{log}"
    );
    assert!(metrics.contains("helix_http_request_duration_seconds"));
    for (place, text) in [("log", &log), ("metrics", &metrics)] {
        for secret in ["mark-", "eyJ", token.rsplit('.').next().unwrap()] {
            let found = text
                .lines()
                .find(|line| line.to_lowercase().contains(&secret.to_lowercase()));
            assert_eq!(found, None, "{place}");
        }
    }
    app.finish().await;
}
