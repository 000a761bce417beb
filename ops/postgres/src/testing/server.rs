//! The server of this test process, and its end.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::OnceCell;

use super::{must, names};
use crate::endpoint::quoted;
use crate::{Cluster, ClusterConfig, DataDirLock, Durability, PostgresError, Search, leftovers};

static SERVER: OnceCell<TestServer> = OnceCell::const_new();

/// Outlives the test process: waits for the end of its standard input, whatever caused it, then for the
/// postmaster's own end, and removes the directories.
const REAPER: &str = r#"cat >/dev/null
i=0; while [ -e "$1/pg/postmaster.pid" ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done
rm -rf -- "$1" "$2""#;

/// The server that all tests of this process share.
#[derive(Debug)]
pub struct TestServer {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Private { cluster: Cluster, _reaper: Child },
    Given(Box<PgConnectOptions>),
}

/// Starts the server at the first call. Every test may use it at once, each from its own runtime.
pub async fn shared() -> &'static TestServer {
    SERVER.get_or_init(start).await
}

impl TestServer {
    /// Options for a database of the server.
    pub fn connect_options(&self, database: &str) -> PgConnectOptions {
        match &self.kind {
            Kind::Private { cluster, .. } => cluster.connect_options(database),
            Kind::Given(options) => options.as_ref().clone().database(database),
        }
    }

    /// The same as a URL, for programs that tests start. It may hold the password of the given server.
    pub fn url(&self, database: &str) -> String {
        match &self.kind {
            Kind::Private { cluster, .. } => cluster.url(database),
            Kind::Given(options) => options
                .as_ref()
                .clone()
                .database(database)
                .to_url_lossy()
                .into(),
        }
    }

    pub(super) async fn administer(&self, statements: &[String]) -> Result<(), sqlx::Error> {
        let database = match &self.kind {
            Kind::Private { .. } => "postgres".to_owned(),
            Kind::Given(options) => options.get_database().unwrap_or("postgres").to_owned(),
        };
        let mut connection = PgConnection::connect_with(&self.connect_options(&database)).await?;
        for statement in statements {
            sqlx::query(statement).execute(&mut connection).await?;
        }
        connection.close().await
    }
}

async fn start() -> TestServer {
    if let Some(url) = std::env::var_os("HELIX_TEST_DATABASE_URL").filter(|url| !url.is_empty()) {
        let parsed = url.to_string_lossy().parse::<PgConnectOptions>();
        let options = must(
            "HELIX_TEST_DATABASE_URL is not a Postgres URL",
            parsed.map_err(|_| "it does not parse"),
        );
        must(
            "the server of HELIX_TEST_DATABASE_URL",
            sweep(&options).await,
        );
        return TestServer {
            kind: Kind::Given(Box::new(options)),
        };
    }
    let outcome = private().await;
    let kind = must(
        "no Postgres for this test",
        outcome.map_err(|error| format!("{error}\nfix: {}", error.fix())),
    );
    TestServer { kind }
}

async fn private() -> Result<Kind, PostgresError> {
    let programs = Search::new(cache()).find()?;
    let directory = leftovers::fresh(&std::env::temp_dir(), "helix-test-")?;
    let lock = DataDirLock::acquire(directory.path())?;
    let mut config = ClusterConfig::new(programs, lock);
    config.durability = Durability::Off;
    config.settings = [("max_connections", "200"), ("autovacuum", "off")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let cluster = Cluster::start(config).await?;
    let reaper = reaper(directory.path(), cluster.endpoint().socket_dir())?;
    // Its removal is the reaper's from now on.
    drop(directory.keep());
    Ok(Kind::Private {
        cluster,
        _reaper: reaper,
    })
}

fn reaper(directory: &Path, socket_dir: &Path) -> Result<Child, PostgresError> {
    use std::os::unix::process::CommandExt;
    // Nothing of the test's may be inherited, or whoever reads its output would wait for the reaper too.
    Command::new("/bin/sh")
        .args(["-c", REAPER, "reaper"])
        .args([directory, socket_dir])
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| PostgresError::Launch {
            program: "/bin/sh".into(),
            source,
        })
}

/// Downloaded programs are kept beside the build's own output, which every run finds again.
fn cache() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let target = program
        .ancestors()
        .find(|place| place.join("CACHEDIR.TAG").exists());
    target
        .map_or_else(std::env::temp_dir, Path::to_owned)
        .join("helix-postgres")
}

/// Drops what dead processes of this machine left on a server that outlives them.
async fn sweep(server: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect_with(server).await?;
    let databases: Vec<String> =
        sqlx::query_scalar("select datname from pg_database where starts_with(datname, $1)")
            .bind(names::prefix())
            .fetch_all(&mut connection)
            .await?;
    for database in databases
        .iter()
        .filter(|database| names::is_orphaned(database))
    {
        let dropped = format!("drop database if exists {} with (force)", quoted(database));
        sqlx::query(&dropped).execute(&mut connection).await?;
    }
    connection.close().await
}
