//! The arms of `agent-api` 2.5. A refusal is decided in the contract's order: version, end,
//! answers, then the holder of the run, its expiry and its budget.
//!
//! A live turn answers "busy" even past the expiry or on the last step: it ends the run by itself
//! at its deadline, and ending it from outside would lose a result that is still allowed.

use std::collections::HashSet;
use std::time::Duration;

use super::bounds;
use super::command::DEFAULT_CANCEL_REASON;
use super::command::{Answer, ClaimHolder, ClaimTurn, FinishTurn, RunBrief, RunCommand};
use super::error::RunError;
use super::event::{
    BudgetExhausted, CancelledPublic, ContinuationPublic, ContinuationState, ExhaustedPublic,
    ExpiredPublic, Fact, Lapsed, Moment, RecoveredPublic, RecoveredState, RunEvent, RunFailed,
    StartedPublic, StartedState,
};
use super::outcome;
use super::status::{Completion, Lifecycle};
use super::turn::{TerminalAuthority, TurnFailure};
use super::{Body, Claim, Run};
use crate::sealed::Sealed;
use crate::text::{self, Text};
use crate::time::Stamp;

const READY: &str = "The run is ready for its first continuation.";
const EXPIRED: &str = "The run reached its expiry and can no longer be continued.";
const EXHAUSTED: &str = "The run has used all of its steps.";

pub(super) fn decide(
    run: &Run,
    command: &RunCommand,
    stamp: Stamp,
) -> Result<Vec<RunEvent>, RunError> {
    match (run, command) {
        (Run::Absent, RunCommand::Start(brief)) => Ok(vec![start(brief, stamp)]),
        (Run::Waiting { .. } | Run::Running { .. } | Run::Ended { .. }, RunCommand::Start(_)) => {
            Err(RunError::AlreadyStarted)
        }
        (
            Run::Absent,
            RunCommand::Claim(_)
            | RunCommand::Finish(_)
            | RunCommand::Cancel { .. }
            | RunCommand::Recover { .. }
            | RunCommand::Lapse,
        ) => Err(RunError::NotFound),
        (_, RunCommand::Claim(turn)) => claim(run, turn, stamp),
        (_, RunCommand::Finish(turn)) => finish(run, turn, stamp),
        (_, RunCommand::Cancel { expected, reason }) => {
            cancel(run, *expected, reason.as_ref(), stamp)
        }
        (
            _,
            RunCommand::Recover {
                abandon_after_sweep,
            },
        ) => recover(run, *abandon_after_sweep, stamp),
        (_, RunCommand::Lapse) => lapse(run, stamp),
    }
}

fn start(brief: &RunBrief, stamp: Stamp) -> RunEvent {
    RunEvent::RunStarted(Box::new(Fact {
        public: StartedPublic {
            version: 1,
            lifecycle_status: Lifecycle::Waiting,
            completion_status: Completion::NeedsMoreEvidence,
            terminal_authority_status: TerminalAuthority::NotEvaluated,
        },
        state: StartedState {
            at: stamp.at,
            profile: brief.owner.profile.clone(),
            owner: Sealed::Open(brief.owner.clone()),
            objective: Sealed::Open(brief.objective.as_str().to_owned()),
            constraints: Sealed::Open(text::unique(&brief.constraints)),
            database_scope: text::unique(&brief.database_scope),
            completion_contract: (&brief.completion_contract).into(),
            max_steps: brief.budget.max_steps,
            expires_at: stamp
                .at
                .plus(Duration::from_secs(brief.budget.expires_in_seconds)),
            policy: brief.policy.clone(),
            summary: READY.to_owned(),
        },
    }))
}

fn claim(run: &Run, turn: &ClaimTurn, stamp: Stamp) -> Result<Vec<RunEvent>, RunError> {
    let (body, held) = resumable(run, turn.expected)?;
    check_answers(body, &turn.answers)?;
    if let Some(held) = held
        && turn.holder == ClaimHolder::Live
        && !held.is_older_than(turn.abandon_after, stamp.at)
    {
        return Err(RunError::Busy {
            current: body.version,
        });
    }
    if let Some(ended) = lapsed(body, stamp) {
        return Ok(vec![ended]);
    }
    let version = body.version + 1;
    let mut events = Vec::with_capacity(2);
    if let Some(held) = held {
        events.push(recovered(
            held,
            version,
            Lifecycle::Running,
            Completion::Pending,
            stamp,
        ));
    }
    events.push(RunEvent::ContinuationReceived(Box::new(Fact {
        public: ContinuationPublic {
            operation_ref: turn.operation,
            version,
            steps_used: body.steps_used + 1,
        },
        state: ContinuationState {
            at: stamp.at,
            credential: turn.credential,
            instruction: Sealed::Open(turn.instruction.clone()),
            answers: Sealed::Open(turn.answers.iter().map(storable).collect()),
            policy: body.policy.narrowed(&turn.policy),
        },
    })));
    Ok(events)
}

