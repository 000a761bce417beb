//! When a credential was last used, for the lists that its owner reads (`access` 2).
//!
//! What must stay true: a use is noted over the connections that recognised the credential, so nobody
//! who is being recognised waits for those that work (ADR 0013), and at most once a minute. Deliberately
//! absent: any decision; a use that is not noted changes nothing.

use uuid::Uuid;

use super::StoreError;
use super::read_pool::ReadPool;

/// Use is noted at most so often.
pub const NOTE_EVERY_MS: i64 = 60_000;

/// What was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    Session,
    Grant,
    NamedToken,
    WorkerToken,
}

impl Used {
    fn table(self) -> &'static str {
        match self {
            Self::Session => "access.session",
            Self::Grant => "access.oauth_grant",
            Self::NamedToken => "access.named_token",
            Self::WorkerToken => "access.worker_token",
        }
    }
}

/// Notes that the credential behind a ledger row was used.
pub async fn note(reads: &ReadPool, used: Used, row_id: Uuid) -> Result<(), StoreError> {
    let sql = format!(
        "update {} set last_used_at_ms = es.now_ms()
          where row_id = $1 and (last_used_at_ms is null or last_used_at_ms < es.now_ms() - $2)",
        used.table()
    );
    let query = || sqlx::query(&sql).bind(row_id).bind(NOTE_EVERY_MS);
    reads.all(query).await.map(drop)
}
