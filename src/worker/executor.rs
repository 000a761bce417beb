//! One turn against its deadline and against the loss of its claim (`agent-api` 2.7).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::turn::TurnFailure;
use helix_aggregates::ids::RunId;
use tokio::time::Instant;

use crate::solver::engine::Engine;
use crate::solver::finaliser::TurnOutcome;
use crate::solver::seam::{Abort, AbortHandle, AbortReason, Allowance, Answer, TurnInput};
use crate::store::Core;
use crate::store::log::Loaded;

/// Calls a turn may make through the tool host.
const TOOL_CALLS: u32 = 256;
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
    deadline: Instant,
    /// What reaching the deadline means.
    at_deadline: TurnFailure,
}

impl ClaimedTurn {
    /// `None` when the run's text is erased and nothing can work on it.
    pub fn of(core: &Core, run: RunId, claimed: &Loaded<Run>, timeout: Duration) -> Option<Self> {
        let known = claimed.state.turn_input()?;
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
            deadline,
            at_deadline: if left < timeout {
                TurnFailure::RunExpired
            } else {
                TurnFailure::Timeout
            },
        })
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
            Err(_) => TurnFailure::ExecutorFailed,
        },
        () = moved.past(version) => {
            abort.raise(AbortReason::Cancelled);
            TurnFailure::ExecutorFailed
        }
        () = tokio::time::sleep_until(deadline) => {
            abort.raise(AbortReason::Timeout);
            at_deadline
        }
    };
    solving.abort();
    TurnOutcome::failed(failure, Vec::new())
}
