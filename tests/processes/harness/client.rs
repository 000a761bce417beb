//! A caller of the run door.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

pub const RUNS: &str = "/api/v1/agent-runs";

#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
}

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
    pub text: String,
}

/// A request that can be sent again exactly.
#[derive(Debug, Clone)]
pub struct Keyed {
    pub path: String,
    pub key: String,
    pub body: Value,
}

impl Client {
    pub fn new(base: String, token: String) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .pool_idle_timeout(helix::testing::CLIENT_IDLE)
            .timeout(Duration::from_secs(60))
            .build()
            .unwrap();
        Self { http, base, token }
    }

    /// `Err` when no whole answer came.
    pub async fn try_get(&self, path: &str) -> Result<Answer, reqwest::Error> {
        let url = format!("{}{path}", self.base);
        read(self.http.request(Method::GET, url).bearer_auth(&self.token)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.try_get(path).await.unwrap()
    }

    /// `Err` when no whole answer came.
    pub async fn try_send(&self, request: &Keyed) -> Result<Answer, reqwest::Error> {
        let sent = self
            .http
            .post(format!("{}{}", self.base, request.path))
            .bearer_auth(&self.token)
            .header("Idempotency-Key", &request.key)
            .body(request.body.to_string());
        read(sent).await
    }

    pub async fn send(&self, request: &Keyed) -> Answer {
        self.try_send(request).await.unwrap()
    }

    pub async fn inspect(&self, run: &str) -> Answer {
        self.get(&format!("{RUNS}/{run}")).await.ok(200)
    }

    pub async fn event_names(&self, run: &str) -> Vec<String> {
        let page = self
            .get(&format!("{RUNS}/{run}/events?limit=200"))
            .await
            .ok(200);
        let events = page.body["events"].as_array().unwrap();
        events
            .iter()
            .map(|event| event["event_type"].as_str().unwrap().to_owned())
            .collect()
    }
}

async fn read(request: reqwest::RequestBuilder) -> Result<Answer, reqwest::Error> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Ok(Answer {
        status,
        headers,
        body,
        text,
    })
}

impl Answer {
    pub fn code(&self) -> &str {
        self.body["error"].as_str().unwrap_or("")
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub fn is_replay(&self) -> bool {
        self.header("idempotency-replayed") == "true"
    }

    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    #[track_caller]
    pub fn ok(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    #[track_caller]
    pub fn expect(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.text);
        self
    }

    pub fn run_id(&self) -> String {
        self.body["run_id"].as_str().expect("a run").to_owned()
    }

    pub fn version(&self) -> u64 {
        self.body["version"].as_u64().expect("a run")
    }
}

impl Keyed {
    pub fn start(key: &str, objective: &str) -> Self {
        Self {
            path: RUNS.to_owned(),
            key: key.to_owned(),
            body: json!({"objective": objective}),
        }
    }

    /// A start whose turns read the library.
    pub fn start_on_library(key: &str, objective: &str) -> Self {
        let body = json!({"objective": objective, "database_scope": ["research_library"]});
        Self {
            body,
            ..Self::start(key, objective)
        }
    }

    pub fn continue_run(run: &str, key: &str, version: u64) -> Self {
        Self {
            path: format!("{RUNS}/{run}/continue"),
            key: key.to_owned(),
            body: json!({"expected_version": version, "instruction": "go on"}),
        }
    }

    pub fn cancel(run: &str, key: &str, version: u64) -> Self {
        Self {
            path: format!("{RUNS}/{run}/cancel"),
            key: key.to_owned(),
            body: json!({"expected_version": version, "reason": "enough"}),
        }
    }
}
