//! One process, wired together: database, store, solver, workers and doors.
//!
//! What must stay true: nothing can be claimed before migrations and keys are ready; a stop gives
//! requests in flight their time and loses nothing that was acknowledged.

pub mod database;
mod parts;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use actix_web::dev::ServerHandle;
use tokio::task::JoinSet;

use crate::app::agent::runs::Runs;
use crate::config::{BaseUrl, Config};
use crate::http::door::{Doors, Readiness};
use crate::http::serve;
use crate::metrics::Metrics;
use crate::store::keyring::KeyringError;
use crate::store::{Core, CoreConfig};
use crate::worker::cleanup::Cleanup;
use crate::worker::offers::Offers;
use crate::worker::outbox::{Outbox, OutboxSettings};
use crate::worker::projector::Projectors;
use crate::worker::sweeper::Sweeper;
use database::{Database, DatabaseError};

pub use parts::{SolverParts, TurnParts, solver, webhook_reach};

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Keys(#[from] KeyringError),
    #[error("{0}")]
    Setting(String),
    #[error("the metrics could not be set up: {0}")]
    Metrics(#[from] prometheus::Error),
}

/// A server that serves.
#[derive(Debug)]
pub struct Running {
    pub address: SocketAddr,
    pub metrics_address: Option<SocketAddr>,
    pub base: BaseUrl,
    pub runs: Runs,
    pub sweeper: Sweeper,
    pub projectors: Projectors,
    pub outbox: Outbox,
    pub data_dir: PathBuf,
    readiness: Readiness,
    handles: Vec<ServerHandle>,
    tasks: JoinSet<()>,
    database: Database,
}

/// Opens the store of a configuration: the running cluster of its data directory, or a started
/// one. For commands that work beside a server or without one.
pub async fn open_store(config: &Config) -> Result<(Arc<Core>, Database), StartError> {
    let database = Database::open(config).await?;
    database.migrate().await?;
    let small = CoreConfig {
        read_connections: 4,
        ..core_config(config)
    };
    let core = Core::open(
        &database.options,
        &config.data.kek_file,
        small,
        Metrics::new()?,
    )
    .await?;
    Ok((core, database))
}

fn core_config(config: &Config) -> CoreConfig {
    CoreConfig {
        lanes: config.database.lanes,
        ..CoreConfig::default()
    }
}

impl Running {
    /// Starts everything. Listeners are bound first, so a taken port costs nothing, and answer
    /// "migrating" until the store is ready.
    pub async fn start(config: &Config, turns: impl Into<TurnParts>) -> Result<Self, StartError> {
        let TurnParts { executor, desk } = turns.into();
        let readiness = Readiness::default();
        let metrics = Metrics::new()?;
        let doors = bind(config.server.listen)?;
        let address = doors
            .local_addr()
            .map_err(|source| listen_fault(config.server.listen, source))?;
        let metrics_listener = config.server.metrics_listen.map(bind).transpose()?;
        let metrics_address = metrics_listener
            .as_ref()
            .and_then(|listener| listener.local_addr().ok());
        let mut tasks = JoinSet::new();
        let mut handles = Vec::new();
        let server = serve::doors(doors, readiness.clone(), metrics.clone())
            .map_err(|source| listen_fault(address, source))?;
        handles.push(server.handle());
        tasks.spawn(ended(server));
        if let Some(listener) = metrics_listener {
            let server = serve::metrics(listener, metrics.clone())
                .map_err(|source| listen_fault(address, source))?;
            handles.push(server.handle());
            tasks.spawn(ended(server));
        }
        let database = Database::hold(config).await?;
        database.migrate().await?;
        let kek_file = &config.data.kek_file;
        let core = Core::open(&database.options, kek_file, core_config(config), metrics).await?;
        let runs = Runs::new(Arc::clone(&core), parts::run_settings(config), executor);
        let base = config.server.public_url.base(address);
        let listener = parts::Listener {
            address,
            base: base.clone(),
        };
        let door = parts::agent_door(config, &core, runs.clone(), listener)?;
        let sweeper = Sweeper::new(runs.clone());
        tasks.spawn(sweeper.clone().run());
        let projectors = Projectors::new(Arc::clone(runs.core()));
        tasks.spawn(projectors.clone().run());
        tasks.spawn(Cleanup::new(Arc::clone(runs.core())).run());
        let settings = OutboxSettings::new(parts::webhook_reach(config));
        let outbox = Outbox::new(Arc::clone(runs.core()), settings);
        tasks.spawn(outbox.clone().run());
        if let Some(queue) = desk.and_then(|desk| desk.take()) {
            let offers = Offers::new(runs.clone(), queue, config.solver.claim_timeout);
            tasks.spawn(offers.run());
        }
        readiness.open(Arc::new(door));
        Ok(Self {
            address,
            metrics_address,
            base,
            runs,
            sweeper,
            projectors,
            outbox,
            data_dir: config.data.dir.clone(),
            readiness,
            handles,
            tasks,
            database,
        })
    }

    pub fn door(&self) -> Option<&Arc<Doors>> {
        self.readiness.door()
    }

    /// Refuses new requests, lets those in flight end within 10 s, then stops the database if it
    /// is ours.
    pub async fn stop(mut self) -> Result<(), DatabaseError> {
        self.readiness.drain();
        for handle in &self.handles {
            serve::stop(handle, true).await;
        }
        self.tasks.shutdown().await;
        self.runs.core().close().await;
        self.database.close().await
    }
}

async fn ended(server: actix_web::dev::Server) {
    if let Err(error) = server.await {
        tracing::error!(%error, "a listener ended");
    }
}

fn bind(address: SocketAddr) -> Result<std::net::TcpListener, StartError> {
    serve::bind(address).map_err(|source| listen_fault(address, source))
}

fn listen_fault(address: SocketAddr, source: std::io::Error) -> StartError {
    StartError::Listen { address, source }
}
