//! A whole server to race with: its own database, its own account, a token for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use helix_aggregates::access::account::command::AccountType;
use jsonwebtoken::{EncodingKey, Header};
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::BenchError;
use crate::app::access::accounts::{Accounts, LinkTuple};
use crate::cli::client;
use crate::config::{Config, Environment, Flags};
use crate::server::{self, Running};
use crate::solver::tools::extract::PdfReading;

const ISSUER: &str = "https://bench.invalid/";
const AUDIENCE: &str = "https://bench.invalid/mcp";
const PROVIDER: &str = "bench";
const TENANT: &str = "bench";
const SUBJECT: &str = "bench";
const RUNS: &str = "/api/v1/agent-runs";
/// Longer than any run of the benchmark.
const TOKEN_SECONDS: i64 = 24 * 3_600;

/// What became of a request that may be refused for want of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Shed,
}

/// A running server and one caller of it.
#[derive(Debug)]
pub struct Service {
    running: Running,
    client: Client,
    token: String,
}

impl Service {
    /// Starts a server on `database_url`, with everything it keeps under `folder`.
    pub async fn start(database_url: &str, folder: &Path) -> Result<Self, BenchError> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(BenchError::peer)?;
        let secret = hex::encode(secret);
        let config = config(database_url, folder, &secret)?;
        std::fs::create_dir_all(folder.join("library"))?;
        let parts = config.clone();
        let solver = move || server::solver(&parts, PdfReading::OnThread, &|_| {});
        let solver = tokio::task::spawn_blocking(solver)
            .await
            .map_err(|_| BenchError::Stopped)?;
        let running = Running::start(&config, &solver)
            .await
            .map_err(BenchError::peer)?;
        let core = running.runs.core();
        let accounts = Accounts::new(Arc::clone(core));
        let made = accounts
            .create("bench@bench.invalid", "bench", AccountType::User)
            .await
            .map_err(BenchError::peer)?;
        let tuple = LinkTuple {
            issuer: ISSUER.to_owned(),
            tenant: TENANT.to_owned(),
            provider: PROVIDER.to_owned(),
            subject: SUBJECT.to_owned(),
        };
        accounts
            .link(made.account_id, &tuple)
            .await
            .map_err(BenchError::peer)?;
        let token = token(&secret, core.clock.now().millis() / 1_000 + TOKEN_SECONDS)?;
        Ok(Self {
            running,
            client: Self::client()?,
            token,
        })
    }

    /// A client with connections of its own.
    pub fn client() -> Result<Client, BenchError> {
        Client::builder()
            .no_proxy()
            .pool_idle_timeout(client::IDLE)
            .build()
            .map_err(BenchError::peer)
    }

    /// Starts a run, has it take one turn without a data scope, and reads its events.
    pub async fn unit(&self) -> Result<(), BenchError> {
        let run = self.rest_turn().await?;
        let events = self
            .client
            .get(self.url(&format!("{RUNS}/{run}/events?after_seq=0")));
        let page = self.answer(events, StatusCode::OK).await?;
        match page["events"].as_array() {
            Some(events) if events.len() > 1 => Ok(()),
            _ => Err(BenchError::NothingDone),
        }
    }

    /// Starts a run and has it take one turn; the run's id.
    pub async fn rest_turn(&self) -> Result<String, BenchError> {
        let started = self.post(RUNS, &start(), StatusCode::CREATED).await?;
        let run = run_id(&started)?;
        self.post(&format!("{RUNS}/{run}/continue"), &turn(), StatusCode::OK)
            .await?;
        Ok(run)
    }

    /// The same by MCP tools.
    pub async fn mcp_turn(&self) -> Result<(), BenchError> {
        let arguments = json!({"idempotency_key": self.key(), "request": start()});
        let started = self.call("helix_run_start", &arguments).await?;
        let run = run_id(&started["run"])?;
        let arguments = json!({"run_id": run, "idempotency_key": self.key(), "request": turn()});
        self.call("helix_run_continue", &arguments).await.map(drop)
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, BenchError> {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        });
        let request = self
            .client
            .post(self.url("/mcp"))
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2025-06-18")
            .json(&message);
        let mut answer = self.answer(request, StatusCode::OK).await?;
        let result = answer["result"].take();
        if result["isError"] == true || result["structuredContent"]["run"].is_null() {
            return Err(BenchError::peer("a tool answered with an error"));
        }
        Ok(result["structuredContent"].clone())
    }

    /// Starts a run, or is turned away.
    pub async fn start_unless_shed(&self) -> Result<Outcome, BenchError> {
        let request = self
            .client
            .post(self.url(RUNS))
            .header("Idempotency-Key", self.key())
            .bearer_auth(&self.token)
            .json(&start());
        let response = request.send().await.map_err(BenchError::peer)?;
        let status = response.status();
        response.bytes().await.map_err(BenchError::peer)?;
        match status {
            StatusCode::CREATED => Ok(Outcome::Done),
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Ok(Outcome::Shed),
            other => Err(BenchError::Peer(format!("the server answered {other}"))),
        }
    }

    /// The time of a cancel that `client` asks for; `None` when its run could not be started.
    pub async fn timed_cancel(&self, client: &Client) -> Result<Option<Duration>, BenchError> {
        let opening = client.post(self.url(RUNS)).json(&start());
        let run = match self.keyed(opening, StatusCode::CREATED).await {
            Ok(started) => run_id(&started)?,
            Err(BenchError::Peer(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let ending = client
            .post(self.url(&format!("{RUNS}/{run}/cancel")))
            .json(&json!({"expected_version": 1}));
        let begun = Instant::now();
        self.keyed(ending, StatusCode::OK).await?;
        Ok(Some(begun.elapsed()))
    }

    async fn post(
        &self,
        path: &str,
        body: &Value,
        expected: StatusCode,
    ) -> Result<Value, BenchError> {
        self.keyed(self.client.post(self.url(path)).json(body), expected)
            .await
    }

    async fn keyed(
        &self,
        request: RequestBuilder,
        expected: StatusCode,
    ) -> Result<Value, BenchError> {
        let request = request.header("Idempotency-Key", self.key());
        self.answer(request, expected).await
    }

    fn key(&self) -> String {
        format!("bench-{}", self.running.runs.core().ids.uuid())
    }

    async fn answer(
        &self,
        request: RequestBuilder,
        expected: StatusCode,
    ) -> Result<Value, BenchError> {
        let request = request.bearer_auth(&self.token);
        let response = request.send().await.map_err(BenchError::peer)?;
        let status = response.status();
        let body = response.bytes().await.map_err(BenchError::peer)?;
        if status != expected {
            return Err(BenchError::Peer(format!("the server answered {status}")));
        }
        serde_json::from_slice(&body).map_err(BenchError::peer)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.address)
    }

    pub async fn stop(self) -> Result<(), BenchError> {
        self.running.stop().await.map_err(BenchError::peer)
    }
}

fn start() -> Value {
    json!({"objective": "Say what is known of the ferry"})
}

fn turn() -> Value {
    json!({"expected_version": 1, "instruction": "Go on"})
}

fn run_id(run: &Value) -> Result<String, BenchError> {
    let id = run["run_id"].as_str();
    id.map(str::to_owned).ok_or(BenchError::NothingDone)
}

fn config(database_url: &str, folder: &Path, secret: &str) -> Result<Config, BenchError> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let settings = BTreeMap::from([
        ("listen", "127.0.0.1:0".to_owned()),
        ("metrics_listen", "off".to_owned()),
        ("database_url", database_url.to_owned()),
        ("data_dir", text(folder)),
        ("kek_file", text(&folder.join("kek"))),
        ("library", text(&folder.join("library"))),
    ]);
    let flags = settings
        .into_iter()
        .map(|(name, value)| (name, vec![value]))
        .collect();
    let environment = Environment::from_pairs([
        ("HELIX_AGENT_ALLOW_LOCAL_HS256", "1"),
        ("HELIX_AGENT_LOCAL_JWT_SECRET", secret),
        ("HELIX_AGENT_OAUTH_ISSUER", ISSUER),
        ("HELIX_AGENT_OAUTH_AUDIENCE", AUDIENCE),
        ("HELIX_AGENT_OAUTH_PROVIDER", PROVIDER),
        ("HELIX_AGENT_IP_RATE_LIMIT", "0"),
        ("HELIX_AGENT_PRINCIPAL_RATE_LIMIT", "0"),
        ("HELIX_MCP_IP_RATE_LIMIT", "0"),
        ("HELIX_MCP_PRINCIPAL_RATE_LIMIT", "0"),
    ]);
    let loaded = crate::config::load(&Flags(flags), &environment, folder);
    loaded.config.map_err(BenchError::peer)
}

fn token(secret: &str, expires: i64) -> Result<String, BenchError> {
    let claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": SUBJECT, "tenantId": TENANT, "exp": expires,
        "scope": "helix.agent_runs.read helix.agent_runs.write",
    });
    let key = EncodingKey::from_secret(secret.as_bytes()).map_err(BenchError::peer)?;
    jsonwebtoken::encode(&Header::default(), &claims, &key).map_err(BenchError::peer)
}
