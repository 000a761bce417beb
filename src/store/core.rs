//! The store's parts, wired together once for a process.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use quick_cache::sync::Cache;
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, JoinSet};
use uuid::Uuid;

use super::StoreError;
use super::append::Append;
use super::appender::{Appender, Lanes};
use super::clock::DbClock;
use super::database;
use super::flush::Form;
use super::keyring::{Keyring, KeyringError};
use super::owner::{self, DEFAULT_LANES, Lane, MAX_LANES, OwnerKey};
use super::patience::in_time;
use super::read;
use super::read_pool::ReadPool;
use super::sealing::DataKey;
use super::uses::{self, Used};
use super::watch::Hub;
use super::writable::Writable;
use crate::ids::Ids;
use crate::metrics::Metrics;

/// How long a pool's connections may take to come back when the store closes.
const CLOSE: Duration = Duration::from_secs(5);
/// Connections that look up who asks; a look-up takes well under a millisecond.
pub const ADMISSION_CONNECTIONS: usize = 3;
/// Connections for taking things back (`access` 12).
pub const WITHDRAWAL_CONNECTIONS: usize = 1;

/// Among whom a caller waits to be recognised: who comes to take something back does not wait
/// behind those who come to ask for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Ordinary,
    Withdrawal,
}

/// How the store is set up.
#[derive(Debug, Clone)]
pub struct CoreConfig {
    /// Lanes that new owners are spread over, 1 to 64.
    pub lanes: u8,
    pub form: Form,
    /// Commands that may wait in one lane.
    pub queue: usize,
    /// Connections for reads; appends have their own.
    pub read_connections: u32,
}

impl Default for CoreConfig {
    fn default() -> Self {
        Self {
            lanes: DEFAULT_LANES,
            form: Form::Fast,
            queue: 4_096,
            read_connections: 16,
        }
    }
}

/// Everything the store needs at run time. One a process.
#[derive(Debug)]
pub struct Core {
    pub pool: PgPool,
    /// For reads that need no transaction.
    pub reads: Arc<ReadPool>,
    /// For finding out who asks: these few connections wait for nothing else (`access` 12).
    pub admissions: Arc<ReadPool>,
    /// For taking things back, which must work while every other connection is busy.
    pub withdrawals: Arc<ReadPool>,
    pub keyring: Keyring,
    pub clock: DbClock,
    pub hub: Hub,
    pub ids: Ids,
    pub metrics: Metrics,
    writable: Writable,
    lanes: u8,
    /// Emptied when the store closes: their tasks then end after their last flush.
    appenders: RwLock<Vec<Appender>>,
    lane_tasks: Mutex<JoinSet<()>>,
    owners: Cache<OwnerKey, Lane>,
    /// The other pools, to be closed with the first.
    pools: [PgPool; 2],
    /// Ended when the store is dropped.
    _tasks: JoinSet<()>,
    runtime: Handle,
}

impl Core {
    /// Where callers of `line` are looked up.
    pub fn line(&self, line: Line) -> &ReadPool {
        match line {
            Line::Ordinary => &self.admissions,
            Line::Withdrawal => &self.withdrawals,
        }
    }

    /// Notes that a credential was used. The line of withdrawals, short as it is, is left to them.
    pub async fn note_use(&self, used: Used, row_id: Uuid, line: Line) -> Result<(), StoreError> {
        match line {
            Line::Ordinary => uses::note(&self.admissions, used, row_id).await,
            Line::Withdrawal => Ok(()),
        }
    }

    /// Opens a migrated database. Background tasks end with the value.
    pub async fn open(
        options: &PgConnectOptions,
        key_file: &Path,
        config: CoreConfig,
        metrics: Metrics,
    ) -> Result<Arc<Self>, KeyringError> {
        let ids = Ids;
        let pool = database::connect(options.clone(), config.read_connections).await?;
        let append_pool = database::connect(
            options
                .clone()
                .options([("plan_cache_mode", "force_generic_plan")]),
            4,
        )
        .await?;
        let side_pool =
            database::connect(options.clone().options([("synchronous_commit", "off")]), 3).await?;
        let keyring = Keyring::open(key_file, &pool, ids.uuid()).await?;
        let clock = DbClock::start(&pool).await?;
        let hub = Hub::default();
        let writable = Writable::default();
        let lanes = Lanes {
            pool: append_pool.clone(),
            form: config.form,
            queue: config.queue,
            hub: hub.clone(),
            metrics: metrics.clone(),
            writable: writable.clone(),
        };
        let mut lane_tasks = JoinSet::new();
        // Owners may live in any lane that was ever in use, so every lane has its way in.
        let appenders = (0..MAX_LANES)
            .filter_map(Lane::new)
            .map(|lane| Appender::start(lane, lanes.clone(), &mut lane_tasks))
            .collect();
        let reads = Arc::new(ReadPool::sharing(pool.clone()));
        let admissions = apart(options, ADMISSION_CONNECTIONS).await?;
        let withdrawals = apart(options, WITHDRAWAL_CONNECTIONS).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(clock.clone().keep(side_pool.clone()));
        tasks.spawn(hub.clone().tell_others(side_pool.clone()));
        tasks.spawn(hub.clone().hear_others(side_pool.clone()));
        tasks.spawn(count_connections(
            pool.clone(),
            Arc::clone(&reads),
            metrics.clone(),
        ));
        Ok(Arc::new(Self {
            pool,
            reads,
            admissions: Arc::new(admissions),
            withdrawals: Arc::new(withdrawals),
            keyring,
            clock,
            hub,
            ids,
            metrics,
            writable,
            lanes: config.lanes.clamp(1, MAX_LANES),
            appenders: RwLock::new(appenders),
            lane_tasks: Mutex::new(lane_tasks),
            owners: Cache::new(10_000),
            pools: [append_pool, side_pool],
            _tasks: tasks,
            runtime: Handle::current(),
        }))
    }

