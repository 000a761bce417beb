//! One task a lane turns queued appends into few commits.
//!
//! While a flush is under way, appends queue; the next flush takes them all. What must stay true:
//! each append gets its own verdict, and only after its commit; the queue is bounded; a request
//! that hangs up changes nothing, because the transaction runs here and not in its future.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::StoreError;
use super::append::{Append, Priority};
use super::flush::{self, Form};
use super::owner::Lane;
use super::watch::Hub;
use crate::metrics::Metrics;

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

struct Job {
    append: Append,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

/// The way into one lane.
#[derive(Debug, Clone)]
pub struct Appender {
    ordinary: mpsc::Sender<Job>,
    withdrawals: mpsc::Sender<Job>,
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
}

impl Appender {
    /// Starts the task of `lane`. It ends when the last handle is dropped, after the last flush.
    pub fn start(lane: Lane, lanes: Lanes) -> Self {
        let (ordinary, from_ordinary) = mpsc::channel(lanes.queue.max(1));
        let (withdrawals, from_withdrawals) = mpsc::channel((lanes.queue / 8).max(64));
        let task = LaneTask {
            lane,
            lanes,
            from_ordinary,
            from_withdrawals,
            waiting: VecDeque::new(),
            answered: 0,
            line: None,
            carried: 0,
        };
        tokio::spawn(task.run());
        Self {
            ordinary,
            withdrawals,
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
        verdict.await.map_err(|_| StoreError::TimedOut)?
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
                .observe(batch.len() as f64);
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
            job = self.from_ordinary.recv() => job,
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
        self.lanes
            .metrics
            .append_queue
            .set(self.from_ordinary.len() as f64);
    }

    /// Gives the callers just answered a moment to return: without it two half-sized groups take
    /// turns and each command waits for two flushes. Never for a lone writer.
    async fn regroup(&mut self) {
        if self.answered < 2 {
            return;
        }
        let started = Instant::now();
        while self.waiting.len() < self.answered && started.elapsed() < REGROUP {
            tokio::task::yield_now().await;
            self.drain();
        }
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
        let mut parts = vec![batch];
        while let Some(mut part) = parts.pop() {
            match self.write(&part).await {
                Ok(()) => self.accept(part),
                Err(failure) if part.len() == 1 => {
                    if let Some(job) = part.pop() {
                        let verdict = self.verdict(&job.append, failure).await;
                        self.answer(job, verdict);
                    }
                }
                Err(Failure {
                    kind: FailureKind::Away,
                    error,
                    ..
                }) => self.turn_away(part, &error),
                Err(_) => {
                    self.lanes.metrics.flush_splits.inc();
                    let second = part.split_off(part.len() / 2);
                    // The first half is popped, and so written, first.
                    parts.push(second);
                    parts.push(part);
                }
            }
        }
    }

    /// Tries one flush until the database gives a verdict or stays away for too long.
    async fn write(&mut self, part: &[Job]) -> Result<(), Failure> {
        let appends: Vec<&Append> = part.iter().map(|job| &job.append).collect();
        let started = Instant::now();
        let mut pause = Duration::from_millis(20);
        let mut lost_commit = false;
        loop {
            let timer = self.lanes.metrics.flush_seconds.start_timer();
            let outcome = self.write_once(&appends).await;
            timer.observe_duration();
            let Err(error) = outcome else { return Ok(()) };
            let kind = FailureKind::of(&error);
            let again = match kind {
                FailureKind::Refused => false,
                FailureKind::Contended => true,
                FailureKind::Away => {
                    // The server may have committed before the line broke.
                    lost_commit = true;
                    true
                }
                FailureKind::Full => false,
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

    async fn write_once(&mut self, appends: &[&Append]) -> Result<(), sqlx::Error> {
        let mut line = match self.line.take() {
            Some(line) if self.carried < TURN => line,
            given_back => {
                drop(given_back);
                self.carried = 0;
                self.lanes.pool.acquire().await?
            }
        };
        self.carried += 1;
        let outcome = flush::write(&mut line, self.lanes.form, self.lane, appends).await;
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

    fn turn_away(&self, part: Vec<Job>, error: &sqlx::Error) {
        tracing::error!(commands = part.len(), error = %Redacted(error), "the database stayed away; appends were turned away");
        for job in part {
            let _unheard = job.answer.send(Err(StoreError::TimedOut));
        }
    }

    fn answer(&self, job: Job, verdict: Result<(), StoreError>) {
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
        sqlx::query_scalar(
            "select exists (select 1 from es.event where lane = $1 and stream_id = $2 and seq = $3 and hash = $4)",
        )
        .bind(self.lane.number())
        .bind(stream.stream)
        .bind(i64::try_from(stream.version()).unwrap_or(i64::MAX))
        .bind(&stream.head().as_bytes()[..])
        .fetch_one(&self.lanes.pool)
        .await
        .map_err(StoreError::from)
    }

    async fn which_part(&self, append: &Append) -> Result<(), StoreError> {
        let live: i64 = sqlx::query_scalar(
            "select count(*) from access.ledger where row_id = any ($1) and revoked_at_ms is null",
        )
        .bind(&append.guards)
        .fetch_one(&self.lanes.pool)
        .await?;
        if usize::try_from(live).ok() != Some(append.guards.len()) {
            return Err(StoreError::Revoked);
        }
        if let Some(receipt) = &append.receipt
            && super::receipt::find(&self.lanes.pool, self.lane, &receipt.key)
                .await?
                .is_some()
            && !receipt.is_completion()
        {
            return Err(StoreError::ReceiptTaken);
        }
        self.lanes.metrics.append_conflicts.inc();
        Err(StoreError::HeadMoved)
    }
}

struct Failure {
    kind: FailureKind,
    /// An attempt before this one may have committed unheard.
    lost_commit: bool,
    error: sqlx::Error,
}

impl Failure {
    fn code(&self) -> Option<String> {
        self.error
            .as_database_error()?
            .code()
            .map(std::borrow::Cow::into_owned)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureKind {
    /// The database judged the flush: splitting it finds the part that was refused.
    Refused,
    /// A deadlock or serialisation failure: the same flush may pass when tried again.
    Contended,
    /// Nobody answered, or the line broke: the flush may or may not have happened.
    Away,
    /// No room on the device: certain to be undone, and as certain to fail again at once.
    Full,
}

impl FailureKind {
    fn of(error: &sqlx::Error) -> Self {
        let Some(database) = error.as_database_error() else {
            return Self::Away;
        };
        match database.code().as_deref() {
            Some("40001" | "40P01" | "55P03") => Self::Contended,
            // Shutting down, crashed, starting up, too many connections.
            Some("57P01" | "57P02" | "57P03" | "53300") => Self::Away,
            Some("53100" | "58030" | "53200") => Self::Full,
            _ => Self::Refused,
        }
    }
}

/// A database error without the values it may quote.
#[derive(Debug)]
pub struct Redacted<'a>(pub &'a sqlx::Error);

impl std::fmt::Display for Redacted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_database_error() {
            Some(database) => {
                write!(f, "database error {}", database.code().unwrap_or_default())
            }
            None => match self.0 {
                sqlx::Error::Io(error) => write!(f, "connection error: {}", error.kind()),
                sqlx::Error::PoolTimedOut => f.write_str("no connection became free in time"),
                _ => f.write_str("the connection failed"),
            },
        }
    }
}
