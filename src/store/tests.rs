//! The log against real Postgres; every test runs for both forms of the append.

mod append;
mod faults;
mod read_pool;
mod readers;

use std::sync::Arc;

use helix_aggregates::time::Stamp;
use helix_postgres::testing::{self, TestDatabase};
use tempfile::TempDir;

use crate::bench::tally::{Tally, Tick};
use crate::metrics::Metrics;
use crate::store::flush::Form;
use crate::store::log::{Log, Meta, Stream};
use crate::store::{Core, CoreConfig, database};

/// A database of its own with an open store.
struct World {
    core: Arc<Core>,
    log: Arc<Log<Tally>>,
    form: Form,
    database: TestDatabase,
    keys: TempDir,
}

impl World {
    async fn new(form: Form) -> Self {
        let template = testing::template("store", |options| async move {
            database::migrate(&options, std::time::Duration::from_secs(30))
                .await
                .map(drop)
        })
        .await;
        let database = template.clone_of_template().await;
        let keys = tempfile::tempdir().unwrap();
        let core = open(&database, &keys, config(form)).await;
        Self {
            log: Arc::new(Log::new(Arc::clone(&core))),
            core,
            form,
            database,
            keys,
        }
    }

    /// Another process on the same database, as far as the database can tell.
    async fn second(&self, form: Form) -> Arc<Core> {
        open(&self.database, &self.keys, config(form)).await
    }

    async fn stream(&self) -> Stream {
        self.stream_of("someone").await
    }

    /// A fresh stream of an owner, with a key of its own.
    async fn stream_of(&self, owner: &str) -> Stream {
        let owner = self.core.keyring.owner("test", &[owner.as_bytes()]);
        let lane = self.core.lane(&owner).await.unwrap();
        let (wrapped, key) = self
            .core
            .keyring
            .make(self.core.ids.uuid(), &owner, 0)
            .unwrap();
        let mut conn = self.core.pool.acquire().await.unwrap();
        super::ledger::add_data_key(&mut conn, &wrapped)
            .await
            .unwrap();
        Stream {
            id: self.core.ids.stream(lane),
            lane,
            owner,
            key,
        }
    }

    fn stamp(&self) -> Stamp {
        self.core.clock.stamp()
    }

    async fn tick(&self, stream: &Stream, times: u32) -> u64 {
        let prepared = self
            .log
            .execute(stream, &tick(times), self.stamp(), &Meta::new())
            .await
            .unwrap();
        prepared.next.version
    }
}

fn config(form: Form) -> CoreConfig {
    CoreConfig {
        form,
        read_connections: 4,
        ..CoreConfig::default()
    }
}

/// A process with a store, as far as the database can tell.
pub async fn open(database: &TestDatabase, keys: &TempDir, config: CoreConfig) -> Arc<Core> {
    let (key_file, metrics) = (keys.path().join("kek"), Metrics::new().unwrap());
    let opened = Core::open(&database.options, &key_file, config, metrics).await;
    opened.unwrap()
}

fn tick(times: u32) -> Tick {
    Tick {
        times,
        note: "canary note".to_owned(),
    }
}

/// Runs one test body for each form.
macro_rules! for_each_form {
    ($(async fn $name:ident($world:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn body($world: World) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn fast() {
                body(World::new(Form::Fast).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn plain() {
                body(World::new(Form::Plain).await).await;
            }
        }
    )*};
}
use for_each_form;
