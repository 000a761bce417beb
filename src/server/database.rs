//! Which Postgres is used, and who stops it.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use helix_postgres::{Cluster, ClusterConfig, DataDirLock, PostgresError, Search, existing_major};
use secrecy::ExposeSecret;
use sqlx::postgres::PgConnectOptions;

use crate::config::Config;
use crate::store::database::{MigrateError, Migrated, migrate};
use crate::telemetry::millis;

/// The database of the embedded cluster.
const NAME: &str = "helix";
/// How long another process may migrate before this one gives up.
const MIGRATION_PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    #[error("the database URL is not understood")]
    Url,
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    #[error("{path} cannot be used: {source}")]
    DataDir {
        path: String,
        source: std::io::Error,
    },
}

impl DatabaseError {
    /// One line: what to type or change.
    pub fn fix(&self) -> String {
        match self {
            Self::Postgres(error) => error.fix(),
            Self::Url => "write it as postgres://user:password@host:port/database".to_owned(),
            Self::Migrate(MigrateError::Newer { .. }) => {
                "install the version of helix that wrote this database, or a later one".to_owned()
            }
            Self::Migrate(_) => "see that the database is up, then start again".to_owned(),
            Self::DataDir { .. } => {
                "choose another --data-dir, or let this user write there".to_owned()
            }
        }
    }
}

/// A reachable database.
#[derive(Debug)]
pub struct Database {
    pub options: PgConnectOptions,
    ownership: Ownership,
}

#[derive(Debug)]
enum Ownership {
    /// Started here: stopped here.
    Ours(Box<Cluster>),
    /// Another process's cluster, or somebody else's server.
    Theirs,
    /// Somebody else's server, but our data directory.
    Locked { _lock: DataDirLock },
}

impl Database {
    /// For a server: the data directory is locked for as long as the value lives.
    pub async fn hold(config: &Config) -> Result<Self, DatabaseError> {
        let lock = DataDirLock::acquire(&config.data.dir)?;
        close_to_others(&config.data.dir)?;
        match external(config)? {
            Some(options) => Ok(Self {
                options,
                ownership: Ownership::Locked { _lock: lock },
            }),
            None => Self::start(config, lock).await,
        }
    }

    /// For a command: the running cluster of the data directory, else a started one.
    pub async fn open(config: &Config) -> Result<Self, DatabaseError> {
        if let Some(options) = external(config)? {
            return Ok(Self {
                options,
                ownership: Ownership::Theirs,
            });
        }
        if let Some(endpoint) = Cluster::attach(&config.data.dir)? {
            let options = endpoint.connect_options(NAME);
            return Ok(Self {
                options,
                ownership: Ownership::Theirs,
            });
        }
        let lock = DataDirLock::acquire(&config.data.dir)?;
        Self::start(config, lock).await
    }

    async fn start(config: &Config, lock: DataDirLock) -> Result<Self, DatabaseError> {
        let search = Search {
            pg_bin: config.database.pg_bin.clone(),
            major: existing_major(&config.data.dir)?,
            ..Search::new(config.data.dir.join("cache"))
        };
        // Looking through folders, and perhaps a download, must not hold up the runtime.
        let programs = tokio::task::spawn_blocking(move || search.find())
            .await
            .map_err(|_| PostgresError::SupervisorGone)??;
        let cluster = Cluster::start(ClusterConfig::new(programs, lock)).await?;
        cluster.ensure_database(NAME).await?;
        Ok(Self {
            options: cluster.connect_options(NAME),
            ownership: Ownership::Ours(Box::new(cluster)),
        })
    }

    pub async fn migrate(&self) -> Result<Migrated, DatabaseError> {
        let started = std::time::Instant::now();
        let done = migrate(&self.options, MIGRATION_PATIENCE).await?;
        if done.before != done.after {
            let duration_ms = millis(started.elapsed().as_secs_f64());
            tracing::info!(
                before = done.before,
                after = done.after,
                duration_ms,
                "migrated"
            );
        }
        Ok(done)
    }

    /// Stops a cluster that was started here.
    pub async fn close(self) -> Result<(), DatabaseError> {
        match self.ownership {
            Ownership::Ours(cluster) => cluster.stop().await.map_err(DatabaseError::from),
            Ownership::Locked { .. } | Ownership::Theirs => Ok(()),
        }
    }
}

fn external(config: &Config) -> Result<Option<PgConnectOptions>, DatabaseError> {
    let Some(url) = &config.database.url else {
        return Ok(None);
    };
    // The error would quote the URL, and with it the password.
    PgConnectOptions::from_str(url.expose_secret())
        .map(Some)
        .map_err(|_| DatabaseError::Url)
}

/// A data directory is nobody else's business, also one that was made by hand.
fn close_to_others(folder: &Path) -> Result<(), DatabaseError> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(|source| {
        DatabaseError::DataDir {
            path: folder.display().to_string(),
            source,
        }
    })
}

/// The default library of a data directory exists, so that a first document has a place.
pub fn make_library(folder: &Path) -> Result<(), DatabaseError> {
    std::fs::create_dir_all(folder).map_err(|source| DatabaseError::DataDir {
        path: folder.display().to_string(),
        source,
    })
}
