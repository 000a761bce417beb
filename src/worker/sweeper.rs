//! Ends what nobody continued and frees what nobody finished (`agent-api` 2.9, settled questions
//! 13, 14 and 85). Judged by the database clock; one process at a time, by lease.

use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::command::RunCommand;
use helix_aggregates::agent::run::error::RunError;
use helix_aggregates::decider::Decider;
use helix_aggregates::time::{Stamp, Timestamp};
use uuid::Uuid;

use crate::app::agent::runs::Runs;
use crate::store::log::{ExecuteError, Meta, Stream};
use crate::store::{Core, StoreError, lease, read, receipt};

/// How long after a take-over became possible the sweeper acts by itself.
const AFTER_TAKE_OVER: Duration = Duration::from_secs(30);
const EVERY: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(10);
/// Runs looked at in one sweep.
const BATCH: i64 = 200;

#[derive(Debug, Clone)]
pub struct Sweeper {
    runs: Runs,
    holder: Uuid,
}

impl Sweeper {
    pub fn new(runs: Runs) -> Self {
        let holder = runs.core().ids.uuid();
        Self { runs, holder }
    }

    /// Sweeps every second while this process holds the lease. Runs until cancelled.
    pub async fn run(self) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            if let Err(error) = self.sweep_if_leader().await {
                tracing::warn!(%error, "a sweep failed; the next one tries again");
            }
        }
    }

    async fn sweep_if_leader(&self) -> Result<(), StoreError> {
        if lease::hold(&self.core().pool, "sweeper", self.holder, LEASE).await? {
            self.sweep().await?;
            receipt::sweep(&self.core().pool).await?;
        }
        Ok(())
    }

    /// One look at everything that is due. Returns how many runs changed.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        let mut changed = 0;
        for due in read::due(&self.core().pool, Run::KIND, BATCH).await? {
            // Without its key a run is erased; nobody can continue it either.
            let Some(key) = self.core().key(due.key_id).await? else {
                continue;
            };
            let stream = Stream {
                id: due.id,
                lane: due.lane,
                owner: due.owner,
                key,
            };
            let stamp = Stamp {
                at: Timestamp::from_millis(due.now_ms),
            };
            changed += usize::from(self.sweep_run(&stream, stamp).await?);
        }
        Ok(changed)
    }

    async fn sweep_run(&self, stream: &Stream, stamp: Stamp) -> Result<bool, StoreError> {
        let loaded = self.runs.log().load(stream).await?;
        let (command, transition) = match loaded.state {
            Run::Running { .. } => {
                let limit = self.runs.settings().abandon_after() + AFTER_TAKE_OVER;
                (
                    RunCommand::Recover {
                        abandon_after_sweep: limit,
                    },
                    "recovered",
                )
            }
            Run::Waiting { .. } => (RunCommand::Lapse, "lapsed"),
            Run::Absent | Run::Ended { .. } => return Ok(false),
        };
        match self
            .runs
            .log()
            .execute(stream, &command, stamp, &by_sweeper())
            .await
        {
            Ok(prepared) if prepared.events.is_empty() => Ok(false),
            Ok(_) => {
                self.core()
                    .metrics
                    .recovered
                    .with_label_values(&[transition])
                    .inc();
                tracing::info!(stream.id = %stream.id, transition, "a run was swept");
                Ok(true)
            }
            // Not yet, or somebody else was faster: both are fine.
            Err(ExecuteError::Refused(RunError::NothingToRecover | RunError::NotResumable))
            | Err(ExecuteError::Store(StoreError::HeadMoved)) => Ok(false),
            Err(ExecuteError::Refused(refusal)) => Err(StoreError::Damaged(refusal.to_string())),
            Err(ExecuteError::Store(error)) => Err(error),
        }
    }

    fn core(&self) -> &Arc<Core> {
        self.runs.core()
    }
}

fn by_sweeper() -> Meta {
    std::iter::once(("by".to_owned(), "sweeper".to_owned())).collect()
}
