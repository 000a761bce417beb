//! A worker, and runs for it to work on.

use helix::testing::{Setup, TestApp, Turns};
use serde_json::{Value, json};

use crate::harness::{Answer, Client};

pub const CLAIM: &str = "/api/v1/agent-workers/claim";
pub const HEARTBEAT: &str = "/api/v1/agent-workers/heartbeat";
pub const TOOL: &str = "/api/v1/agent-workers/tool";
pub const COMPLETE: &str = "/api/v1/agent-workers/complete";

/// What the library says, and where.
pub const DOCUMENT: &str = "The ferry to Vik leaves at 7 in the morning. Dogs travel free.";
pub const QUOTE: &str = "The ferry to Vik leaves at 7 in the morning.";

/// Servers whose turns go to workers, over a library of one document.
pub async fn app() -> TestApp {
    app_with(&[]).await
}

pub async fn app_with(settings: &[(&'static str, &str)]) -> TestApp {
    let own = [("solver", "worker")];
    let all = own.iter().chain(settings);
    TestApp::with(Setup {
        turns: Turns::Solved,
        settings: all
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
        library: vec![("ferries.txt", DOCUMENT.as_bytes().to_vec())],
        ..Setup::default()
    })
    .await
}

/// A worker at one of the servers.
#[derive(Debug, Clone)]
pub struct Worker<'a> {
    pub app: &'a TestApp,
    pub token: String,
    pub server: usize,
}

/// A turn in a worker's hands.
#[derive(Debug, Clone)]
pub struct Turn {
    pub token: String,
    pub given: Value,
}

impl<'a> Worker<'a> {
    pub async fn new(app: &'a TestApp) -> Self {
        Self {
            app,
            token: app.worker_token("harbour").await.0,
            server: 0,
        }
    }

    pub fn at(&self, server: usize) -> Self {
        Self {
            server,
            ..self.clone()
        }
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        let url = self.app.url_of(self.server, path);
        let request = self.app.client().post(url).bearer_auth(&self.token);
        Answer::of(request.body(body.to_string())).await
    }

    pub async fn try_claim(&self, wait_ms: u64) -> Answer {
        self.post(CLAIM, &json!({"worker": "w1", "wait_ms": wait_ms}))
            .await
    }

    /// The next turn, within 25 s.
    pub async fn claim(&self) -> Turn {
        let given = self.try_claim(25_000).await.ok(200).body;
        let token = given["turn_token"].as_str().expect("a bearer").to_owned();
        Turn { token, given }
    }

    pub async fn heartbeat(&self, turn: &Turn) -> Answer {
        self.post(HEARTBEAT, &json!({"turn_token": turn.token}))
            .await
    }

    /// Beats until the turn is no longer wanted.
    pub async fn beat_until_stopped(&self, turn: &Turn) {
        let mut tick = tokio::time::interval(std::time::Duration::from_millis(20));
        loop {
            tick.tick().await;
            let heard = self.heartbeat(turn).await.ok(200);
            if heard.body["cancel_requested"] == true {
                return;
            }
        }
    }

    pub async fn tool(&self, turn: &Turn, capability: &str, arguments: Value) -> Answer {
        let body =
            json!({"turn_token": turn.token, "capability": capability, "arguments": arguments});
        self.post(TOOL, &body).await
    }

    pub async fn complete(&self, turn: &Turn, product: &Value) -> Answer {
        self.post(
            COMPLETE,
            &json!({"turn_token": turn.token, "product": product}),
        )
        .await
    }

    /// Finds the one document by its words; the number of its source.
    pub async fn find(&self, turn: &Turn) -> u64 {
        let arguments = json!({"query": "ferry Vik", "source": null, "start": null, "end": null});
        let found = self
            .tool(turn, "research-library.read_document", arguments)
            .await
            .ok(200);
        source_of(&found.body)
    }
}

/// The first source that a search has named.
pub fn source_of(answer: &Value) -> u64 {
    answer["body"]["sources"][0]["source"]
        .as_u64()
        .expect("a source")
}

/// A product that quotes the document.
pub fn product(source: u64, quote: &str) -> Value {
    json!({
        "quoted_spans": [{"source": source, "start": 0, "end": quote.len(), "quote": quote}],
        "claims": [{"text": "The ferry to Vik leaves at 7.", "spans": [0]}],
    })
}

pub const PLAN: &str = "When does the ferry to Vik leave?";

/// The id of a run over the library.
pub async fn started(client: &Client<'_>, key: &str) -> String {
    let body = json!({"objective": PLAN, "database_scope": ["research_library"]});
    client.started(key, &body).await
}

/// The id of a run without tools.
pub async fn started_bare(client: &Client<'_>, key: &str) -> String {
    client.started(key, &json!({"objective": PLAN})).await
}

pub fn go(version: u64) -> Value {
    json!({"expected_version": version, "instruction": "go"})
}