    /// The lane of an owner, fixed at its first use.
    pub async fn lane(&self, owner: &OwnerKey) -> Result<Lane, StoreError> {
        if let Some(lane) = self.owners.get(owner) {
            return Ok(lane);
        }
        let lane = owner::lane_of(&self.pool, owner, self.lanes).await?;
        self.owners.insert(*owner, lane);
        Ok(lane)
    }

    /// Commits `append`, or says why not. Answered only after the commit. After
    /// [`StoreError::TimedOut`] the append may have been made or may still be.
    pub async fn append(&self, append: Append) -> Result<(), StoreError> {
        let appender = {
            let appenders = self
                .appenders
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            appenders.get(append.lane.index()).cloned()
        };
        appender.ok_or(StoreError::Overloaded)?.append(append).await
    }

    /// As [`Self::append`], but tried again while the database is away, until it is known what
    /// became of it or `patience` has passed. For work that nobody could repeat.
    pub async fn append_surely(
        &self,
        append: Append,
        patience: Duration,
    ) -> Result<(), StoreError> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(100);
        let mut unheard = false;
        loop {
            let error = match self.append(append.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let away = match error {
                StoreError::TimedOut | StoreError::Unavailable(_) => {
                    unheard = true;
                    true
                }
                StoreError::Overloaded => true,
                StoreError::HeadMoved | StoreError::ReceiptTaken if unheard => {
                    match self.stands(&append).await {
                        Ok(true) => return Ok(()),
                        Ok(false) => return Err(error),
                        // Not to be told now.
                        Err(_) => true,
                    }
                }
                StoreError::HeadMoved
                | StoreError::ReceiptTaken
                | StoreError::Revoked
                | StoreError::Spent
                | StoreError::PassphraseChanged
                | StoreError::Full
                | StoreError::Duplicate(_)
                | StoreError::KeyRetired
                | StoreError::Damaged(_)
                | StoreError::KeyMissing(_) => false,
            };
            if !away || started.elapsed() > patience {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Whether exactly this append is in the log.
    async fn stands(&self, append: &Append) -> Result<bool, StoreError> {
        let Some(stream) = append.streams.first() else {
            return Ok(false);
        };
        read::holds(
            &self.pool,
            append.lane,
            stream.stream,
            stream.version(),
            &stream.head(),
        )
        .await
    }

    /// The key with this id, or `None` when its texts are erased.
    pub async fn key(&self, key_id: Option<Uuid>) -> Result<Option<Arc<DataKey>>, StoreError> {
        match key_id {
            Some(id) => self.keyring.key(&self.pool, id).await,
            None => Ok(None),
        }
    }

    /// Runs work that outlives the request, and the worker thread, that began it.
    pub fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.runtime.spawn(work)
    }

    /// Whether the database answers now.
    pub async fn answers(&self) -> bool {
        in_time(sqlx::query("select 1").execute(&self.pool))
            .await
            .is_ok()
    }

    /// Whether it takes writes now.
    pub async fn takes_writes(&self) -> bool {
        self.writable.now(&self.pool).await
    }

    /// Closes every connection, after the last flush of what was queued.
    pub async fn close(&self) {
        self.appenders
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        let flushed = async {
            let mut tasks = self.lane_tasks.lock().await;
            while tasks.join_next().await.is_some() {}
        };
        if tokio::time::timeout(CLOSE, flushed).await.is_err() {
            tracing::warn!("queued appends were left unwritten: the database does not answer");
        }
        let [append_pool, side_pool] = &self.pools;
        let closed = async {
            tokio::join!(
                append_pool.close(),
                side_pool.close(),
                self.reads.close(),
                self.admissions.close(),
                self.withdrawals.close()
            )
        };
        // A database that has stopped answering does not hold up the end of the process.
        if tokio::time::timeout(CLOSE, closed).await.is_err() {
            tracing::warn!("connections were left open: the database does not answer");
        }
    }
}

/// So many connections for one kind of read.
async fn apart(options: &PgConnectOptions, connections: usize) -> Result<ReadPool, StoreError> {
    let size = u32::try_from(connections).unwrap_or(1);
    database::connect(options.clone(), size)
        .await
        .map(ReadPool::alone)
}

async fn count_connections(pool: PgPool, reads: Arc<ReadPool>, metrics: Metrics) {
    loop {
        let idle = i64::try_from(pool.num_idle() + reads.waiting()).unwrap_or(0);
        metrics
            .pool_connections
            .with_label_values(&["idle"])
            .set(idle);
        metrics
            .pool_connections
            .with_label_values(&["used"])
            .set(i64::from(pool.size()) - idle);
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}
