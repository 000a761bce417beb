//! Tells webhook endpoints of runs (ADR 0012).
//!
//! Two halves. The feeder makes messages from the log; one process does it, by lease. The senders
//! of every process deliver them: an endpoint is one sender's at a time, by a lease of its row, so
//! its messages keep their order while they are accepted, and an endpoint that is slow or away
//! costs the others nothing. What must stay true: an attempt is on record before it is sent, and
//! a message has one id however often it is sent. Whatever dies between sending and recording is
//! sent again: at least once, never quietly none. No address, secret or answer is logged.

mod schedule;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use helix_projections::access::webhook_outbox::table;
use helix_projections::feed::FeedError;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::app::access::webhooks::Webhooks;
use crate::outbound::Reach;
use crate::store::upcast::present_shape;
use crate::store::webhooks::{self as rows, Waiting};
use crate::store::{Core, StoreError, lease};

use sender::Sender;

/// The safety net under the wake-ups.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Commits this close together are looked at together.
const GATHER: Duration = Duration::from_millis(50);
const FEED_LEASE: Duration = Duration::from_secs(10);
const FEED_TASK: &str = "webhooks/feed";
/// How often what waits is counted, and what is old is forgotten.
const TIDY_EVERY: Duration = Duration::from_secs(10);
const TIDY_LEASE: Duration = Duration::from_secs(30);
const TIDY_TASK: &str = "webhooks/tidy";
/// How long the delivery log remembers what has ended.
const KEEP: Duration = Duration::from_secs(30 * 24 * 3_600);

/// How a process delivers.
#[derive(Debug, Clone, Copy)]
pub struct OutboxSettings {
    pub reach: Reach,
    /// Longest attempt, from the resolution of the name to the status.
    pub attempt: Duration,
    /// Endpoints sent to at a time.
    pub senders: usize,
}

impl OutboxSettings {
    pub fn new(reach: Reach) -> Self {
        Self {
            reach,
            attempt: Duration::from_secs(15),
            senders: 16,
        }
    }
}

/// The outbox of one process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Outbox {
    core: Arc<Core>,
    sender: Arc<Sender>,
    senders: usize,
    holder: Uuid,
    made: Arc<Notify>,
}

#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    #[error(transparent)]
    Feed(#[from] FeedError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for OutboxError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Outbox {
    pub fn new(core: Arc<Core>, settings: OutboxSettings) -> Self {
        let webhooks = Webhooks::new(Arc::clone(&core), settings.reach);
        Self {
            sender: Arc::new(Sender::new(Arc::clone(&core), webhooks, settings)),
            senders: settings.senders,
            holder: core.ids.uuid(),
            made: Arc::default(),
            core,
        }
    }

    /// Makes and delivers messages. Runs until cancelled.
    pub async fn run(self) {
        tokio::join!(self.keep_feeding(), self.keep_sending(), self.keep_tidy());
    }

    async fn keep_feeding(&self) {
        let mut commits = self.core.hub.commits();
        loop {
            if let Err(error) = self.feed_if_leader().await {
                tracing::warn!(%error, "webhook messages could not be made; it is tried again");
            }
            tokio::time::sleep(GATHER).await;
            // Nothing heard for a second: look anyway. The hub outlives this task.
            let _quiet = tokio::time::timeout(LOOK_EVERY, commits.changed()).await;
        }
    }

    async fn feed_if_leader(&self) -> Result<(), OutboxError> {
        let lags = self.lag().await?;
        if lags.is_empty() {
            return Ok(());
        }
        for lane in lags {
            loop {
                let pool = &self.core.pool;
                if !lease::hold(pool, FEED_TASK, self.holder, FEED_LEASE).await? {
                    return Ok(());
                }
                if self.feed(lane).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The lanes that hold something nobody has looked at.
    async fn lag(&self) -> Result<Vec<i16>, OutboxError> {
        let mut conn = self.core.pool.acquire().await?;
        let lags = table::lag(&mut conn).await?;
        let behind: u64 = lags.iter().map(|lag| lag.events).sum();
        let behind = i64::try_from(behind).unwrap_or(i64::MAX);
        self.core.metrics.webhook_lag.set(behind);
        Ok(lags.into_iter().map(|lag| lag.lane).collect())
    }

    /// Makes the messages of the next page of a lane; `true` when it held nothing more.
    async fn feed(&self, lane: i16) -> Result<bool, OutboxError> {
        let told = table::advance(&self.core.pool, present_shape, lane).await?;
        for parked in &told.parked {
            tracing::error!(
                stream.id = %parked.stream,
                seq = parked.seq,
                reason = parked.reason,
                "an event could not be read; webhooks are not told of this run"
            );
        }
        if told.messages > 0 {
            self.count("made", told.messages);
            self.made.notify_one();
        }
        Ok(told.caught_up)
    }

    async fn keep_sending(&self) {
        // The tasks end with this one.
        let mut tasks = JoinSet::new();
        loop {
            match self.claim(self.senders - tasks.len()).await {
                Ok(claimed) => {
                    for sending in claimed {
                        tasks.spawn(Arc::clone(&self.sender).serve(sending));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "webhook messages could not be claimed; it is tried again");
                }
            }
            tokio::select! {
                Some(_served) = tasks.join_next() => {}
                () = self.made.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn claim(&self, free: usize) -> Result<Vec<rows::Sending>, StoreError> {
        let free = i64::try_from(free).unwrap_or(i64::MAX);
        if free == 0 {
            return Ok(Vec::new());
        }
        // A holder for each claim: a lease that ran out in this very process is lost as any other.
        let holder = self.core.ids.uuid();
        rows::claim(&self.core.pool, holder, self.sender.lease(), free).await
    }

    async fn keep_tidy(&self) {
        loop {
            if let Err(error) = self.tidy().await {
                tracing::warn!(%error, "the webhook outbox could not be tidied; it is tried again");
            }
            tokio::time::sleep(TIDY_EVERY).await;
        }
    }

    /// Counts what waits, and forgets what is old if no other process does.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        let Waiting {
            messages,
            oldest_ms,
            disabled,
            ..
        } = rows::waiting(&self.core.pool).await?;
        let metrics = &self.core.metrics;
        metrics.webhook_waiting.set(messages);
        metrics.webhook_oldest.set(oldest_ms / 1_000);
        metrics.webhook_disabled.set(disabled);
        if lease::hold(&self.core.pool, TIDY_TASK, self.holder, TIDY_LEASE).await? {
            let keep_ms = i64::try_from(KEEP.as_millis()).unwrap_or(i64::MAX);
            rows::prune(&self.core.pool, keep_ms).await?;
        }
        Ok(())
    }

    /// Makes and delivers everything that is due by now, whoever holds the leases, and waits for
    /// what other senders have begun.
    pub async fn settle(&self) -> Result<(), OutboxError> {
        for lane in self.lag().await? {
            while !self.feed(lane).await? {}
        }
        let mut tick = tokio::time::interval(GATHER);
        loop {
            let claimed = self.claim(self.senders).await?;
            let served = claimed
                .into_iter()
                .map(|sending| Arc::clone(&self.sender).serve(sending));
            futures_util::future::join_all(served).await;
            if !rows::waiting(&self.core.pool).await?.busy {
                return Ok(());
            }
            tick.tick().await;
        }
    }

    fn count(&self, result: &str, messages: u64) {
        self.core
            .metrics
            .webhook_messages
            .with_label_values(&[result])
            .inc_by(messages);
    }
}
