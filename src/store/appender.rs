//! One task a lane turns queued appends into few commits.
//!
//! While a flush is under way, appends queue; the next flush takes them all. What must stay true:
//! each append gets its own verdict, and only after its commit; the queue is bounded; a request
//! that hangs up changes nothing, because the transaction runs here and not in its future.

mod failure;
mod regroups;

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use prometheus::IntGauge;
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::StoreError;
use super::append::{Append, Priority};
use super::flush::{self, Form};
use super::owner::Lane;
use super::patience::in_time;
use super::read;
use super::watch::Hub;
use super::writable::Writable;
use crate::metrics::Metrics;
use failure::{Failure, unique_rule};
use regroups::{Outcome, Regroups};

pub(super) use failure::FailureKind;
pub use failure::Redacted;

/// At most this many commands in one flush.
const MAX_COMMANDS: usize = 512;
/// At most this many bytes of payloads, rows and receipts in one flush.
const MAX_BYTES: usize = 4 << 20;
/// How long a flush waits for the callers it has just answered to come back.
const REGROUP: Duration = Duration::from_micros(400);
/// How long a lane without work keeps its connection. Giving one back costs a round trip, and a
/// lone writer would pay it for every command.
const KEEP: Duration = Duration::from_millis(50);
/// Flushes after which a busy lane gives its connection back, so that lanes outnumbering the
/// connections take turns.
const TURN: u32 = 64;
/// How long one flush is retried while the database is away.
const RETRY_FOR: Duration = Duration::from_secs(10);
/// How long the database may be silent over one attempt, after which the line counts as broken.
const SILENCE: Duration = Duration::from_secs(15);
/// How long a caller waits for its verdict. The append may still be made after that: the caller's
/// key tells.
const VERDICT: Duration = Duration::from_secs(20);

struct Job {
    append: Append,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

/// Jobs that are written together.
struct Part {
    jobs: Vec<Job>,
    /// They were part of a flush that may have been committed unheard: a refusal may only mean
    /// that they stand.
    lost_commit: bool,
}

/// The way into one lane.
#[derive(Debug, Clone)]
pub struct Appender {
    ordinary: mpsc::Sender<Job>,
    withdrawals: mpsc::Sender<Job>,
    /// Commands whose verdict is awaited.
    awaited: IntGauge,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}

/// What a lane task works with.
#[derive(Debug, Clone)]
pub struct Lanes {
    pub pool: PgPool,
    pub form: Form,
    /// Commands that may wait in one lane before callers are told to come back later.
    pub queue: usize,
    pub hub: Hub,
    pub metrics: Metrics,
    pub writable: Writable,
}

impl Appender {
    /// Starts the task of `lane`. It ends when the last handle is dropped, after the last flush.
    pub fn start(lane: Lane, lanes: Lanes, tasks: &mut JoinSet<()>) -> Self {
        let awaited = lanes.metrics.append_queue.clone();
        let (ordinary, from_ordinary) = mpsc::channel(lanes.queue.max(1));
        let (withdrawals, from_withdrawals) = mpsc::channel((lanes.queue / 8).max(64));
        let task = LaneTask {
            lane,
            lanes,
            from_ordinary,
            from_withdrawals,
            waiting: VecDeque::new(),
            answered: 0,
            regroups: Regroups::default(),
            line: None,
            carried: 0,
        };
        tasks.spawn(task.run());
        Self {
            ordinary,
            withdrawals,
            awaited,
        }
    }

    /// Queues `append` and waits for its verdict; `Overloaded` at once when the queue is full.
    pub async fn append(&self, append: Append) -> Result<(), StoreError> {
        let (answer, verdict) = oneshot::channel();
        let queue = match append.priority {
            Priority::Ordinary => &self.ordinary,
            Priority::Withdrawal => &self.withdrawals,
        };
        queue
            .try_send(Job { append, answer })
            .map_err(|_| StoreError::Overloaded)?;
        self.awaited.inc();
        let verdict = tokio::time::timeout(VERDICT, verdict).await;
        verdict
            .map_err(|_| StoreError::TimedOut)?
            .map_err(|_| StoreError::TimedOut)?
    }
}

struct LaneTask {
    lane: Lane,
    lanes: Lanes,
    from_ordinary: mpsc::Receiver<Job>,
    from_withdrawals: mpsc::Receiver<Job>,
    /// Jobs taken from the queues that could not share the last flush.
    waiting: VecDeque<Job>,
    /// Callers answered by the last flush.
    answered: usize,
    regroups: Regroups,
    /// The connection of this lane's turn, and the flushes it has carried.
    line: Option<PoolConnection<Postgres>>,
    carried: u32,
}

impl LaneTask {
    async fn run(mut self) {
        while self.fill().await {
            self.regroup().await;
            let batch = self.take_batch();
            self.lanes
                .metrics
                .flush_commands
                .observe(count(batch.len()));
            self.answered = batch.len();
            self.flush(batch).await;
        }
    }