/// The body of a run that may still change, with the claim on it; version before end.
fn resumable(run: &Run, expected: u64) -> Result<(&Body, Option<&Claim>), RunError> {
    let (body, rest) = match run {
        Run::Absent => return Err(RunError::NotFound),
        Run::Waiting { body, .. } => (body, Ok(None)),
        Run::Running { body, claim } => (body, Ok(Some(claim.as_ref()))),
        Run::Ended { body, .. } => (body, Err(RunError::NotResumable)),
    };
    if expected != body.version {
        return Err(RunError::VersionConflict {
            current: body.version,
        });
    }
    rest.map(|held| (body.as_ref(), held))
}

fn check_answers(body: &Body, answers: &[Answer]) -> Result<(), RunError> {
    let mut answered = HashSet::with_capacity(answers.len());
    if !answers
        .iter()
        .all(|answer| answered.insert(answer.question_id.as_str()))
    {
        return Err(RunError::DuplicateAnswer);
    }
    let outstanding: HashSet<&str> = body
        .questions
        .open()
        .map(|questions| questions.iter().map(|q| q.question_id.as_str()).collect())
        .unwrap_or_default();
    let unknown: Vec<String> = answers
        .iter()
        .filter(|answer| !outstanding.contains(answer.question_id.as_str()))
        .map(|answer| answer.question_id.clone())
        .collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(RunError::UnknownQuestions(unknown))
    }
}

fn storable(answer: &Answer) -> Answer {
    Answer {
        question_id: answer.question_id.clone(),
        value: bounds::storable_value(answer.value.clone()),
    }
}

/// The end a run has reached without a turn: expiry before budget.
fn lapsed(body: &Body, stamp: Stamp) -> Option<RunEvent> {
    let version = body.version + 1;
    if stamp.at >= body.expires_at {
        return Some(RunEvent::RunFailed(RunFailed::Expired(Fact {
            public: ExpiredPublic {
                version,
                failure_code: TurnFailure::RunExpired.code().to_owned(),
                expires_at: body.expires_at,
            },
            state: Lapsed {
                at: stamp.at,
                summary: EXPIRED.to_owned(),
            },
        })));
    }
    (body.steps_used >= body.max_steps).then(|| {
        RunEvent::BudgetExhausted(BudgetExhausted::BeforeTurn(Fact {
            public: ExhaustedPublic {
                version,
                steps_used: body.steps_used,
                max_steps: body.max_steps,
            },
            state: Lapsed {
                at: stamp.at,
                summary: EXHAUSTED.to_owned(),
            },
        }))
    })
}

fn recovered(
    held: &Claim,
    version: u64,
    lifecycle_status: Lifecycle,
    completion_status: Completion,
    stamp: Stamp,
) -> RunEvent {
    RunEvent::RuntimeRecovered(Fact {
        public: RecoveredPublic {
            version,
            lifecycle_status,
            completion_status,
        },
        state: RecoveredState {
            at: stamp.at,
            abandoned_operation: held.operation,
        },
    })
}

fn finish(run: &Run, turn: &FinishTurn, stamp: Stamp) -> Result<Vec<RunEvent>, RunError> {
    let lost = RunError::ClaimLost {
        claimed_version: turn.claimed_version,
    };
    let Run::Running { body, claim } = run else {
        return Err(lost);
    };
    if claim.operation != turn.operation || claim.version != turn.claimed_version {
        return Err(lost);
    }
    let result = if stamp.at >= body.expires_at {
        TurnFailure::RunExpired.into_result()
    } else {
        turn.result.clone()
    };
    Ok(outcome::events(
        body,
        claim,
        bounds::storable(result),
        stamp,
    ))
}

fn cancel(
    run: &Run,
    expected: u64,
    reason: Option<&Text<1000>>,
    stamp: Stamp,
) -> Result<Vec<RunEvent>, RunError> {
    let (body, _) = resumable(run, expected)?;
    let reason = reason.map_or(DEFAULT_CANCEL_REASON, Text::as_str);
    Ok(vec![RunEvent::RunCancelled(Fact {
        public: CancelledPublic {
            version: body.version + 1,
            reason: Sealed::Open(reason.to_owned()),
        },
        state: Moment { at: stamp.at },
    })])
}

fn recover(run: &Run, limit: Duration, stamp: Stamp) -> Result<Vec<RunEvent>, RunError> {
    match run {
        Run::Running { body, claim } if claim.is_older_than(limit, stamp.at) => {
            Ok(vec![recovered(
                claim,
                body.version + 1,
                Lifecycle::Waiting,
                Completion::NeedsMoreEvidence,
                stamp,
            )])
        }
        Run::Absent | Run::Waiting { .. } | Run::Running { .. } | Run::Ended { .. } => {
            Err(RunError::NothingToRecover)
        }
    }
}

fn lapse(run: &Run, stamp: Stamp) -> Result<Vec<RunEvent>, RunError> {
    match run {
        Run::Waiting { body, .. } => lapsed(body, stamp)
            .map(|ended| vec![ended])
            .ok_or(RunError::NothingToRecover),
        Run::Absent | Run::Running { .. } | Run::Ended { .. } => Err(RunError::NothingToRecover),
    }
}
