//! Ends what nobody continued and frees what nobody finished: runs (`agent-api` 2.9, settled questions
//! 13, 14 and 85), and the leases and lives of reviews (`access` 6.1). Judged by the database clock; one
//! process at a time, by lease.

use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::access::review::Review;
use helix_aggregates::access::review::command::ReviewCommand;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::command::RunCommand;
use helix_aggregates::decider::Decider;
use helix_aggregates::time::{Stamp, Timestamp};
use helix_projections::agent::run::fold::EARLIEST_RECOVERY;
use helix_projections::inline::Inline;
use uuid::Uuid;

use crate::app::agent::runs::Runs;
use crate::store::log::{ExecuteError, Log, Meta, Stream};
use crate::store::read::DueStream;
use crate::store::{Core, StoreError, lease, offers, read, receipt};

/// How long after a take-over became possible the sweeper acts by itself.
const AFTER_TAKE_OVER: Duration = Duration::from_secs(30);
const EVERY: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(10);
/// Runs read at once, and pages of them looked at in one sweep.
const PAGE: i64 = 200;
const PAGES: usize = 50;

#[derive(Debug, Clone)]
pub struct Sweeper {
    runs: Runs,
    reviews: Arc<Log<Review>>,
    holder: Uuid,
}

impl Sweeper {
    pub fn new(runs: Runs) -> Self {
        let holder = runs.core().ids.uuid();
        let reviews = Arc::new(Log::new(Arc::clone(runs.core())));
        Self {
            runs,
            reviews,
            holder,
        }
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
            offers::sweep(&self.core().pool).await?;
        }
        Ok(())
    }

    /// One look at everything that is due. Returns how many streams changed. One that cannot be
    /// judged is reported and passed by: it must not keep the others from their recovery.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        Ok(self.sweep_kind(Run::KIND).await? + self.sweep_kind(Review::KIND).await?)
    }

    async fn sweep_kind(&self, kind: &'static str) -> Result<usize, StoreError> {
        let mut changed = 0;
        let mut after = (0, Uuid::nil());
        for _ in 0..PAGES {
            let page = read::due(&self.core().pool, kind, after, PAGE).await?;
            for due in &page {
                after = (due.due_ms, due.id);
                let swept = if kind == Run::KIND {
                    self.sweep_run(due).await
                } else {
                    self.sweep_review(due).await
                };
                match swept {
                    Ok(done) => changed += usize::from(done),
                    Err(error) => {
                        tracing::error!(stream.id = %due.id, stream.kind = kind, %error, "a due stream could not be swept");
                    }
                }
            }
            if page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                break;
            }
        }
        Ok(changed)
    }

    async fn sweep_run(&self, due: &DueStream) -> Result<bool, StoreError> {
        let now = Timestamp::from_millis(due.now_ms);
        let limit = self.runs.settings().abandon_after() + AFTER_TAKE_OVER;
        let (command, transition) = match due.status.as_str() {
            "running" => {
                let earliest = Timestamp::from_millis(due.due_ms)
                    .plus(limit.saturating_sub(EARLIEST_RECOVERY));
                if now <= earliest {
                    return Ok(false);
                }
                (
                    RunCommand::Recover {
                        abandon_after_sweep: limit,
                    },
                    "recovered",
                )
            }
            _ => (RunCommand::Lapse, "lapsed"),
        };
        self.act(due, self.runs.log(), &command, transition).await
    }

    async fn sweep_review(&self, due: &DueStream) -> Result<bool, StoreError> {
        let command = ReviewCommand::Settle { dead_claim: None };
        self.act(due, &self.reviews, &command, "settled").await
    }

    /// `false`: nothing was to be done after all.
    async fn act<D: Inline>(
        &self,
        due: &DueStream,
        log: &Log<D>,
        command: &D::Command,
        transition: &str,
    ) -> Result<bool, StoreError> {
        // Without its key a stream is erased; nobody can continue it either.
        let Some(key) = self.core().key(due.key_id).await? else {
            return Ok(false);
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
        match log.execute(&stream, command, stamp, &by_sweeper()).await {
            Ok(prepared) if prepared.events.is_empty() => Ok(false),
            Ok(_) => {
                self.core()
                    .metrics
                    .recovered
                    .with_label_values(&[transition])
                    .inc();
                tracing::info!(stream.id = %stream.id, stream.kind = D::KIND, transition, "a due stream was swept");
                Ok(true)
            }
            // Not yet, or somebody else was faster: both are fine.
            Err(ExecuteError::Refused(_) | ExecuteError::Store(StoreError::HeadMoved)) => Ok(false),
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
