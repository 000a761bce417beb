//! What black-box tests may know of the inside: how to start, advance and settle a server.
//!
//! Everything here drives real parts: a real database, real sockets, the real configuration. The
//! one thing a test may put in is what solves a turn, so that turns can be held, fail or lie.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "for tests alone, where a failed step has failed the test"
)]

mod invariants;
mod model_server;
mod people;
mod script;
pub mod upstream;
mod webhooks;
mod work;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::ids::{AccountId, WorkerTokenId};
use helix_postgres::testing::{self, TestDatabase};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app::access::accounts::{Accounts, LinkTuple};
use crate::app::access::worker_tokens::WorkerTokens;
use crate::app::agent::executor::TurnExecutor;
use crate::browser;
use crate::config::{Config, Environment, Flags};
use crate::http::{self, discovery, oauth, protected_resource};
use crate::server::{self, Running, TurnParts};
use crate::solver::tools::extract::PdfReading;
use crate::store::database;

pub use crate::cli::client::IDLE as CLIENT_IDLE;
pub use crate::http::agent::ROUTES as AGENT_ROUTES;
pub use crate::http::discovery::clients::{CLIENTS, Tried};
pub use crate::http::workers::ROUTES as WORKER_ROUTES;
pub use crate::solver::finaliser::TurnOutcome;
pub use crate::solver::seam::TurnInput;
pub use helix_aggregates::access::account::command::AccountType;
pub use model_server::{Asked, ModelServer, Speech};
pub use script::{Gate, Script};
pub use webhooks::Hook;
pub use work::{Face, OPERATIONS, Operation, Who};

/// The secret of the local HS256 lane in tests.
const SECRET: &str = "tests-only-secret-of-more-than-32-characters";
pub const ISSUER: &str = "https://id.example.org/";
pub const AUDIENCE: &str = "https://helix.example.org/mcp";
const PROVIDER: &str = "local";
/// The environment of every server, unless a test says otherwise.
const ENVIRONMENT: [(&str, &str); 11] = [
    ("HELIX_AGENT_ALLOW_LOCAL_HS256", "1"),
    ("HELIX_AGENT_LOCAL_JWT_SECRET", SECRET),
    ("HELIX_AGENT_OAUTH_ISSUER", ISSUER),
    ("HELIX_AGENT_OAUTH_AUDIENCE", AUDIENCE),
    ("HELIX_AGENT_OAUTH_PROVIDER", PROVIDER),
    ("HELIX_AGENT_IP_RATE_LIMIT", "0"),
    ("HELIX_AGENT_PRINCIPAL_RATE_LIMIT", "0"),
    ("HELIX_WORKER_IP_RATE_LIMIT", "0"),
    ("HELIX_WORKER_TOKEN_RATE_LIMIT", "0"),
    ("HELIX_MCP_IP_RATE_LIMIT", "0"),
    ("HELIX_MCP_PRINCIPAL_RATE_LIMIT", "0"),
];

/// Every method and path of the API.
pub fn registered_routes() -> Vec<(&'static str, String)> {
    let runs = AGENT_ROUTES.map(|(method, path)| (method, path.to_owned()));
    let workers = WORKER_ROUTES.map(|(method, path)| (method, path.to_owned()));
    let tools = ["POST", "OPTIONS"].map(|method| (method, crate::mcp::PATH.to_owned()));
    let metadata = protected_resource::paths().map(|path| ("GET", path));
    runs.into_iter()
        .chain(workers)
        .chain(tools)
        .chain(metadata)
        .chain(
            public_paths().flat_map(|path| ["GET", "HEAD"].map(|method| (method, path.to_owned()))),
        )
        .collect()
}

/// Every method and path of the built-in authorization server that apps call.
pub fn issuer_routes() -> Vec<(&'static str, String)> {
    oauth::routes().collect()
}

/// Every method and path of the workspace door.
pub fn work_routes() -> Vec<(&'static str, String)> {
    let metadata = protected_resource::work_paths().map(|path| ("GET", path));
    let routes = http::work::routes().map(|(method, path)| (method, path.to_owned()));
    routes.chain(metadata).collect()
}

