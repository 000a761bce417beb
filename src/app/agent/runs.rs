//! Starting and cancelling runs, and finding the run a caller names.

use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::agent::evidence::Evidence;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::command::{RunBrief, RunCommand};
use helix_aggregates::agent::run::error::RunError;
use helix_aggregates::ids::{RunId, has_run_id_shape};
use helix_aggregates::time::{Stamp, Timestamp};
use helix_projections::agent::run::view::RunView;
use serde_json::json;
use tokio::sync::Semaphore;

use super::keyed::{Keyed, Reply};
use super::request::{CancelRequest, StartRequest};
use crate::app::agent::executor::TurnExecutor;
use crate::app::caller::{Caller, SCOPE_WRITE};
use crate::app::idempotency::IdempotencyKey;
use crate::app::policy::DataPolicy;
use crate::app::problem::{Code, Problem};
use crate::store::append::{Append, Priority};
use crate::store::guarded::{self, Seen};
use crate::store::log::{ExecuteError, Loaded, Log, Prepared, Stream};
use crate::store::owner::Lane;
use crate::store::read::StreamHead;
use crate::store::read_pool::ReadPool;
use crate::store::{Core, StoreError};

/// How often a command is judged again when another writer was faster.
pub(super) const ATTEMPTS: usize = 4;

/// What the deployment decides about runs.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// 1 s to 900 s (`agent-api` 2.7).
    pub turn_timeout: Duration,
    /// Turns that may run at a time.
    pub max_turns: usize,
    pub policy: DataPolicy,
}

impl RunSettings {
    /// A claim older than this may be taken over (`agent-api` 1.7).
    pub fn abandon_after(&self) -> Duration {
        self.turn_timeout + Duration::from_secs(60)
    }

    /// How long a reservation is held: at least two minutes (`agent-api` 1.6).
    pub fn lease(&self) -> Duration {
        self.abandon_after().max(Duration::from_secs(120))
    }
}

/// The use cases of runs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runs {
    pub(super) core: Arc<Core>,
    pub(super) log: Arc<Log<Run>>,
    pub(super) evidence: Arc<Log<Evidence>>,
    pub(super) settings: Arc<RunSettings>,
    pub(super) executor: Arc<dyn TurnExecutor>,
    /// Places for running turns.
    pub(super) places: Arc<Semaphore>,
}

/// A run that exists and is the caller's.
#[derive(Debug)]
pub(super) struct Found {
    pub run: RunId,
    pub stream: Stream,
    pub head: StreamHead,
    pub stamp: Stamp,
}

/// What a keyed request finds.
#[derive(Debug)]
pub(super) enum KeyedRun {
    Answered(Reply),
    Fresh(Box<Found>),
}

impl Runs {
    pub fn new(core: Arc<Core>, settings: RunSettings, executor: Arc<dyn TurnExecutor>) -> Self {
        Self {
            log: Arc::new(Log::new(Arc::clone(&core))),
            evidence: Arc::new(Log::new(Arc::clone(&core))),
            places: Arc::new(Semaphore::new(settings.max_turns)),
            settings: Arc::new(settings),
            executor,
            core,
        }
    }

    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn log(&self) -> &Arc<Log<Run>> {
        &self.log
    }

    pub fn settings(&self) -> &RunSettings {
        &self.settings
    }

