//! Keeps the asynchronous projections up with the log.
//!
//! One task per projection and lane, under a lease judged by the database clock, woken by every
//! commit this process hears of and by a look once a second. What must stay true: losing the lease
//! or running twice costs time, never a wrong row, because each page holds its cursor's lock; a
//! parked stream is told in the log and counted, and the rest goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use helix_projections::access::account_activity::table::AccountActivity;
use helix_projections::projector::{
    Advance, Lag, ProjectError, Projection, Projector, Target, lag, parked_streams,
};
use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::store::upcast::present_shape;
use crate::store::{Core, StoreError, lease};

#[cfg(test)]
mod tests;

/// The safety net under the wake-ups.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Commits this close together are folded together.
const GATHER: Duration = Duration::from_millis(50);
const LEASE: Duration = Duration::from_secs(10);

/// The projectors of one process.
#[derive(Debug, Clone)]
pub struct Projectors {
    core: Arc<Core>,
    holder: Uuid,
}

/// One projection in this process.
#[derive(Debug, Clone)]
struct Keeper<P> {
    core: Arc<Core>,
    holder: Uuid,
    projector: Projector<P>,
}

/// Why a lane is not followed for now.
#[derive(Debug, thiserror::Error)]
enum Halt {
    #[error(transparent)]
    Projection(#[from] ProjectError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Projectors {
    pub fn new(core: Arc<Core>) -> Self {
        let holder = core.ids.uuid();
        Self { core, holder }
    }

    /// Folds whatever is committed. Runs until cancelled.
    pub async fn run(self) {
        self.keeper::<AccountActivity>().run().await;
    }

    /// Folds all that is committed by now, whoever holds the leases.
    pub async fn settle(&self) -> Result<(), ProjectError> {
        self.keeper::<AccountActivity>().settle().await
    }

    fn keeper<P: Projection>(&self) -> Keeper<P> {
        let projector = Projector::new(self.core.pool.clone(), present_shape);
        Keeper {
            core: Arc::clone(&self.core),
            holder: self.holder,
            projector,
        }
    }
}

impl<P: Projection + Clone> Keeper<P> {
    async fn run(self) {
        let mut commits = self.core.hub.commits();
        let mut lanes: HashMap<i16, watch::Sender<u64>> = HashMap::new();
        // The tasks end with this one.
        let mut tasks = JoinSet::new();
        loop {
            match self.look().await {
                Ok(lags) => {
                    for lag in lags.iter().filter(|lag| lag.events > 0) {
                        let wake = lanes.entry(lag.lane).or_insert_with(|| {
                            let (wake, woken) = watch::channel(0);
                            tasks.spawn(self.clone().keep(lag.lane, woken));
                            wake
                        });
                        wake.send_modify(|times| *times += 1);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, projection = P::NAME, "a look at the lag failed; the next one tries again");
                }
            }
            tokio::time::sleep(GATHER).await;
            // Nothing heard for a second: look anyway. The hub outlives this task.
            let _quiet = tokio::time::timeout(LOOK_EVERY, commits.changed()).await;
        }
    }

    /// Follows one lane. Runs until cancelled.
    async fn keep(self, lane: i16, mut woken: watch::Receiver<u64>) {
        while woken.changed().await.is_ok() {
            match self.follow(lane).await {
                Ok(()) => {}
                Err(Halt::Store(error)) => {
                    tracing::warn!(%error, projection = P::NAME, lane, "a lease could not be asked for; it is tried again");
                }
                Err(Halt::Projection(error)) => {
                    tracing::error!(%error, projection = P::NAME, lane, "a projection stands still; it is tried again");
                }
            }
        }
    }

    /// Folds a lane to its end, if this process holds the lease.
    async fn follow(&self, lane: i16) -> Result<(), Halt> {
        let task = format!("projector/{}/{lane}", P::NAME);
        loop {
            if !lease::hold(&self.core.pool, &task, self.holder, LEASE).await? {
                return Ok(());
            }
            if self.advance(lane).await?.is_caught_up() {
                return Ok(());
            }
        }
    }

    async fn settle(&self) -> Result<(), ProjectError> {
        for lag in self.look().await? {
            while !self.advance(lag.lane).await?.is_caught_up() {}
        }
        self.look().await.map(drop)
    }

    async fn advance(&self, lane: i16) -> Result<Advance, ProjectError> {
        let advance = self.projector.advance(Target::Live, lane).await?;
        for parked in &advance.parked {
            tracing::error!(
                projection = P::NAME,
                stream.id = %parked.stream,
                seq = parked.seq,
                reason = parked.reason,
                "an event could not be folded; its stream is parked until the projection is rebuilt"
            );
        }
        Ok(advance)
    }

    /// How far each lane is behind, for the metrics too.
    async fn look(&self) -> Result<Vec<Lag>, ProjectError> {
        let mut conn = self.core.pool.acquire().await?;
        let lags = lag(&mut conn, P::NAME).await?;
        let parked = parked_streams(&mut conn, P::NAME).await?;
        let behind: u64 = lags.iter().map(|lag| lag.events).sum();
        let metrics = &self.core.metrics;
        for (gauge, value) in [
            (&metrics.projection_lag, behind),
            (&metrics.projection_parked, parked),
        ] {
            gauge
                .with_label_values(&[P::NAME])
                .set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        Ok(lags)
    }
}
