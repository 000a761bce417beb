//! Whether the database takes writes now.
//!
//! Exists because a database that only answers looks well: on a full disk, or as a standby after a
//! fail-over, it reads and writes nothing. What must stay true: a look costs one small row at most
//! once a second, however often anybody asks; a flush that found no room counts as well, because a
//! row can still be changed in place where no new one fits.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use super::patience::in_time;

/// How long one look counts.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a flush without room counts, unless a later one was written.
const FULL_FOR: Duration = Duration::from_secs(30);
/// Its row among the leases; nobody holds it.
const TASK: &str = "write_check";

/// Clones share what is known.
#[derive(Debug, Clone, Default)]
pub struct Writable {
    full_since: Arc<std::sync::Mutex<Option<Instant>>>,
    looked: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Writable {
    /// A flush was written.
    pub fn note_written(&self) {
        *self.full() = None;
    }

    /// A flush found no room.
    pub fn note_full(&self) {
        *self.full() = Some(Instant::now());
    }

    fn full(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.full_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks, unless somebody has just done so.
    pub async fn now(&self, pool: &PgPool) -> bool {
        if self.full().is_some_and(|since| since.elapsed() < FULL_FOR) {
            return false;
        }
        let mut looked = self.looked.lock().await;
        if let Some((at, found)) = *looked
            && at.elapsed() < LOOK_EVERY
        {
            return found;
        }
        let query = sqlx::query(
            "insert into es.lease as t (task, holder, epoch, until_ms) values ($1, $2, 1, 0)
             on conflict (task) do update set epoch = t.epoch + 1",
        )
        .bind(TASK)
        .bind(Uuid::nil());
        let written = in_time(query.execute(pool)).await;
        if let Err(error) = &written {
            tracing::warn!(%error, "the database takes no writes");
        }
        *looked = Some((Instant::now(), written.is_ok()));
        written.is_ok()
    }
}