/// Every method and path that people meet with a browser.
pub fn person_routes() -> Vec<(&'static str, &'static str)> {
    browser::ROUTES.to_vec()
}

/// Paths that anybody may GET and HEAD.
fn public_paths() -> impl Iterator<Item = &'static str> {
    let documents = discovery::DOCUMENTS.into_iter().chain(browser::DOCUMENTS);
    let pages = browser::PAGES.into_iter().map(|(path, _)| path);
    documents
        .map(|(path, _)| path)
        .chain(pages)
        .chain(["/healthz", "/readyz"])
}

/// What solves the turns of a test's servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Turns {
    /// The test's own script.
    #[default]
    Scripted,
    /// The real engine over the real corpora.
    Solved,
}

/// How a test's servers are set up.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    pub turns: Turns,
    /// Settings by their flag names, over the harness's own.
    pub settings: Vec<(&'static str, String)>,
    /// Variables over the harness's own; an empty value takes one away.
    pub environment: Vec<(&'static str, String)>,
    /// Documents of the `research_library` scope, by file name.
    pub library: Vec<(&'static str, Vec<u8>)>,
}

/// Servers over one database, with a clock the test moves.
#[derive(Debug)]
pub struct TestApp {
    pub script: Script,
    servers: Vec<Running>,
    setup: Setup,
    folder: TempDir,
    database: TestDatabase,
    client: reqwest::Client,
}

impl TestApp {
    /// One server, scripted turns, limits out of the way.
    pub async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub async fn with(setup: Setup) -> Self {
        let template = testing::template("app", |options| async move {
            database::migrate(&options, Duration::from_secs(60))
                .await
                .map(drop)
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("library");
        std::fs::create_dir_all(&library).unwrap();
        for (name, content) in &setup.library {
            std::fs::write(library.join(name), content).unwrap();
        }
        let mut app = Self {
            script: Script::default(),
            servers: Vec::new(),
            setup,
            folder,
            database: template.clone_of_template().await,
            client: reqwest::Client::builder()
                .no_proxy()
                .pool_idle_timeout(CLIENT_IDLE)
                .build()
                .unwrap(),
        };
        app.add_server().await;
        app
    }

    /// One server that issues its tokens itself.
    pub async fn issuing() -> Self {
        Self::issuing_with(&[]).await
    }

    /// As [`Self::issuing`], with these variables.
    pub async fn issuing_with(variables: &[(&'static str, &str)]) -> Self {
        let outside = [
            "HELIX_AGENT_ALLOW_LOCAL_HS256",
            "HELIX_AGENT_LOCAL_JWT_SECRET",
            "HELIX_AGENT_OAUTH_ISSUER",
            "HELIX_AGENT_OAUTH_AUDIENCE",
            "HELIX_AGENT_OAUTH_PROVIDER",
        ];
        let without = outside.map(|name| (name, ""));
        let environment = without.iter().chain(variables);
        Self::with(Setup {
            environment: environment
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
            ..Setup::default()
        })
        .await
    }

    /// As [`Self::add_server`], with settings over those of the setup.
    pub async fn add_server_with(&mut self, settings: &[(&'static str, &str)]) {
        let before = self.setup.settings.clone();
        let added = settings
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        self.setup.settings.extend(added);
        self.add_server().await;
        self.setup.settings = before;
    }

    /// Another server on the same database and key file, as another process would be.
    pub async fn add_server(&mut self) {
        let config = self.config(self.servers.len());
        let turns: TurnParts = match self.setup.turns {
            Turns::Scripted => (Arc::new(self.script.clone()) as Arc<dyn TurnExecutor>).into(),
            Turns::Solved => (&server::solver(&config, PdfReading::OnThread, &|_| {})).into(),
        };
        self.servers
            .push(Running::start(&config, turns).await.unwrap());
    }

    fn config(&self, number: usize) -> Config {
        let flags = Flags(
            self.settings(number)
                .into_iter()
                .map(|(name, value)| (name, vec![value]))
                .collect(),
        );
        let variables = self.environment();
        let pairs = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        crate::config::load(&flags, &Environment::from_pairs(pairs), Path::new("."))
            .config
            .unwrap()
    }

    fn settings(&self, number: usize) -> BTreeMap<&'static str, String> {
        let data = self.folder.path().join(format!("data-{number}"));
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let mut settings = BTreeMap::from([
            ("listen", "127.0.0.1:0".to_owned()),
            ("metrics_listen", "127.0.0.1:0".to_owned()),
            ("database_url", self.database.url()),
            ("data_dir", text(data)),
            ("kek_file", text(self.folder.path().join("kek"))),
            ("library", text(self.library())),
        ]);
        settings.extend(self.setup.settings.iter().cloned());
        settings
    }

    fn environment(&self) -> BTreeMap<&'static str, String> {
        let own = ENVIRONMENT.map(|(name, value)| (name, value.to_owned()));
        let mut variables = BTreeMap::from(own);
        variables.extend(self.setup.environment.iter().cloned());
        variables.retain(|_, value| !value.is_empty());
        variables
    }

    /// Arguments and environment with which the binary serves this test's database as one more
    /// process.
    pub fn serve_process(&self) -> (Vec<OsString>, BTreeMap<&'static str, String>) {
        let flags = self.settings(self.servers.len() + 100).into_iter();
        let flags =
            flags.map(|(name, value)| format!("--{}={value}", name.replace('_', "-")).into());
        let arguments = std::iter::once("serve".into()).chain(flags).collect();
        (arguments, self.environment())
    }

    /// The folder of the `research_library` scope.
    pub fn library(&self) -> PathBuf {
        self.folder.path().join("library")
    }

    /// Where everything durable of this test lies, beside the database.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn database(&self) -> &TestDatabase {
        &self.database
    }

    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// The address of a path on the first server.
    pub fn url(&self, path: &str) -> String {
        self.url_of(0, path)
    }

    pub fn url_of(&self, server: usize, path: &str) -> String {
        format!("http://{}{path}", self.servers[server].address)
    }

    /// The text of a server's metrics, over its own listener.
    pub async fn metrics(&self, server: usize) -> String {
        let address = self.servers[server].metrics_address.unwrap();
        let answer = self
            .client
            .get(format!("http://{address}/metrics"))
            .send()
            .await
            .unwrap();
        answer.text().await.unwrap()
    }

    /// A linked account; its caller speaks with [`Caller::token`].
    pub async fn caller(&self, subject: &str) -> Caller {
        self.linked(subject, "harbour-coop", AccountType::User)
            .await
    }

    /// A linked account of stored type `developer`.
    pub async fn developer(&self, subject: &str) -> Caller {
        self.linked(subject, "harbour-coop", AccountType::Developer)
            .await
    }

    /// A linked account in a tenant.
    pub async fn linked(&self, subject: &str, tenant: &str, account_type: AccountType) -> Caller {
        let accounts = self.accounts();
        let email = format!("{subject}@{tenant}.example.org");
        let made = accounts
            .create(&email, subject, account_type)
            .await
            .unwrap();
        self.linked_too(made.account_id, subject, tenant).await
    }

    /// An account that exists, linked in one more tenant.
    pub async fn linked_too(&self, account: AccountId, subject: &str, tenant: &str) -> Caller {
        let tuple = LinkTuple {
            issuer: ISSUER.to_owned(),
            tenant: tenant.to_owned(),
            provider: PROVIDER.to_owned(),
            subject: subject.to_owned(),
        };
        let binding_ref = self.accounts().link(account, &tuple).await.unwrap();
        Caller {
            tuple,
            account: Some(account),
            binding_ref,
        }
    }

    /// Links a caller's tuple to its account once more.
    pub async fn link_again(&self, caller: &Caller) -> Caller {
        let account = caller.account.unwrap();
        let binding_ref = self.accounts().link(account, &caller.tuple).await.unwrap();
        Caller {
            binding_ref,
            ..caller.clone()
        }
    }

    /// Ends a caller's binding, as the operator would.
    pub async fn unlink(&self, caller: &Caller) {
        self.accounts().unlink(&caller.binding_ref).await.unwrap();
    }

    /// A token of an external worker: its text, and its id.
    pub async fn worker_token(&self, name: &str) -> (String, WorkerTokenId) {
        let made = self.worker_tokens().create(name).await.unwrap();
        (made.token.expose_secret().to_owned(), made.token_id)
    }

    /// Ends a worker's token, as the operator would.
    pub async fn revoke_worker_token(&self, token: WorkerTokenId) {
        self.worker_tokens().revoke(token).await.unwrap();
    }

    fn worker_tokens(&self) -> WorkerTokens {
        WorkerTokens::new(Arc::clone(self.servers[0].runs.core()))
    }

    fn accounts(&self) -> Accounts {
        Accounts::new(Arc::clone(self.servers[0].runs.core()))
    }

    /// Stops the database's clock, so that only the test moves it.
    pub async fn freeze(&self) {
        self.set_clock("update es.clock set frozen_at_ms = es.now_ms()")
            .await;
    }

    /// Moves the database's clock, on every server at once.
    pub async fn advance(&self, span: Duration) {
        let ms = i64::try_from(span.as_millis()).unwrap();
        self.set_clock(&format!(
            "update es.clock set offset_ms = offset_ms + {ms}, frozen_at_ms = frozen_at_ms + {ms}"
        ))
        .await;
    }

    async fn set_clock(&self, statement: &str) {
        let core = self.servers[0].runs.core();
        sqlx::query(statement).execute(&core.pool).await.unwrap();
        for server in &self.servers {
            server
                .runs
                .core()
                .clock
                .sample(&server.runs.core().pool)
                .await
                .unwrap();
        }
    }

    /// Lets background work finish everything that is due now.
    pub async fn settle(&self) {
        while self.servers[0].sweeper.sweep().await.unwrap() > 0 {}
        self.servers[0].projectors.settle().await.unwrap();
        self.servers[0].outbox.settle().await.unwrap();
    }

    /// Stops every server, then checks what must hold after any history: the chain of every
    /// stream, gapless sequences, views that equal their rebuild, no open transaction.
    pub async fn finish(self) {
        invariants::check(self.servers[0].runs.core()).await;
        for server in self.servers {
            server.stop().await.unwrap();
        }
    }
}

/// One principal of a test.
#[derive(Debug, Clone)]
pub struct Caller {
    tuple: LinkTuple,
    /// `None` for a stranger.
    account: Option<AccountId>,
    pub binding_ref: String,
}

impl Caller {
    /// A token with both run scopes and every data scope.
    pub fn token(&self) -> String {
        let data = helix_aggregates::agent::scope::CATALOG
            .iter()
            .map(|scope| scope.oauth_scope);
        let scopes: Vec<&str> = ["helix.agent_runs.read", "helix.agent_runs.write"]
            .into_iter()
            .chain(data)
            .collect();
        self.token_with(&json!({"scope": scopes.join(" ")}))
    }

    /// A token of these scopes alone.
    pub fn token_of(&self, scopes: &str) -> String {
        self.token_with(&json!({"scope": scopes}))
    }

    /// A token with claims over the usual ones; `null` removes a claim.
    pub fn token_with(&self, claims: &Value) -> String {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let mut all = json!({
            "iss": self.tuple.issuer, "aud": AUDIENCE, "sub": self.tuple.subject,
            "tenantId": self.tuple.tenant, "exp": now + 30 * 24 * 3600,
        });
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        all.as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        let key = jsonwebtoken::EncodingKey::from_secret(SECRET.as_bytes()).unwrap();
        jsonwebtoken::encode(&jsonwebtoken::Header::default(), &all, &key).unwrap()
    }

    /// The same subject as another principal sees it: not linked to anything.
    #[must_use]
    pub fn stranger(&self) -> Self {
        let tuple = LinkTuple {
            subject: format!("{}-stranger", self.tuple.subject),
            ..self.tuple.clone()
        };
        Self {
            tuple,
            account: None,
            binding_ref: String::new(),
        }
    }
}
