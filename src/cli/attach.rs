//! The store, for commands that work beside a server and not through one.

use std::sync::Arc;

use helix_postgres::existing_major;

use super::failure::{Exit, Failure};
use super::serve::{KEY_IMPORT, database_failure, not_started};
use crate::config::Config;
use crate::server;
use crate::store::{Core, StoreError};

/// Whether a command may begin an installation where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installation {
    MayBegin,
    /// A mistyped data directory must not become a second, empty Helix.
    MustExist,
}

/// Opens the store that the configuration names, starting the embedded cluster if nobody runs it,
/// and closes both behind the work.
pub async fn with_store<T>(
    config: &Config,
    installation: Installation,
    work: impl AsyncFnOnce(Arc<Core>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if installation == Installation::MustExist {
        must_exist(config)?;
    }
    let (core, database) = server::open_store(config).await.map_err(not_started)?;
    let ended = work(Arc::clone(&core)).await;
    core.close().await;
    database
        .close()
        .await
        .map_err(|error| database_failure(&error))?;
    ended
}

/// Refuses a data directory without a cluster, where the cluster is to be the embedded one.
fn must_exist(config: &Config) -> Result<(), Failure> {
    let folder = &config.data.dir;
    if config.database.url.is_some() || !matches!(existing_major(folder), Ok(None)) {
        return Ok(());
    }
    let message = format!("there is no Helix in {}", folder.display());
    Err(Failure::unavailable("not_installed", message)
        .fix("name its folder with --data-dir, or begin one with `helix serve`"))
}

/// What a store error means to somebody at a terminal.
pub fn store_failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Damaged(_) => Failure::new(Exit::No, "damaged", error.to_string())
            .fix("restore the newest backup that verifies"),
        StoreError::KeyMissing(_) => {
            Failure::unavailable("key_missing", error.to_string()).fix(KEY_IMPORT)
        }
        StoreError::HeadMoved
        | StoreError::ReceiptTaken
        | StoreError::Revoked
        | StoreError::Spent
        | StoreError::PassphraseChanged
        | StoreError::Full
        | StoreError::Duplicate(_)
        | StoreError::KeyRetired
        | StoreError::Overloaded
        | StoreError::Unavailable(_)
        | StoreError::TimedOut => Failure::unavailable("database", error.to_string())
            .fix("see `helix doctor`, then try again"),
    }
}