    /// Starts a run (`agent-api` 2.1). One flush holds event, view and receipt, so a start is
    /// never of unknown outcome.
    pub async fn start(
        &self,
        caller: &Caller,
        key: &IdempotencyKey,
        request: StartRequest,
    ) -> Result<Reply, Problem> {
        caller.require(SCOPE_WRITE)?;
        let keyed = Keyed::new(
            &self.core,
            caller,
            "start".to_owned(),
            key,
            &request.spelled(),
        );
        if let Some(reply) = keyed.replay(&self.core, caller).await? {
            return Ok(reply);
        }
        let policy = &self.settings.policy;
        let policy = caller.admit(policy, &request.database_scope, SCOPE_WRITE)?;
        let run = self.core.ids.run(caller.lane);
        let stream = caller.stream(run.uuid());
        let brief = RunBrief {
            owner: caller.owner.clone(),
            objective: request.objective,
            constraints: request.constraints,
            database_scope: request.database_scope,
            completion_contract: request.completion_contract,
            budget: request.budget,
            policy,
        };
        let command = RunCommand::Start(Box::new(brief));
        let stamp = self.core.clock.stamp();
        let prepared = self.prepare(&stream, &Loaded::default(), &command, stamp, caller)?;
        let body = view(&prepared.next.state, run)?;
        let receipt = keyed.completed(&stream.key, run, 201, &body, None)?;
        let append = Append {
            receipt: Some(receipt),
            guards: caller.guards(),
            ..Append::of(stream.lane, vec![prepared.append])
        };
        match self.core.append(append).await {
            Ok(()) => {
                self.log.remember(&stream, prepared.next);
                Reply::of(201, body, false)
            }
            Err(StoreError::ReceiptTaken) => self.replay_of(&keyed, caller).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Cancels a run (`agent-api` 2.3), also one whose turn is executing, on whatever process.
    pub async fn cancel(
        &self,
        caller: &Caller,
        key: &IdempotencyKey,
        run_id: &str,
        request: &CancelRequest,
    ) -> Result<Reply, Problem> {
        caller.require(SCOPE_WRITE)?;
        let run = named(caller, run_id)?;
        let operation = format!("cancel:{run}");
        let keyed = Keyed::new(&self.core, caller, operation, key, &request.spelled(run));
        let command = RunCommand::Cancel {
            expected: request.expected_version,
            reason: request.reason.clone(),
        };
        for _ in 0..ATTEMPTS {
            let reads = &self.core.withdrawals;
            let found = match self.find_keyed(reads, caller, run, &keyed).await? {
                KeyedRun::Answered(reply) => return Ok(reply),
                KeyedRun::Fresh(found) => found,
            };
            let loaded = self.log.at(&found.stream, &found.head).await?;
            let prepared = self.prepare(&found.stream, &loaded, &command, found.stamp, caller)?;
            let body = view(&prepared.next.state, run)?;
            let append = Append {
                receipt: Some(keyed.completed(&found.stream.key, run, 200, &body, None)?),
                guards: caller.guards(),
                priority: Priority::Withdrawal,
                ..Append::of(found.stream.lane, vec![prepared.append])
            };
            match self.core.append(append).await {
                Ok(()) => {
                    self.log.remember(&found.stream, prepared.next);
                    return Reply::of(200, body, false);
                }
                Err(StoreError::HeadMoved | StoreError::ReceiptTaken) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::HeadMoved.into())
    }

    /// The caller's run, read together with the caller's ledger row.
    pub(super) async fn find(&self, caller: &Caller, run: RunId) -> Result<Found, Problem> {
        let stream = caller.stream(run.uuid());
        let reader = caller.reader();
        let seen = guarded::head(&self.core.reads, &reader, stream.lane, stream.id).await?;
        found(run, stream, seen)
    }

    /// The caller's run for a keyed request, or the answer that its key has already.
    pub(super) async fn find_keyed(
        &self,
        reads: &ReadPool,
        caller: &Caller,
        run: RunId,
        keyed: &Keyed,
    ) -> Result<KeyedRun, Problem> {
        let stream = caller.stream(run.uuid());
        let (lane, id, key) = (stream.lane, stream.id, keyed.key());
        let (seen, receipt) = guarded::keyed_head(reads, &caller.reader(), lane, id, key).await?;
        let found = found(run, stream, seen)?;
        Ok(match keyed.answer(&self.core, receipt).await? {
            Some(reply) => KeyedRun::Answered(reply),
            None => KeyedRun::Fresh(Box::new(found)),
        })
    }

    pub(super) fn prepare(
        &self,
        stream: &Stream,
        loaded: &Loaded<Run>,
        command: &RunCommand,
        stamp: Stamp,
        caller: &Caller,
    ) -> Result<Prepared<Run>, Problem> {
        self.log
            .prepare(stream, loaded, command, stamp, &caller.meta())
            .map_err(|error| match error {
                ExecuteError::Refused(refusal) => self.refused(refusal),
                ExecuteError::Store(error) => error.into(),
            })
    }

    /// Another request took the key between our look and our append: answer as it did.
    pub(super) async fn replay_of(&self, keyed: &Keyed, caller: &Caller) -> Result<Reply, Problem> {
        let replayed = keyed.replay(&self.core, caller).await?;
        replayed.ok_or_else(|| StoreError::ReceiptTaken.into())
    }

    /// The row of the problem table for each refusal of the aggregate.
    pub(super) fn refused(&self, refusal: RunError) -> Problem {
        match refusal {
            RunError::NotFound => Problem::new(Code::NotFound),
            RunError::VersionConflict { current } => {
                self.core.metrics.version_conflicts.inc();
                Problem::new(Code::VersionConflict).with(json!({"current_version": current}))
            }
            RunError::Busy { current } => {
                Problem::new(Code::RunBusy).with(json!({"current_version": current}))
            }
            RunError::NotResumable => Problem::new(Code::RunNotResumable),
            RunError::DuplicateAnswer => Problem::invalid("A question may be answered only once."),
            RunError::UnknownQuestions(ids) => {
                Problem::invalid("An answer names a question that is not outstanding.")
                    .with(json!({"unknown_question_ids": ids}))
            }
            RunError::ClaimLost { .. } | RunError::AlreadyStarted | RunError::NothingToRecover => {
                Problem::new(Code::Internal).because(refusal)
            }
        }
    }
}

/// The id in a path: a wrong shape is a bad request, a well-formed unknown id is not found.
pub(super) fn named(caller: &Caller, run_id: &str) -> Result<RunId, Problem> {
    if !has_run_id_shape(run_id) {
        return Err(Problem::invalid("The run_id is not valid."));
    }
    RunId::parse(run_id)
        .ok()
        .filter(|run| Lane::of_stream(run.uuid()) == Some(caller.lane))
        .ok_or_else(|| Problem::new(Code::NotFound))
}

fn found(run: RunId, stream: Stream, seen: Seen<StreamHead>) -> Result<Found, Problem> {
    let head = seen.found.filter(|head| head.kind == "run");
    let stamp = Stamp {
        at: Timestamp::from_millis(seen.now_ms),
    };
    Ok(Found {
        run,
        stream,
        head: head.ok_or_else(|| Problem::new(Code::NotFound))?,
        stamp,
    })
}

/// The run as clients see it.
pub(super) fn view(run: &Run, id: RunId) -> Result<Vec<u8>, Problem> {
    RunView::of(run, id)
        .and_then(|view| serde_json::to_vec(&view).ok())
        .ok_or_else(|| Problem::new(Code::Internal).because("a run has no view"))
}
