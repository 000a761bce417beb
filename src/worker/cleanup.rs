//! Forgets what is over for good: handles, codes, tokens, registrations; and ends grants that nobody
//! used (`access` 3.5). One process at a time, by lease; nothing here is urgent.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::store::{Core, StoreError, handles, lease, oauth_clients, oauth_tokens};

const EVERY: Duration = Duration::from_secs(3_600);
/// Longer than a round takes.
const LEASE: Duration = Duration::from_secs(60);
/// Rows forgotten in one statement, and statements of one kind in one round.
const BATCH: i64 = 1_000;
const BATCHES: usize = 50;

#[derive(Debug, Clone)]
pub struct Cleanup {
    core: Arc<Core>,
    holder: Uuid,
}

impl Cleanup {
    pub fn new(core: Arc<Core>) -> Self {
        let holder = core.ids.uuid();
        Self { core, holder }
    }

    /// Cleans up every hour while this process holds the lease. Runs until cancelled.
    pub async fn run(self) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            if let Err(error) = self.clean_if_leader().await {
                tracing::warn!(%error, "a clean-up failed; the next one tries again");
            }
        }
    }

    async fn clean_if_leader(&self) -> Result<(), StoreError> {
        if lease::hold(&self.core.pool, "cleanup", self.holder, LEASE).await? {
            self.clean().await?;
        }
        Ok(())
    }

    /// One round. How many rows were forgotten.
    pub async fn clean(&self) -> Result<u64, StoreError> {
        let pool = &self.core.pool;
        let mut forgotten = 0;
        for _ in 0..BATCHES {
            let round = handles::sweep(pool, BATCH).await?
                + oauth_tokens::sweep(pool, BATCH).await?
                + oauth_clients::sweep(pool, BATCH).await?;
            forgotten += round;
            if round == 0 {
                break;
            }
        }
        Ok(forgotten)
    }
}
