//! Where everything is measured: one throw-away cluster with full durability, a database each for
//! our store and its peers.
//!
//! What must stay true: an acknowledged commit is on the disk for every contender alike. Nothing of
//! a run outlives it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helix_postgres::{Cluster, ClusterConfig, DataDirLock, Durability, Programs};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, PgPool};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::BenchError;
use super::contenders::RAW_TABLES;
use super::service::Service;
use super::tally::Tally;
use crate::metrics::Metrics;
use crate::store::log::{Log, Stream};
use crate::store::owner::OwnerKey;
use crate::store::sealing::DataKey;
use crate::store::{Core, CoreConfig, database, ledger};

/// Owners that the hands of a slice write for; more hands than any slice has.
const OWNERS: usize = 128;
/// Connections of a peer. More gained it nothing, and it has no queue of its own.
const PEER_CONNECTIONS: u32 = 32;
const PATIENCE: Duration = Duration::from_secs(30);
/// The file system type of memory, whose commits cost nothing.
const TMPFS: u64 = 0x0102_1994;

const PEER_TABLE: &str = "create table events (
    aggregate_type text not null,
    aggregate_id text not null,
    sequence bigint not null check (sequence >= 0),
    event_type text not null,
    event_version text not null,
    payload json not null,
    metadata json not null,
    primary key (aggregate_type, aggregate_id, sequence))";

const RAW_TABLE: &str = "create table raw_row (
    row_id bigint generated always as identity primary key,
    payload bytea not null)";

#[derive(Debug)]
pub struct Ground {
    pub core: Arc<Core>,
    pub log: Arc<Log<Tally>>,
    /// A stream of each owner.
    pub owners: Vec<Stream>,
    /// The database of postgres-es, with the table its documentation asks for.
    pub peer: PgPool,
    /// The database of bare SQL.
    pub raw: PgPool,
    service: OnceCell<Arc<Service>>,
    pub cluster: Cluster,
    folder: TempDir,
}

impl Ground {
    pub async fn prepare(programs: Programs) -> Result<Self, BenchError> {
        let folder = tempfile::Builder::new()
            .prefix("helix-bench-")
            .tempdir_in(parent())?;
        let mut config = ClusterConfig::new(programs, DataDirLock::acquire(folder.path())?);
        config.durability = Durability::Full;
        // Room for all contenders at once; everything else is what a server runs with.
        config.settings = vec![("max_connections".to_owned(), "200".to_owned())];
        let cluster = Cluster::start(config).await?;
        let helix = database_of(&cluster, "helix").await?;
        let core = open(&helix, folder.path(), CoreConfig::default()).await?;
        let owners = owners(&core, OWNERS).await?;
        Ok(Self {
            log: Arc::new(Log::new(Arc::clone(&core))),
            core,
            owners,
            peer: foreign(&cluster, "peer", PEER_TABLE).await?,
            raw: foreign(&cluster, "raw", &format!("{RAW_TABLE};{RAW_TABLES}")).await?,
            service: OnceCell::new(),
            cluster,
            folder,
        })
    }

    /// The same database as another process would open it, which spreads new owners over `lanes`.
    pub async fn second_process(&self, lanes: u8) -> Result<Arc<Core>, BenchError> {
        let options = self.cluster.connect_options("helix");
        let config = CoreConfig {
            lanes,
            ..CoreConfig::default()
        };
        open(&options, self.folder.path(), config).await
    }

    /// A connection of our database's owner, fresh, so that it survived no crash.
    pub async fn connect(&self) -> Result<PgConnection, BenchError> {
        Ok(self.cluster.connect_options("helix").connect().await?)
    }

    /// A migrated database beside the others, and options for it.
    pub async fn another_database(&self, name: &str) -> Result<PgConnectOptions, BenchError> {
        database_of(&self.cluster, name).await
    }

    /// A fresh stream of owner number `number`.
    pub fn stream(&self, number: usize) -> Stream {
        self.fresh(&self.owners[number % self.owners.len()])
    }

    /// Another stream of the owner of `stream`.
    pub fn fresh(&self, stream: &Stream) -> Stream {
        Stream {
            id: self.core.ids.stream(stream.lane),
            ..stream.clone()
        }
    }

    /// A server with a database of its own, started at the first call.
    pub async fn service(&self) -> Result<Arc<Service>, BenchError> {
        let start = || async {
            self.cluster.ensure_database("served").await?;
            let folder = self.folder.path().join("served");
            Service::start(&self.cluster.url("served"), &folder)
                .await
                .map(Arc::new)
        };
        self.service.get_or_try_init(start).await.cloned()
    }

    pub async fn clear_away(mut self) -> Result<(), BenchError> {
        if let Some(service) = self.service.take().and_then(Arc::into_inner) {
            service.stop().await?;
        }
        self.cluster.stop().await?;
        Ok(self.folder.close()?)
    }
}

/// A folder on a disk: commits into memory would measure something else.
fn parent() -> PathBuf {
    let usual = std::env::temp_dir();
    let in_memory = |path: &Path| {
        rustix::fs::statfs(path).is_ok_and(|found| u64::try_from(found.f_type) == Ok(TMPFS))
    };
    let on_disk = Path::new("/var/tmp");
    if in_memory(&usual) && on_disk.is_dir() && !in_memory(on_disk) {
        on_disk.to_owned()
    } else {
        usual
    }
}

async fn database_of(cluster: &Cluster, name: &str) -> Result<PgConnectOptions, BenchError> {
    cluster.ensure_database(name).await?;
    let options = cluster.connect_options(name);
    database::migrate(&options, PATIENCE).await?;
    Ok(options)
}

async fn open(
    options: &PgConnectOptions,
    folder: &Path,
    config: CoreConfig,
) -> Result<Arc<Core>, BenchError> {
    let metrics = Metrics::new().map_err(|error| BenchError::Metrics(error.to_string()))?;
    Ok(Core::open(options, &folder.join("kek"), config, metrics).await?)
}

async fn foreign(cluster: &Cluster, name: &str, tables: &str) -> Result<PgPool, BenchError> {
    cluster.ensure_database(name).await?;
    let pool = PgPoolOptions::new()
        .max_connections(PEER_CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(cluster.connect_options(name))
        .await?;
    pool.execute(tables).await?;
    Ok(pool)
}

/// Owners with their data keys stored, in lanes of the store's own choice.
pub async fn owners(core: &Core, number: usize) -> Result<Vec<Stream>, BenchError> {
    let mut owners = Vec::with_capacity(number);
    let mut conn = core.pool.acquire().await?;
    let mut transaction = conn.begin().await?;
    for index in 0..number {
        let id = core.ids.uuid();
        let owner: OwnerKey = core
            .keyring
            .owner("bench", &[&index.to_be_bytes(), id.as_bytes()]);
        let (wrapped, key): (_, Arc<DataKey>) = core.keyring.make(id, &owner, 0)?;
        ledger::add_data_key(&mut transaction, &wrapped).await?;
        let lane = core.lane(&owner).await?;
        owners.push(Stream {
            id: core.ids.stream(lane),
            lane,
            owner,
            key,
        });
    }
    transaction.commit().await?;
    Ok(owners)
}