    /// Waits until at least one job is here; `false` when no more will come.
    async fn fill(&mut self) -> bool {
        if self.waiting.is_empty() && self.line.is_some() {
            match tokio::time::timeout(KEEP, self.next()).await {
                Ok(Some(job)) => self.waiting.push_back(job),
                Ok(None) => return false,
                Err(_) => self.line = None,
            }
        }
        if self.waiting.is_empty() {
            match self.next().await {
                Some(job) => self.waiting.push_back(job),
                None => return false,
            }
        }
        self.drain();
        true
    }

    /// The next job of either queue; `None` when no more will come. Cancel-safe.
    async fn next(&mut self) -> Option<Job> {
        tokio::select! {
            biased;
            Some(job) = self.from_withdrawals.recv() => Some(job),
            job = self.from_ordinary.recv() => job.or_else(|| self.from_withdrawals.try_recv().ok()),
        }
    }

    /// Takes what is queued, withdrawals to the front, and no more than a flush can hold: what
    /// stays in the channels is what makes them full and callers turn away.
    fn drain(&mut self) {
        while self.waiting.len() < 2 * MAX_COMMANDS {
            let Ok(job) = self.from_withdrawals.try_recv() else {
                break;
            };
            self.waiting.push_front(job);
        }
        while self.waiting.len() < MAX_COMMANDS {
            let Ok(job) = self.from_ordinary.try_recv() else {
                break;
            };
            self.waiting.push_back(job);
        }
    }

    /// Gives the callers just answered a moment to return: without it two half-sized groups take
    /// turns and each command waits for two flushes. Never for a lone writer.
    async fn regroup(&mut self) {
        if self.answered < 2 || self.regroups.pass() {
            return;
        }
        let started = Instant::now();
        while self.waiting.len() < self.answered && started.elapsed() < REGROUP {
            tokio::task::yield_now().await;
            self.drain();
        }
        self.regroups.judge(if self.waiting.len() >= self.answered {
            Outcome::AllCame
        } else {
            Outcome::TimedOut
        });
    }

    /// Takes what may share a flush: one command a stream and a receipt, bounded count and bytes.
    /// A command with ledger changes goes alone.
    fn take_batch(&mut self) -> Vec<Job> {
        let mut batch: Vec<Job> = Vec::new();
        let mut held: VecDeque<Job> = VecDeque::new();
        let mut streams: HashSet<Uuid> = HashSet::new();
        let mut receipts: HashSet<[u8; 32]> = HashSet::new();
        let mut bytes = 0;
        while let Some(job) = self.waiting.pop_front() {
            let alone = !job.append.ledger.is_empty();
            let full = batch.len() >= MAX_COMMANDS
                || (bytes > 0 && bytes + job.append.weight() > MAX_BYTES);
            let busy = job
                .append
                .streams
                .iter()
                .any(|stream| streams.contains(&stream.stream))
                || job
                    .append
                    .receipt
                    .as_ref()
                    .is_some_and(|r| receipts.contains(&r.key.key_hash));
            // A held job blocks later jobs of its streams, so order within a stream is kept.
            streams.extend(job.append.streams.iter().map(|stream| stream.stream));
            receipts.extend(job.append.receipt.as_ref().map(|r| r.key.key_hash));
            if full || busy || (alone && !batch.is_empty()) {
                held.push_back(job);
                continue;
            }
            bytes += job.append.weight();
            batch.push(job);
            if alone {
                break;
            }
        }
        held.append(&mut self.waiting);
        self.waiting = held;
        batch
    }

    /// Writes a batch and answers it; a refused batch is halved until the refusal stands alone.
    async fn flush(&mut self, batch: Vec<Job>) {
        let mut parts = vec![Part {
            jobs: batch,
            lost_commit: false,
        }];
        while let Some(Part {
            jobs: mut part,
            lost_commit,
        }) = parts.pop()
        {
            match self.write(&part, lost_commit).await {
                Ok(()) => self.accept(part),
                Err(failure) if part.len() == 1 => {
                    if let Some(job) = part.pop() {
                        let verdict = self.verdict(&job.append, failure).await;
                        self.answer(job, verdict);
                    }
                }
                Err(Failure {
                    kind: kind @ (FailureKind::Away | FailureKind::Full),
                    error,
                    ..
                }) => self.turn_away(part, kind, &error),
                Err(Failure { lost_commit, .. }) => {
                    self.lanes.metrics.flush_splits.inc();
                    let second = part.split_off(part.len() / 2);
                    // The first half is popped, and so written, first.
                    for jobs in [second, part] {
                        parts.push(Part { jobs, lost_commit });
                    }
                }
            }
        }
    }

