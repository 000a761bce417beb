//! The database's clock, readable without asking the database each time.
//!
//! All processes of one database share its clock, so a host whose own clock is wrong, or jumps,
//! neither frees nor holds anything. Between samples time is carried by the monotonic clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use helix_aggregates::time::{Stamp, Timestamp};
use sqlx::{PgPool, Row};

use super::StoreError;

const SAMPLE_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct DbClock {
    shared: Arc<Sample>,
}

#[derive(Debug)]
struct Sample {
    started: Instant,
    /// Database milliseconds at the sample.
    at_ms: AtomicI64,
    /// Milliseconds from `started` to the sample; `FROZEN` while the clock stands still.
    elapsed_ms: AtomicU64,
}

/// A test database may stop its clock.
const FROZEN: u64 = u64::MAX;

impl DbClock {
    /// Asks the database for the time once.
    pub async fn start(pool: &PgPool) -> Result<Self, StoreError> {
        let clock = Self {
            shared: Arc::new(Sample {
                started: Instant::now(),
                at_ms: AtomicI64::new(0),
                elapsed_ms: AtomicU64::new(0),
            }),
        };
        clock.sample(pool).await?;
        Ok(clock)
    }

    /// Takes a fresh sample; half the round trip is taken as the age of the answer.
    pub async fn sample(&self, pool: &PgPool) -> Result<(), StoreError> {
        let asked = Instant::now();
        let row = sqlx::query(
            "select es.now_ms() as now_ms, frozen_at_ms is not null as frozen from es.clock",
        )
        .fetch_one(pool)
        .await?;
        let age = asked.elapsed() / 2;
        let elapsed = self.shared.started.elapsed().saturating_sub(age);
        let elapsed = if row.try_get("frozen")? {
            FROZEN
        } else {
            millis(elapsed)
        };
        self.shared
            .at_ms
            .store(row.try_get("now_ms")?, Ordering::Release);
        self.shared.elapsed_ms.store(elapsed, Ordering::Release);
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
        let at_ms = self.shared.at_ms.load(Ordering::Acquire);
        let sampled = self.shared.elapsed_ms.load(Ordering::Acquire);
        let since = millis(self.shared.started.elapsed()).saturating_sub(sampled);
        let since = if sampled == FROZEN { 0 } else { since };
        Timestamp::from_millis(at_ms.saturating_add(i64::try_from(since).unwrap_or(i64::MAX)))
    }

    pub fn stamp(&self) -> Stamp {
        Stamp { at: self.now() }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX - 1)
}
