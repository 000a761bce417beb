//! How long anybody waits for the database to answer a read.
//!
//! Exists because a server that is stopped, or behind a dead network, neither answers nor fails:
//! a caller must still hear, in bounded time, that it can try again. Appends have bounds of their
//! own in the appender.

use std::future::Future;
use std::time::Duration;

use super::StoreError;

/// The wait for a connection included.
const PATIENCE: Duration = Duration::from_secs(8);

/// The answer of a query, or [`StoreError::TimedOut`]. A connection whose query was given up goes
/// back to its pool only when the database has answered it.
pub async fn in_time<T>(
    query: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(PATIENCE, query).await {
        Ok(answer) => answer.map_err(StoreError::from),
        Err(_) => Err(StoreError::TimedOut),
    }
}
