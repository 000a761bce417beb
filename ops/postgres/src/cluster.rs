//! A running private cluster, and the way to one that another process runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{oneshot, watch};

use crate::endpoint::Endpoint;
use crate::error::PostgresError;
use crate::health::{Health, Shared};
use crate::initdb::cluster_path;
use crate::keeper::Keeper;
use crate::lock::DataDirLock;
use crate::pid_file::PidFile;
use crate::search::Programs;
use crate::settings::Durability;

/// SIGINT, then SIGQUIT, then SIGKILL, each given this long.
const STOP_STEPS: [(Signal, Duration); 3] = [
    (Signal::INT, Duration::from_secs(30)),
    (Signal::QUIT, Duration::from_secs(10)),
    (Signal::KILL, Duration::from_secs(5)),
];

/// What a cluster is started with; the cluster itself lives in `<data-dir>/pg` of the locked directory.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    pub programs: Programs,
    /// Kept until the server has ended.
    pub lock: DataDirLock,
    pub durability: Durability,
    /// Where the socket goes; by default `<data-dir>/run`, or a short path when that is too long.
    pub socket_dir: Option<PathBuf>,
    /// More server settings, name and value. They cannot open a port or make the log talk.
    pub settings: Vec<(String, String)>,
    /// How long a start may take, the recovery after a crash included.
    pub start_timeout: Duration,
}

impl ClusterConfig {
    pub fn new(programs: Programs, lock: DataDirLock) -> Self {
        Self {
            programs,
            lock,
            durability: Durability::Full,
            socket_dir: None,
            settings: Vec::new(),
            start_timeout: Duration::from_secs(300),
        }
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.lock.data_dir().join("postgres.log")
    }
}

/// A supervised server. It is restarted when it dies; dropping the handle stops it without waiting.
#[derive(Debug)]
pub struct Cluster {
    endpoint: Endpoint,
    shared: Arc<Shared>,
}

impl Cluster {
    /// Makes the cluster when it is missing, starts it and waits until it answers.
    ///
    /// # Errors
    /// Everything of [`PostgresError`] but the search's and the lock's own. Nothing runs afterwards.
    pub async fn start(config: ClusterConfig) -> Result<Self, PostgresError> {
        let shared = Shared::new();
        let (sender, receiver) = oneshot::channel();
        let keeper = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("postgres-keeper".into())
            .spawn(move || Keeper::run(config, &keeper, sender))
            .map_err(|source| PostgresError::Launch {
                program: "postgres-keeper".into(),
                source,
            })?;
        let endpoint = receiver
            .await
            .map_err(|_| PostgresError::SupervisorGone)??;
        // From here on, giving up drops the handle and so stops the server.
        let cluster = Self { endpoint, shared };
        cluster.endpoint.answers().await?;
        Ok(cluster)
    }

    /// The running server of a data directory that another process supervises; `None` when there is none, or
    /// it is not ready.
    ///
    /// # Errors
    /// [`PostgresError::Directory`] when the directory exists and cannot be read.
    pub fn attach(data_dir: &Path) -> Result<Option<Endpoint>, PostgresError> {
        let data_dir = match data_dir.canonicalize() {
            Ok(data_dir) => data_dir,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(PostgresError::Directory {
                    path: data_dir.to_owned(),
                    source,
                });
            }
        };
        let cluster = cluster_path(&data_dir);
        let live = PidFile::read(&cluster).filter(|file| file.ready && file.lives_in(&cluster));
        Ok(live.and_then(|file| file.endpoint))
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// See [`Endpoint::connect_options`].
    pub fn connect_options(&self, database: &str) -> PgConnectOptions {
        self.endpoint.connect_options(database)
    }

    /// See [`Endpoint::url`].
    pub fn url(&self, database: &str) -> String {
        self.endpoint.url(database)
    }

    /// See [`Endpoint::ensure_database`].
    ///
    /// # Errors
    /// [`PostgresError::Connect`].
    pub async fn ensure_database(&self, name: &str) -> Result<(), PostgresError> {
        self.endpoint.ensure_database(name).await
    }

    /// The postmaster's process id while it is ready.
    pub fn pid(&self) -> Option<u32> {
        match *self.shared.health().borrow() {
            Health::Ready { pid } => Some(pid),
            Health::Starting | Health::Down { .. } | Health::Stopped => None,
        }
    }

    /// Follows the server's health, for readiness checks.
    pub fn health(&self) -> watch::Receiver<Health> {
        self.shared.health()
    }

    /// Stops the server: SIGINT, after 30 s SIGQUIT, at last SIGKILL. The data directory is free afterwards
    /// unless the caller kept a clone of its lock. A second call finds nothing to do.
    ///
    /// # Errors
    /// [`PostgresError::StopTimeout`] when not even SIGKILL ended it.
    pub async fn stop(&self) -> Result<(), PostgresError> {
        let mut health = self.shared.health();
        for (signal, limit) in STOP_STEPS {
            self.shared.stop(signal);
            let stopped = health.wait_for(|health| *health == Health::Stopped);
            if tokio::time::timeout(limit, stopped).await.is_ok() {
                return Ok(());
            }
        }
        Err(PostgresError::StopTimeout {
            waited: STOP_STEPS.iter().map(|(_, limit)| *limit).sum(),
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.shared.stop(Signal::INT);
    }
}
