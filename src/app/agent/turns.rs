//! Continuing a run: claim, execute, finalise (`agent-api` 2.2, 2.7, 2.8).
//!
//! Claim and reservation are one flush; result, events and completed receipt are another. From the
//! claim on, everything runs in a task of its own: a client that hangs up changes nothing, also
//! between the commit of its claim and the start of its turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use helix_aggregates::agent::evidence::command::{EvidenceCommand, TurnEvidence};
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::command::{
    AdmittedPolicy, ClaimHolder, ClaimTurn, FinishTurn, RunCommand,
};
use helix_aggregates::agent::run::error::RunError;
use helix_aggregates::agent::run::event::RunEvent;
use helix_aggregates::agent::run::status::Lifecycle;
use helix_aggregates::agent::run::turn::TurnFailure;
use helix_aggregates::ids::{OperationId, RunId};
use serde_json::json;

use super::evidence::evidence_stream;
use super::keyed::{Keyed, Reply};
use super::request::ContinueRequest;
use super::runs::{ATTEMPTS, Found, KeyedRun, Runs, named, view};
use crate::app::agent::executor::{self, ClaimedTurn};
use crate::app::caller::{Caller, SCOPE_WRITE};
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::{Code, Problem};
use crate::app::redaction;
use crate::solver::finaliser::TurnOutcome;
use crate::store::StoreError;
use crate::store::append::{Append, StreamAppend};
use crate::store::guarded;
use crate::store::log::{ExecuteError, Loaded, Prepared, Stream};
use crate::telemetry::millis;

/// How long a claim is tried while the database is away.
const CLAIM_PATIENCE: Duration = Duration::from_secs(30);
/// The pause before a result is tried again while the database is away.
const FINISH_PAUSE: Duration = Duration::from_millis(200);

/// What a continue request led to.
enum Claimed {
    /// The run had expired or spent its steps: it ended without a turn.
    Ended(Reply),
    Turn(Box<Turn>),
}

/// Why a result was not recorded.
enum Unfinished {
    Refused(Problem),
    Store(StoreError),
}

/// A claimed turn on its way to its result.
struct Turn {
    caller: Caller,
    keyed: Keyed,
    run: RunId,
    stream: Stream,
    operation: OperationId,
    claimed: Loaded<Run>,
}

