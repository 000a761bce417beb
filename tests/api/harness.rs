//! Calls and expectations shared by the tests of a door.

use helix::testing::{Caller, TestApp};
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
    pub text: String,
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("the answer is complete");
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Self {
            status,
            headers,
            body,
            text,
        }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("readable"))
    }

    /// Asserts the status and, for failures, the code.
    #[track_caller]
    pub fn expect(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.text);
        self
    }

    #[track_caller]
    pub fn ok(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    pub fn code(&self) -> &str {
        self.body["error"].as_str().unwrap_or("")
    }

    pub fn run_id(&self) -> String {
        self.body["run_id"].as_str().expect("a run").to_owned()
    }

    pub fn version(&self) -> u64 {
        self.body["version"].as_u64().expect("a run")
    }

    /// Lifecycle, completion and authority in one text.
    pub fn statuses(&self) -> String {
        let part = |name: &str| self.body[name].as_str().unwrap_or("?").to_owned();
        format!(
            "{}/{}/{}",
            part("lifecycle_status"),
            part("completion_status"),
            part("terminal_authority_status")
        )
    }
}

/// A caller at one of the servers of a test.
#[derive(Debug, Clone)]
pub struct Client<'a> {
    pub app: &'a TestApp,
    pub token: String,
    pub server: usize,
}

pub const RUNS: &str = "/api/v1/agent-runs";

impl<'a> Client<'a> {
    pub fn new(app: &'a TestApp, caller: &Caller) -> Self {
        Self {
            app,
            token: caller.token(),
            server: 0,
        }
    }

    pub fn with_token(&self, token: String) -> Self {
        Self {
            token,
            ..self.clone()
        }
    }

    pub fn at(&self, server: usize) -> Self {
        Self {
            server,
            ..self.clone()
        }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = self.app.url_of(self.server, path);
        self.app
            .client()
            .request(method, url)
            .bearer_auth(&self.token)
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.post_text(path, key, body.to_string()).await
    }

    pub async fn post_text(&self, path: &str, key: &str, body: impl Into<reqwest::Body>) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header("Idempotency-Key", key)
            .body(body);
        Answer::of(request).await
    }

    pub async fn start(&self, key: &str, body: &Value) -> Answer {
        self.post(RUNS, key, body).await
    }

    /// The id of a run that this starts.
    pub async fn started(&self, key: &str, body: &Value) -> String {
        self.start(key, body).await.ok(201).run_id()
    }

    pub async fn continue_run(&self, run: &str, key: &str, body: &Value) -> Answer {
        self.post(&format!("{RUNS}/{run}/continue"), key, body)
            .await
    }

    pub async fn cancel(&self, run: &str, key: &str, body: &Value) -> Answer {
        self.post(&format!("{RUNS}/{run}/cancel"), key, body).await
    }

    pub async fn inspect(&self, run: &str) -> Answer {
        self.get(&format!("{RUNS}/{run}")).await
    }

    /// The names of a run's events, in order.
    pub async fn event_names(&self, run: &str) -> Vec<String> {
        let page = self
            .get(&format!("{RUNS}/{run}/events?limit=200"))
            .await
            .ok(200);
        let events = page.body["events"].as_array().expect("events");
        events
            .iter()
            .map(|event| event["event_type"].as_str().expect("a name").to_owned())
            .collect()
    }
}
