//! One turn against its deadline and against the loss of its claim (`agent-api` 2.7).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::agent::evidence::TURN_LIMIT;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::turn::TurnFailure;
use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use tokio::time::Instant;
use uuid::Uuid;

use crate::solver::engine::Engine;
use crate::solver::finaliser::TurnOutcome;
use crate::solver::seam::{Abort, AbortHandle, AbortReason, Allowance, Answer, TurnInput};
use crate::store::log::Loaded;
use crate::store::{Core, guarded};

/// Calls a turn may make through the tool host.
const TOOL_CALLS: u32 = 256;
// A receipt is recorded of each.
const _: () = assert!(TOOL_CALLS as usize <= TURN_LIMIT);
/// How long a stopped executor may take to hand over its receipts.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Bytes of sources a turn may read.
const BYTES: u64 = 32 << 20;

pub type Executing<'a> = Pin<Box<dyn Future<Output = TurnOutcome> + Send + 'a>>;

/// Whatever solves a claimed turn: the engine of this process, or a worker elsewhere.
pub trait TurnExecutor: Send + Sync + std::fmt::Debug {
    fn execute(&self, input: TurnInput) -> Executing<'_>;
}

impl TurnExecutor for Engine {
    fn execute(&self, input: TurnInput) -> Executing<'_> {
        Box::pin(Engine::execute(self, input))
    }
}

/// A claimed turn with its means.
#[derive(Debug)]
pub struct ClaimedTurn {
    input: TurnInput,
    abort: AbortHandle,
    run: RunId,
    /// The stream's version right after the claim: anything later means the claim is lost.
    version: u64,
    /// The ledger row of the credential the turn runs under, and the moment of its claim.
    credential: Option<(Uuid, Timestamp)>,
    deadline: Instant,
    /// What reaching the deadline means.
    at_deadline: TurnFailure,
}

impl ClaimedTurn {
    /// `None` when the run's text is erased and nothing can work on it.
    pub fn of(core: &Core, run: RunId, claimed: &Loaded<Run>, timeout: Duration) -> Option<Self> {
        let known = claimed.state.claim_input()?;
        let claim = claimed.state.claim()?;
        let left = known.expires_at.since(core.clock.now());
        let deadline = Instant::now() + timeout.min(left).max(Duration::from_millis(1));
        let (handle, abort) = Abort::channel();
        let answers = claim.answers.open()?.iter().map(|answer| Answer {
            question_id: answer.question_id.clone(),
            value: answer.value.to_string(),
        });
        let input = TurnInput {
            run_id: run.to_string(),
            run_version: known.run_version,
            turn: known.turn_seq,
            turn_id: core.ids.turn().to_string(),
            trace_id: core.ids.trace().to_string(),
            session_id: format!("session_{}", run.uuid()),
            objective: known.objective,
            instruction: claim.instruction.open()?.clone().unwrap_or_default(),
            answers: answers.collect(),
            instruction_with_answers: known.instruction,
            constraints: known.constraints,
            database_scope: known.database_scope,
            allowed_tools: known.allowed_tools,
            required_evidence: known.required_evidence,
            required_output_fields: claimed
                .state
                .body()
                .map(|body| body.completion_contract.required_output_fields.clone())
                .unwrap_or_default(),
            previous_summary: known.previous_summary,
            previous_observation_refs: known.previous_observation_refs,
            previous_evidence_refs: known.previous_evidence_refs,
            previous_receipt_refs: known.previous_receipt_refs,
            previous_unresolved_requirements: known.previous_unresolved_requirements,
            previous_contradictions: known.previous_contradictions,
            pending_questions: known.pending_questions,
            remaining_steps: known.remaining_steps,
            allowance: Allowance {
                tool_calls: TOOL_CALLS,
                bytes: BYTES,
                deadline,
            },
            abort,
        };
        Some(Self {
            input,
            abort: handle,
            run,
            version: claimed.version,
            credential: claim.credential.map(|row_id| (row_id, claim.started_at)),
            deadline,
            at_deadline: if left < timeout {
                TurnFailure::RunExpired
            } else {
                TurnFailure::Timeout
            },
        })
    }
}

/// Returns once the credential is revoked: nothing its turn finds will be kept (`access` 2).
async fn died(core: &Core, credential: Option<(Uuid, Timestamp)>) {
    let Some((row_id, claimed_at)) = credential else {
        return std::future::pending().await;
    };
    let mut revoked = core.hub.watch(row_id);
    // The claim has just judged the credential; what matters is what happens to it from here on.
    loop {
        let heard = revoked.seen();
        revoked.past(heard).await;
        // A database that stays away is no revocation; the append at the end judges again.
        let lives = guarded::has_lived_since(&core.pool, row_id, claimed_at.millis()).await;
        if matches!(lives, Ok(false)) {
            return;
        }
    }
}

/// Executes a turn. A late result is dropped, and so is one whose claim was lost meanwhile:
/// the cancel may have come through another process.
pub async fn race(core: &Core, executor: Arc<dyn TurnExecutor>, turn: ClaimedTurn) -> TurnOutcome {
    let ClaimedTurn {
        input,
        abort,
        run,
        version,
        credential,
        deadline,
        at_deadline,
    } = turn;
    let mut moved = core.hub.watch(run.uuid());
    // A task of its own, so that a panic of the executor is a failed turn and nothing more.
    let mut solving = tokio::spawn(async move { executor.execute(input).await });
    let failure = tokio::select! {
        biased;
        solved = &mut solving => match solved {
            Ok(outcome) => return outcome,
            // It broke down: nothing is left that could say a last word.
            Err(_) => return TurnOutcome::failed(TurnFailure::ExecutorFailed, Vec::new()),
        },
        () = moved.past(version) => {
            abort.raise(AbortReason::Cancelled);
            TurnFailure::ExecutorFailed
        }
        () = died(core, credential) => {
            abort.raise(AbortReason::Cancelled);
            TurnFailure::ExecutorFailed
        }
        () = tokio::time::sleep_until(deadline) => {
            abort.raise(if at_deadline == TurnFailure::RunExpired {
                AbortReason::Expired
            } else {
                AbortReason::Timeout
            });
            at_deadline
        }
    };
    // What was read until now is accounted for, if the executor can still say so.
    let stopped = tokio::time::timeout(LAST_WORDS, &mut solving).await;
    solving.abort();
    let receipts = stopped
        .ok()
        .and_then(Result::ok)
        .map(|outcome| outcome.receipts);
    TurnOutcome::failed(failure, receipts.unwrap_or_default())
}
