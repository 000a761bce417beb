//! What the server says about itself, which is nothing of anyone: texts with a mark go in at every
//! place a caller can reach, and come out in no log line, no metric and no refusal.

use helix::testing::{Caller, TestApp};
use reqwest::{Client as Http, Method};
use serde_json::{Value, json};

use crate::harness::{Answer, RUNS};
use crate::process::Process;

/// A caller who marks whatever it sends.
struct Marking<'a> {
    process: &'a Process,
    http: Http,
    caller: &'a Caller,
}

impl Marking<'_> {
    async fn send(&self, method: &str, path: &str, token: &str, key: &str, body: &str) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let request = self
            .http
            .request(method, format!("{}{path}", self.process.url))
            .bearer_auth(token)
            .header("Idempotency-Key", key)
            .header("X-Request-Id", "mark-request-id")
            .header("User-Agent", "mark-agent")
            .header("X-Other", "mark-header")
            .body(body.to_owned());
        Answer::of(request).await
    }

    async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        let token = self.caller.token();
        self.send("POST", path, &token, key, &body.to_string())
            .await
    }

    /// A run that was continued and cancelled, refusals in between.
    async fn work(&self) -> Vec<Answer> {
        let plan = json!({
            "objective": "mark-objective", "constraints": ["mark-constraint"],
            "completion_contract": {"required_output_fields": ["mark-field"]},
        });
        let run = self
            .post(RUNS, "mark-key-0001", &plan)
            .await
            .ok(201)
            .run_id();
        let at = |operation: &str| format!("{RUNS}/{run}/{operation}");
        let turn = json!({"expected_version": 1, "instruction": "mark-instruction"});
        let seen = self
            .post(&at("continue"), "mark-key-0002", &turn)
            .await
            .ok(200);
        let version = seen.version();
        let answer = json!({"question_id": "mark-question", "value": "mark-answer"});
        let answers = json!({"expected_version": version, "answers": [answer]});
        let mut refusals = vec![
            self.post(&at("continue"), "mark-key-0003", &answers).await,
            self.post(RUNS, "mark-k", &plan).await,
            self.post(RUNS, "mark-key-0001", &json!({"objective": "mark-other"}))
                .await,
        ];
        refusals.extend(self.nonsense(&run).await);
        let cancel = json!({"expected_version": version, "reason": "mark-reason"});
        self.post(&at("cancel"), "mark-key-0006", &cancel)
            .await
            .ok(200);
        refusals
    }

    async fn nonsense(&self, run: &str) -> Vec<Answer> {
        let (good, dead) = (
            self.caller.token(),
            self.caller
                .token_with(&json!({"exp": 1, "jti": "mark-jti"})),
        );
        let item = format!("{RUNS}/{run}/evidence/mark-ref");
        let cancel = format!("{RUNS}/mark-run/cancel");
        let requests = [
            ("POST", RUNS, good.as_str(), "{\"objective\": mark-json"),
            ("POST", RUNS, &good, "{\"objective\":\"mark-\u{0}\"}"),
            (
                "POST",
                RUNS,
                &good,
                "{\"objective\":\"Bearer mark-abcdefghijkl\"}",
            ),
            (
                "POST",
                RUNS,
                &good,
                "{\"objective\":[\"mark-value\"],\"budget\":\"mark-budget\"}",
            ),
            ("POST", &cancel, &good, "{\"expected_version\":1}"),
            ("GET", &item, &good, ""),
            ("GET", "/api/v1/agent-runs?cursor=mark-cursor", &good, ""),
            (
                "GET",
                "/api/v1/agent-runs?access_token=mark-query",
                &good,
                "",
            ),
            ("GET", "/mark-path", &good, ""),
            ("MARK-METHOD", RUNS, &good, ""),
            ("GET", RUNS, "mark-token", ""),
            ("GET", RUNS, &dead, ""),
        ];
        let mut answers = Vec::new();
        for (method, path, token, body) in requests {
            answers.push(self.send(method, path, token, "mark-key-0009", body).await);
        }
        answers
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_or_secret_of_a_caller_is_in_logs_metrics_or_refusals() {
    let app = TestApp::start().await;
    let ana = app.caller("mark-subject").await;
    let process = Process::serve(&app).await;
    let marking = Marking {
        process: &process,
        http: Http::builder().no_proxy().build().unwrap(),
        caller: &ana,
    };
    for answer in marking.work().await {
        assert!(answer.status >= 400, "{}", answer.text);
        // The caller's own request id comes back, and so does the name of an unknown question.
        let mut text = answer.text.clone();
        for known in ["mark-request-id", "mark-question"] {
            text = text.replace(known, "");
        }
        assert!(!text.to_lowercase().contains("mark-"), "{}", answer.text);
    }
    let metrics = marking.http.get(&process.metrics).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let log = process.stop().await;
    assert!(
        log.contains("/api/v1/agent-runs/{run_id}/continue"),
        "{log}"
    );
    assert!(metrics.contains("helix_http_request_duration_seconds"));
    let signature = ana.token().rsplit('.').next().unwrap().to_lowercase();
    for (place, text) in [("log", log), ("metrics", metrics)] {
        let text = text.to_lowercase();
        for secret in ["mark-", "eyj", &signature] {
            let found = text.lines().find(|line| line.contains(secret));
            assert_eq!(found, None, "{place}");
        }
    }
    app.finish().await;
}