    /// Tries one flush until the database gives a verdict or stays away for too long.
    async fn write(&mut self, part: &[Job], mut lost_commit: bool) -> Result<(), Failure> {
        let appends: Vec<&Append> = part.iter().map(|job| &job.append).collect();
        let started = Instant::now();
        let mut pause = Duration::from_millis(20);
        loop {
            let timer = self.lanes.metrics.flush_seconds.start_timer();
            let outcome = self.attempt(&appends).await;
            timer.observe_duration();
            let Err(error) = outcome else {
                self.lanes.writable.note_written();
                return Ok(());
            };
            let kind = FailureKind::of(&error);
            if kind == FailureKind::Full {
                self.lanes.writable.note_full();
            }
            let again = match kind {
                FailureKind::Refused | FailureKind::Full => false,
                FailureKind::Contended => true,
                FailureKind::Away => {
                    // The server may have committed before the line broke.
                    lost_commit = true;
                    true
                }
            };
            if !again || started.elapsed() > RETRY_FOR {
                return Err(Failure {
                    kind,
                    lost_commit,
                    error,
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    async fn attempt(&mut self, appends: &[&Append]) -> Result<(), sqlx::Error> {
        let mut line = match self.line.take() {
            Some(line) if self.carried < TURN => line,
            given_back => {
                drop(given_back);
                self.carried = 0;
                self.lanes.pool.acquire().await?
            }
        };
        self.carried += 1;
        let writing = flush::write(&mut line, self.lanes.form, self.lane, appends);
        let Ok(outcome) = tokio::time::timeout(SILENCE, writing).await else {
            // A statement may still be under way on it, so it must never be used again.
            drop(line.detach());
            return Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()));
        };
        // A refusal leaves the line as it was; after anything else the pool finds out if it holds.
        let holds = |error| FailureKind::of(error) == FailureKind::Refused;
        if outcome.as_ref().err().is_none_or(holds) {
            self.line = Some(line);
        }
        outcome
    }

    fn accept(&self, part: Vec<Job>) {
        for job in part {
            self.answer(job, Ok(()));
        }
    }

    fn turn_away(&self, part: Vec<Job>, kind: FailureKind, error: &sqlx::Error) {
        let commands = part.len();
        tracing::error!(commands, error = %Redacted(error), "appends were turned away");
        for job in part {
            self.answer(job, Err(kind.turned_away()));
        }
    }

    fn answer(&self, job: Job, verdict: Result<(), StoreError>) {
        self.lanes.metrics.append_queue.dec();
        if verdict.is_ok() {
            let events: usize = job
                .append
                .streams
                .iter()
                .map(|stream| stream.events.len())
                .sum();
            self.lanes.metrics.appended_events.inc_by(events as u64);
            for stream in &job.append.streams {
                self.lanes.hub.publish(stream.stream, stream.version());
            }
            for change in &job.append.ledger {
                if let Some((row_id, at_ms)) = change.stops() {
                    let moment = u64::try_from(at_ms).unwrap_or(u64::MAX);
                    self.lanes.hub.publish(row_id, moment);
                }
            }
        }
        // A caller that hung up has no one to hear the verdict; the effect stands.
        let _unheard = job.answer.send(verdict);
    }

    /// What a refusal of a single append means for its caller.
    async fn verdict(&self, append: &Append, failure: Failure) -> Result<(), StoreError> {
        if failure.lost_commit && self.stands(append).await? {
            return Ok(());
        }
        match failure.code().as_deref() {
            Some("HX001") => {
                self.lanes.metrics.append_conflicts.inc();
                Err(StoreError::HeadMoved)
            }
            Some("HX002") => Err(StoreError::ReceiptTaken),
            Some("HX003") => Err(StoreError::Revoked),
            Some("HX004") => Err(StoreError::Spent),
            Some("HX006") => Err(StoreError::PassphraseChanged),
            Some("HX005") => Err(StoreError::Full),
            Some("23503") => Err(StoreError::KeyRetired),
            Some("23505") => Err(StoreError::Duplicate(unique_rule(&failure.error))),
            // The plain form cannot say which part was refused.
            Some("22012") => self.which_part(append).await,
            _ => Err(StoreError::Unavailable(failure.error)),
        }
    }

    /// Whether exactly this append is already in the log: its hashes name it.
    async fn stands(&self, append: &Append) -> Result<bool, StoreError> {
        let Some(stream) = append.streams.first() else {
            return Ok(false);
        };
        let (version, head) = (stream.version(), stream.head());
        read::holds(&self.lanes.pool, self.lane, stream.stream, version, &head).await
    }

    async fn which_part(&self, append: &Append) -> Result<(), StoreError> {
        let query = sqlx::query_scalar(
            "select count(*) from access.ledger where row_id = any ($1) and live",
        )
        .bind(&append.guards);
        let live: i64 = in_time(query.fetch_one(&self.lanes.pool)).await?;
        if usize::try_from(live).ok() != Some(append.guards.len()) {
            return Err(StoreError::Revoked);
        }
        if let Some(receipt) = &append.receipt
            && !receipt.is_completion()
            && super::receipt::is_kept(&self.lanes.pool, self.lane, &receipt.key).await?
        {
            return Err(StoreError::ReceiptTaken);
        }
        self.lanes.metrics.append_conflicts.inc();
        Err(StoreError::HeadMoved)
    }
}

/// A small count as an observation.
fn count(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
