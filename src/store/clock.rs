//! The database's clock, readable without asking the database each time.
//!
//! All processes of one database share its clock, so a host whose own clock is wrong, or jumps,
//! neither frees nor holds anything. Between samples time is carried by the monotonic clock.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use helix_aggregates::time::{Stamp, Timestamp};
use sqlx::{PgPool, Row};

use super::StoreError;
use super::patience::in_time;

const SAMPLE_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct DbClock {
    started: Instant,
    sample: Arc<RwLock<Sample>>,
}

/// What the database's clock showed, and when that was by the monotonic clock.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    at_ms: i64,
    /// Since `started`; `None` while the clock stands still, as a test's may.
    taken: Option<Duration>,
}

impl DbClock {
    /// Asks the database for the time once.
    pub async fn start(pool: &PgPool) -> Result<Self, StoreError> {
        let clock = Self {
            started: Instant::now(),
            sample: Arc::default(),
        };
        clock.sample(pool).await?;
        Ok(clock)
    }

    /// Takes a fresh sample; half the round trip is taken as the age of the answer.
    pub async fn sample(&self, pool: &PgPool) -> Result<(), StoreError> {
        let asked = Instant::now();
        let row = in_time(
            sqlx::query(
                "select es.now_ms() as now_ms, frozen_at_ms is not null as frozen from es.clock",
            )
            .fetch_one(pool),
        )
        .await?;
        let taken = self.started.elapsed().saturating_sub(asked.elapsed() / 2);
        let frozen: bool = row.try_get("frozen")?;
        let fresh = Sample {
            at_ms: row.try_get("now_ms")?,
            taken: (!frozen).then_some(taken),
        };
        *self.sample.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Samples every second. Runs until cancelled.
    pub async fn keep(self, pool: PgPool) {
        loop {
            tokio::time::sleep(SAMPLE_EVERY).await;
            if let Err(error) = self.sample(&pool).await {
                tracing::debug!(%error, "the database clock could not be read; the last sample stands");
            }
        }
    }

    pub fn now(&self) -> Timestamp {
        let sample = *self.sample.read().unwrap_or_else(PoisonError::into_inner);
        let since = sample.taken.map_or(Duration::ZERO, |taken| {
            self.started.elapsed().saturating_sub(taken)
        });
        Timestamp::from_millis(sample.at_ms).plus(since)
    }

    pub fn stamp(&self) -> Stamp {
        Stamp { at: self.now() }
    }
}
