//! A look into the database of a configuration: the running cluster, or one that is started for
//! the look. Never makes a cluster, never downloads one, never waits long.

use std::time::Duration;

use helix_postgres::{Cluster, Search, existing_major};
use sqlx::{ConnectOptions, PgConnection};

use crate::cli::failure::Failure;
use crate::cli::serve::database_failure;
use crate::config::Config;
use crate::server::database::Database;

/// A cluster that takes longer to start is recovering; that is a server's business.
const START: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(10);

/// Who answers for the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// `--database-url`.
    External,
    /// Another process of this data directory.
    Running,
    /// Started for the look.
    Started,
}

#[derive(Debug)]
pub struct Look {
    pub conn: PgConnection,
    pub keeper: Keeper,
    database: Database,
}

/// `None`: there is no database yet.
pub async fn look(config: &Config) -> Result<Option<Look>, Failure> {
    let told = |error| database_failure(&error);
    let keeper = match config.database.url {
        Some(_) => Keeper::External,
        None if Cluster::attach(&config.data.dir)
            .map_err(|error| told(error.into()))?
            .is_some() =>
        {
            Keeper::Running
        }
        None if existing_major(&config.data.dir)
            .map_err(|error| told(error.into()))?
            .is_none() =>
        {
            return Ok(None);
        }
        None => {
            search(config)?.find().map_err(|error| told(error.into()))?;
            Keeper::Started
        }
    };
    let opened = tokio::time::timeout(START, Database::open(config)).await;
    let database = opened.map_err(|_| slow("did not start"))?.map_err(told)?;
    match tokio::time::timeout(CONNECT, database.options.connect()).await {
        Ok(Ok(conn)) => Ok(Some(Look {
            conn,
            keeper,
            database,
        })),
        Ok(Err(error)) => {
            drop(database.close().await);
            let message = format!("the database cannot be reached: {error}");
            Err(Failure::unavailable("database", message)
                .fix("see that the database is up, then try again"))
        }
        Err(_) => {
            drop(database.close().await);
            Err(slow("does not answer"))
        }
    }
}

/// Where the programs are looked for, without the download.
pub fn search(config: &Config) -> Result<Search, Failure> {
    Ok(Search {
        pg_bin: config.database.pg_bin.clone(),
        offline: true,
        major: existing_major(&config.data.dir).map_err(|error| database_failure(&error.into()))?,
        ..Search::new(config.data.dir.join("cache"))
    })
}

impl Look {
    /// Stops a cluster that was started for the look.
    pub async fn close(self) -> Result<(), Failure> {
        drop(self.conn);
        self.database
            .close()
            .await
            .map_err(|error| database_failure(&error))
    }
}

fn slow(what: &str) -> Failure {
    Failure::unavailable("database", format!("the database {what} in time"))
        .fix("see its log, <data-dir>/postgres.log")
}