impl Runs {
    /// Continues a run by one turn.
    pub async fn continue_run(
        &self,
        caller: &Caller,
        key: &IdempotencyKey,
        run_id: &str,
        request: &ContinueRequest,
    ) -> Result<Reply, Problem> {
        caller.require(SCOPE_WRITE)?;
        let run = named(caller, run_id)?;
        let operation = format!("continue:{run}");
        let keyed = Keyed::new(&self.core, caller, operation, key, &request.spelled(run));
        // Before the claim: whoever is turned away has reserved nothing.
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| StoreError::Overloaded)?;
        let (runs, caller, request) = (self.clone(), caller.clone(), request.clone());
        let task = self.core.spawn(async move {
            let answered = runs.claim_and_execute(&caller, &keyed, run, &request).await;
            drop(place);
            answered
        });
        task.await
            .map_err(|_| Problem::new(Code::Internal).because("a turn's task ended early"))?
    }

    async fn claim_and_execute(
        &self,
        caller: &Caller,
        keyed: &Keyed,
        run: RunId,
        request: &ContinueRequest,
    ) -> Result<Reply, Problem> {
        for _ in 0..ATTEMPTS {
            let found = match self
                .find_keyed(&self.core.reads, caller, run, keyed)
                .await?
            {
                KeyedRun::Answered(reply) => return Ok(reply),
                KeyedRun::Fresh(found) => found,
            };
            match self.claim(caller, keyed, &found, request).await? {
                Some(Claimed::Ended(reply)) => return Ok(reply),
                Some(Claimed::Turn(turn)) => return self.execute(*turn).await,
                // Another writer was faster: look again.
                None => {}
            }
        }
        Err(StoreError::HeadMoved.into())
    }

    /// Claims the run for one turn; `None` when another writer moved it meanwhile.
    async fn claim(
        &self,
        caller: &Caller,
        keyed: &Keyed,
        found: &Found,
        request: &ContinueRequest,
    ) -> Result<Option<Claimed>, Problem> {
        let loaded = self.log.at(&found.stream, &found.head).await?;
        let policy = self.policy_for(caller, &loaded, request)?;
        let operation = self.core.ids.operation();
        let command = RunCommand::Claim(Box::new(ClaimTurn {
            expected: request.expected_version,
            operation,
            credential: Some(caller.row_id),
            instruction: request.instruction.clone(),
            answers: request.answers.clone(),
            policy,
            abandon_after: self.settings.abandon_after(),
            holder: self.holder(&loaded).await?,
        }));
        let prepared = self.prepare(&found.stream, &loaded, &command, found.stamp, caller)?;
        let claim = prepared
            .next
            .state
            .claim()
            .filter(|claim| claim.operation == operation);
        let mut ended = None;
        let receipt = if let Some(claim) = claim {
            let lease_ms = i64::try_from(self.settings.lease().as_millis()).unwrap_or(i64::MAX);
            keyed.processing(found.run, operation.uuid(), claim.version, lease_ms)
        } else {
            let body = view(&prepared.next.state, found.run)?;
            let receipt = keyed.completed(&found.stream.key, found.run, 200, &body, None)?;
            ended = Some(Reply::of(200, body, false)?);
            receipt
        };
        let append = Append {
            receipt: Some(receipt),
            guards: caller.guards(),
            ..Append::of(found.stream.lane, vec![prepared.append])
        };
        // Whoever claimed must know it: only this task can execute the turn.
        match self.core.append_surely(append, CLAIM_PATIENCE).await {
            Ok(()) => {}
            Err(StoreError::HeadMoved | StoreError::ReceiptTaken) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        self.log.remember(&found.stream, prepared.next.clone());
        if let Some(reply) = ended {
            return Ok(Some(Claimed::Ended(reply)));
        }
        Ok(Some(Claimed::Turn(Box::new(Turn {
            caller: caller.clone(),
            keyed: keyed.clone(),
            run: found.run,
            stream: found.stream.clone(),
            operation,
            claimed: prepared.next,
        }))))
    }

    /// What the policy admits now. A stale version or an ended run is reported before a policy
    /// that no longer admits the run (`agent-api` 2.2, steps 4 to 6).
    fn policy_for(
        &self,
        caller: &Caller,
        loaded: &Loaded<Run>,
        request: &ContinueRequest,
    ) -> Result<AdmittedPolicy, Problem> {
        let Some(body) = loaded.state.body() else {
            return Err(Problem::new(Code::NotFound));
        };
        let policy = &self.settings.policy;
        let admitted = caller.admit(policy, &body.database_scope, SCOPE_WRITE);
        admitted.map_err(|problem| {
            if body.version != request.expected_version {
                return self.refused(RunError::VersionConflict {
                    current: body.version,
                });
            }
            if loaded.state.lifecycle().is_some_and(Lifecycle::is_terminal) {
                return self.refused(RunError::NotResumable);
            }
            problem
        })
    }

    /// Whether the present claim's credential still lives; a dead one may be taken over at once.
    async fn holder(&self, loaded: &Loaded<Run>) -> Result<ClaimHolder, StoreError> {
        let claim = loaded.state.claim();
        let Some((credential, since)) =
            claim.and_then(|claim| Some((claim.credential?, claim.started_at)))
        else {
            return Ok(ClaimHolder::Live);
        };
        let pool = &self.core.pool;
        let live = guarded::has_lived_since(pool, credential, since.millis()).await?;
        Ok(if live {
            ClaimHolder::Live
        } else {
            ClaimHolder::Revoked
        })
    }

    async fn execute(&self, turn: Turn) -> Result<Reply, Problem> {
        let timer = Instant::now();
        self.core.metrics.turns_running.inc();
        let answered = self.execute_claimed(&turn).await;
        self.core.metrics.turns_running.dec();
        let outcome = match &answered {
            Ok((_, completion)) => completion.as_str(),
            Err(problem) => problem.code.row().code,
        };
        let elapsed = timer.elapsed().as_secs_f64();
        self.core
            .metrics
            .turns
            .with_label_values(&[outcome])
            .observe(elapsed);
        tracing::info!(run.id = %turn.run, outcome, duration_ms = millis(elapsed), "turn finished");
        answered.map(|(reply, _)| reply)
    }

    async fn execute_claimed(&self, turn: &Turn) -> Result<(Reply, String), Problem> {
        let claimed = ClaimedTurn::of(
            &self.core,
            turn.run,
            &turn.claimed,
            self.settings.turn_timeout,
        );
        let outcome = match claimed {
            Some(claimed) => executor::race(&self.core, Arc::clone(&self.executor), claimed).await,
            // The run's text was erased under the claim.
            None => TurnOutcome::failed(TurnFailure::ExecutorFailed, Vec::new()),
        };
        let outcome = unprotected(outcome);
        let mut finished = self.finish(turn, outcome).await;
        if finished
            .as_ref()
            .is_err_and(|problem| problem.code == Code::Internal)
        {
            // A result that cannot be recorded is a failed turn, never a claim that nobody ends.
            let failed = TurnOutcome::failed(TurnFailure::ExecutorFailed, Vec::new());
            finished = self.finish(turn, failed).await;
        }
        if finished
            .as_ref()
            .is_err_and(|problem| problem.code != Code::Unavailable)
        {
            turn.keyed
                .give_up(&self.core, &turn.caller, turn.operation.uuid())
                .await?;
        }
        finished
    }

    /// Appends the result, or learns that the claim is lost. Fenced by the claim, so it is tried for
    /// as long as the claim can hold: nobody else can record what this turn found.
    async fn finish(&self, turn: &Turn, outcome: TurnOutcome) -> Result<(Reply, String), Problem> {
        let command = RunCommand::Finish(Box::new(FinishTurn {
            operation: turn.operation,
            claimed_version: turn.claimed.state.version(),
            result: outcome.result.clone(),
        }));
        let patience = self.settings.abandon_after();
        let started = Instant::now();
        let mut loaded = Arc::new(turn.claimed.clone());
        let mut moved = 0;
        loop {
            let tried = self.try_finish(turn, &command, &outcome, &loaded).await;
            let again = match tried {
                Ok(finished) => return Ok(finished),
                Err(Unfinished::Refused(problem)) => return Err(problem),
                Err(Unfinished::Store(StoreError::HeadMoved)) => {
                    moved += 1;
                    if moved == ATTEMPTS {
                        return Err(lost(turn));
                    }
                    self.log.load(&turn.stream).await
                }
                Err(Unfinished::Store(error)) => Err(error),
            };
            match again {
                Ok(fresh) => loaded = fresh,
                Err(error @ (StoreError::TimedOut | StoreError::Unavailable(_)))
                    if started.elapsed() < patience =>
                {
                    tracing::debug!(run.id = %turn.run, %error, "a result waits for the database");
                    tokio::time::sleep(FINISH_PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn try_finish(
        &self,
        turn: &Turn,
        command: &RunCommand,
        outcome: &TurnOutcome,
        loaded: &Loaded<Run>,
    ) -> Result<(Reply, String), Unfinished> {
        let stamp = self.core.clock.stamp();
        let prepared = self
            .log
            .prepare(&turn.stream, loaded, command, stamp, &turn.caller.meta());
        let prepared = prepared.map_err(|error| match error {
            ExecuteError::Refused(RunError::ClaimLost { .. }) => Unfinished::Refused(lost(turn)),
            ExecuteError::Refused(refusal) => Unfinished::Refused(self.refused(refusal)),
            ExecuteError::Store(error) => Unfinished::Store(error),
        })?;
        let body = view(&prepared.next.state, turn.run).map_err(Unfinished::Refused)?;
        let append = self.result_append(turn, &prepared, outcome, &body).await?;
        let patience = self.settings.abandon_after();
        self.core
            .append_surely(append, patience)
            .await
            .map_err(Unfinished::Store)?;
        let completion = prepared.next.state.completion();
        let completion = completion.map_or("", |completion| completion.as_str());
        self.log.remember(&turn.stream, prepared.next);
        let reply = Reply::of(200, body, false).map_err(Unfinished::Refused)?;
        Ok((reply, completion.to_owned()))
    }

    async fn result_append(
        &self,
        turn: &Turn,
        prepared: &Prepared<Run>,
        outcome: &TurnOutcome,
        body: &[u8],
    ) -> Result<Append, Unfinished> {
        let claim = Some(turn.operation.uuid());
        let receipt = turn
            .keyed
            .completed(&turn.stream.key, turn.run, 200, body, claim)
            .map_err(Unfinished::Store)?;
        let mut streams = vec![prepared.append.clone()];
        streams.extend(self.evidence_append(turn, prepared, outcome).await?);
        Ok(Append {
            receipt: Some(receipt),
            guards: turn.caller.guards(),
            ..Append::of(turn.stream.lane, streams)
        })
    }

    /// Receipts and spans go to the run's evidence stream, in the transaction of the result. Spans
    /// of a result that was replaced are not kept: no ref of the run names them.
    async fn evidence_append(
        &self,
        turn: &Turn,
        prepared: &Prepared<Run>,
        outcome: &TurnOutcome,
    ) -> Result<Option<StreamAppend>, Unfinished> {
        if outcome.receipts.is_empty() && outcome.items.is_empty() {
            return Ok(None);
        }
        let cited = prepared
            .events
            .iter()
            .any(|event| matches!(event, RunEvent::EvidenceReentered(_)));
        let stream = Stream {
            id: evidence_stream(turn.run, turn.stream.lane),
            ..turn.stream.clone()
        };
        let loaded = self
            .evidence
            .fold(&stream)
            .await
            .map_err(Unfinished::Store)?;
        let items = if cited { outcome.items.as_slice() } else { &[] };
        let fresh_items = items
            .iter()
            .filter(|item| loaded.state.item(&item.item_ref).is_none());
        let fresh_receipts = outcome
            .receipts
            .iter()
            .filter(|receipt| loaded.state.receipt(&receipt.receipt_ref).is_none());
        let record = TurnEvidence {
            turn_seq: turn.claimed.state.body().map_or(0, |body| body.steps_used),
            operation: turn.operation,
            receipts: fresh_receipts.cloned().collect(),
            items: fresh_items.cloned().collect(),
        };
        if record.items.is_empty() && record.receipts.is_empty() {
            return Ok(None);
        }
        let command = EvidenceCommand::Record(record);
        let stamp = self.core.clock.stamp();
        self.evidence
            .prepare(&stream, &loaded, &command, stamp, &turn.caller.meta())
            .map(|prepared| Some(prepared.append))
            .map_err(|error| match error {
                ExecuteError::Refused(refusal) => {
                    Unfinished::Refused(Problem::new(Code::Internal).because(refusal))
                }
                ExecuteError::Store(error) => Unfinished::Store(error),
            })
    }
}

fn lost(turn: &Turn) -> Problem {
    let claimed_version = turn.claimed.state.version();
    Problem::new(Code::OutcomeUnknown)
        .with(json!({"run_id": turn.run, "claimed_version": claimed_version}))
}

/// A result with credential material in it is replaced as a whole (`agent-api` 5.4).
fn unprotected(outcome: TurnOutcome) -> TurnOutcome {
    let spelled = serde_json::to_value(&outcome.result);
    if spelled.is_ok_and(|result| !redaction::is_protected(&result)) {
        return outcome;
    }
    TurnOutcome::failed(TurnFailure::ProtectedContent, outcome.receipts)
}
