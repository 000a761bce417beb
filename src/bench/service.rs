//! A whole server to race with: its own database, its own account, a token for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

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
        let engine = move || server::solver(&parts, PdfReading::OnThread, &|_| {}).engine;
        let engine = tokio::task::spawn_blocking(engine)
            .await
            .map_err(|_| BenchError::Stopped)?;
        let running = Running::start(&config, engine)
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
        let client = Client::builder()
            .no_proxy()
            .pool_idle_timeout(client::IDLE)
            .build()
            .map_err(BenchError::peer)?;
        Ok(Self {
            running,
            client,
            token,
        })
    }

    /// Starts a run, has it take one turn without a data scope, and reads its events.
    pub async fn unit(&self) -> Result<(), BenchError> {
        let start = json!({"objective": "Say what is known of the ferry"});
        let started = self.post(RUNS, &start, StatusCode::CREATED).await?;
        let run = started["run_id"]
            .as_str()
            .ok_or(BenchError::NothingDone)?
            .to_owned();
        let turn = json!({"expected_version": 1, "instruction": "Go on"});
        self.post(&format!("{RUNS}/{run}/continue"), &turn, StatusCode::OK)
            .await?;
        let events = self
            .client
            .get(self.url(&format!("{RUNS}/{run}/events?after_seq=0")));
        let page = self.answer(events, StatusCode::OK).await?;
        match page["events"].as_array() {
            Some(events) if events.len() > 1 => Ok(()),
            _ => Err(BenchError::NothingDone),
        }
    }

    async fn post(
        &self,
        path: &str,
        body: &Value,
        expected: StatusCode,
    ) -> Result<Value, BenchError> {
        let key = format!("bench-{}", self.running.runs.core().ids.uuid());
        let request = self
            .client
            .post(self.url(path))
            .header("Idempotency-Key", key)
            .json(body);
        self.answer(request, expected).await
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
