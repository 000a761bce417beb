//! The store, for commands that work beside a server and not through one.

use std::sync::Arc;

use super::failure::{Exit, Failure};
use super::serve::{database_failure, not_started};
use crate::config::Config;
use crate::server;
use crate::store::{Core, StoreError};

/// Opens the store that the configuration names, starting the embedded cluster if nobody runs it,
/// and closes both behind the work.
pub async fn with_store<T>(
    config: &Config,
    work: impl AsyncFnOnce(Arc<Core>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (core, database) = server::open_store(config).await.map_err(not_started)?;
    let ended = work(Arc::clone(&core)).await;
    core.close().await;
    database
        .close()
        .await
        .map_err(|error| database_failure(&error))?;
    ended
}

/// What a store error means to somebody at a terminal.
pub fn store_failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Damaged(_) => Failure::new(Exit::No, "damaged", error.to_string())
            .fix("restore the newest backup that verifies"),
        StoreError::KeyMissing(_) => Failure::unavailable("key_missing", error.to_string())
            .fix("import the key file of this database: `helix key --help`"),
        StoreError::HeadMoved
        | StoreError::ReceiptTaken
        | StoreError::Revoked
        | StoreError::Duplicate(_)
        | StoreError::KeyRetired
        | StoreError::Overloaded
        | StoreError::Unavailable(_)
        | StoreError::TimedOut => Failure::unavailable("database", error.to_string())
            .fix("see `helix doctor`, then try again"),
    }
}
