//! A site: a data directory, its settings, and servers started on it.

pub mod client;
pub mod database;
pub mod process;
pub mod seed;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use helix_postgres::testing::{self, TestDatabase};
use serde_json::Value;
use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;

use process::Server;

const SECRET: &str = "tests-only-secret-of-more-than-32-characters";
const ISSUER: &str = "https://id.example.org/";
const AUDIENCE: &str = "https://helix.example.org/mcp";

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(15);

/// Waits until `condition` gives a value, at most for `limit`.
pub async fn until<T>(
    what: &str,
    limit: Duration,
    mut condition: impl AsyncFnMut() -> Option<T>,
) -> T {
    let deadline = tokio::time::Instant::now() + limit;
    let mut tick = tokio::time::interval(LOOK);
    loop {
        tick.tick().await;
        if let Some(value) = condition().await {
            return value;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "not in {limit:?}: {what}"
        );
    }
}

/// Everything that servers of one test share.
pub struct Site {
    folder: TempDir,
    database: Option<TestDatabase>,
    settings: Vec<(&'static str, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Site {
    /// Servers keep their own durable cluster in the data directory.
    pub fn embedded() -> Self {
        Self::new(None)
    }

    /// Servers share a fresh database of the throw-away cluster.
    pub async fn shared_database() -> Self {
        // Migrated by the first server of each test.
        let template = testing::template("process", |_| async { Ok::<_, String>(()) }).await;
        Self::new(Some(template.clone_of_template().await))
    }

    fn new(database: Option<TestDatabase>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("helix processes ")
            .tempdir()
            .unwrap();
        std::fs::create_dir(folder.path().join("library")).unwrap();
        Self {
            folder,
            database,
            settings: Vec::new(),
        }
    }

    /// Another value of a setting, by its variable.
    pub fn set(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.settings.push((variable, value.into()));
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn library(&self) -> PathBuf {
        self.path().join("library")
    }

    pub fn data_dir(&self, server: usize) -> PathBuf {
        self.path().join(format!("data-{server}"))
    }

    /// The binary with the settings of server `server`.
    pub fn command(&self, server: usize) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_helix"));
        command
            .current_dir(self.path())
            .env_clear()
            .envs(self.variables(server));
        command.stdin(Stdio::null());
        command
    }

    pub fn variables(&self, server: usize) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let mut variables = vec![
            ("PATH", std::env::var("PATH").unwrap()),
            ("HELIX_LISTEN", "127.0.0.1:0".to_owned()),
            ("HELIX_METRICS_LISTEN", "off".to_owned()),
            ("HELIX_DATA_DIR", text(self.data_dir(server))),
            ("HELIX_KEK_FILE", text(self.path().join("keys/kek"))),
            ("HELIX_LIBRARY", text(self.library())),
            ("HELIX_AGENT_ALLOW_LOCAL_HS256", "1".to_owned()),
            ("HELIX_AGENT_LOCAL_JWT_SECRET", SECRET.to_owned()),
            ("HELIX_AGENT_OAUTH_ISSUER", ISSUER.to_owned()),
            ("HELIX_AGENT_OAUTH_AUDIENCE", AUDIENCE.to_owned()),
            ("HELIX_AGENT_OAUTH_PROVIDER", "local".to_owned()),
            ("HELIX_AGENT_IP_RATE_LIMIT", "0".to_owned()),
            ("HELIX_AGENT_PRINCIPAL_RATE_LIMIT", "0".to_owned()),
            ("HELIX_MCP_IP_RATE_LIMIT", "0".to_owned()),
            ("HELIX_MCP_PRINCIPAL_RATE_LIMIT", "0".to_owned()),
        ];
        if let Some(database) = &self.database {
            variables.push(("HELIX_DATABASE_URL", database.url()));
        }
        variables.extend(self.settings.iter().cloned());
        variables
    }

    /// Starts server `server` and waits until it serves.
    pub async fn start(&self, server: usize) -> Server {
        Server::spawn(
            self.command(server),
            self.log(server),
            Duration::from_secs(60),
        )
        .await
    }

    /// Where the log lines of a server go, over all its lives.
    pub fn log(&self, server: usize) -> PathBuf {
        self.path().join(format!("log-{server}.txt"))
    }

    /// Runs a command to its end.
    pub async fn run(&self, server: usize, arguments: &[&str], input: &str) -> Ended {
        let mut command = self.command(server);
        command.args(arguments);
        process::run(command, input).await
    }

    /// A linked account, made as an operator makes it.
    pub async fn caller(&self, subject: &str) -> Caller {
        self.make_caller(subject, &|| self.command(0)).await
    }

    async fn make_caller(&self, subject: &str, command: &dyn Fn() -> Command) -> Caller {
        let email = format!("{subject}@example.org");
        let mut create = command();
        create.args([
            "account",
            "create",
            "--email",
            &email,
            "--name",
            subject,
            "--passphrase-stdin",
            "--json",
        ]);
        let made = process::run(create, "a passphrase that is long\n")
            .await
            .object();
        let mut link = command();
        link.args([
            "account",
            "link",
            "--account",
            made["account_id"].as_str().unwrap(),
        ]);
        link.args([
            "--issuer",
            ISSUER,
            "--tenant",
            "harbour-coop",
            "--provider",
            "local",
        ]);
        link.args(["--subject", subject, "--json"]);
        process::run(link, "").await.object();
        Caller {
            token: token(subject),
        }
    }

    /// As [`Self::caller`], by commands that run in the namespaces of a server.
    pub async fn caller_within(&self, subject: &str, server: &Server) -> Caller {
        let target = server.pid().as_raw_nonzero().to_string();
        let enter = [
            "--target",
            &target,
            "--user",
            "--mount",
            "--preserve-credentials",
        ];
        self.make_caller(subject, &|| {
            let mut command = Command::new("nsenter");
            command
                .current_dir(self.path())
                .env_clear()
                .envs(self.variables(0));
            command.args(enter).arg(env!("CARGO_BIN_EXE_helix"));
            command
        })
        .await
    }

    /// How to reach the database that the servers use.
    pub fn database(&self) -> PgConnectOptions {
        match &self.database {
            Some(database) => database.options.clone(),
            None => helix_postgres::Cluster::attach(&self.data_dir(0))
                .unwrap()
                .expect("the cluster runs")
                .connect_options("helix"),
        }
    }
}

/// A principal of a test.
#[derive(Debug, Clone)]
pub struct Caller {
    pub token: String,
}

fn token(subject: &str) -> String {
    let scopes: Vec<&str> = ["helix.agent_runs.read", "helix.agent_runs.write"]
        .into_iter()
        .chain(
            helix_aggregates::agent::scope::CATALOG
                .iter()
                .map(|scope| scope.oauth_scope),
        )
        .collect();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let claims = serde_json::json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "tenantId": "harbour-coop",
        "exp": now + 30 * 24 * 3600, "scope": scopes.join(" "),
    });
    let key = jsonwebtoken::EncodingKey::from_secret(SECRET.as_bytes());
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key.unwrap()).unwrap()
}

impl Ended {
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// The one object that was printed by a command that went well.
    #[track_caller]
    pub fn object(self) -> Value {
        let ended = self.expect(0);
        serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}", ended.out))
    }
}
