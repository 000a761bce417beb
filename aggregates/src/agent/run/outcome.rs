//! The outcome table of `agent-api` 2.8 and the events of a finished turn in their order.

use std::collections::HashSet;

use serde_json::Value;

use super::bounds::Storable;
use super::event::{
    AuthorityPublic, AuthorityState, BudgetExhausted, ClosingPublic, Fact, InputPublic, Moment,
    ReenteredPublic, ResolvedPublic, RunEvent, RunFailed, TurnClosed, TurnEnded,
};
use super::merge::{Merged, merge};
use super::status::{Completion, Lifecycle, WaitingFor};
use super::turn::{TerminalAuthority, TurnFailure, TurnResult};
use super::{Body, Claim};
use crate::sealed::Sealed;
use crate::time::Stamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Completed,
    Failed,
    BudgetExhausted,
    Waiting(WaitingFor),
}

impl Outcome {
    fn statuses(self) -> (Lifecycle, Completion) {
        match self {
            Self::Completed => (Lifecycle::Completed, Completion::Completed),
            Self::Failed => (Lifecycle::Failed, Completion::Failed),
            Self::BudgetExhausted => (Lifecycle::Failed, Completion::BudgetExhausted),
            Self::Waiting(reason) => (Lifecycle::Waiting, reason.completion()),
        }
    }

    fn close(self, ended: TurnEnded) -> RunEvent {
        match self {
            Self::Completed => RunEvent::RunCompleted(Box::new(ended)),
            Self::Failed => RunEvent::RunFailed(RunFailed::AfterTurn(Box::new(ended))),
            Self::BudgetExhausted => {
                RunEvent::BudgetExhausted(BudgetExhausted::AfterTurn(Box::new(ended)))
            }
            Self::Waiting(WaitingFor::Blocked) => RunEvent::RunBlocked(Box::new(ended)),
            Self::Waiting(
                WaitingFor::NeedsMoreEvidence
                | WaitingFor::NeedsInput
                | WaitingFor::ConflictDetected,
            ) => RunEvent::RunWaiting(Box::new(ended)),
        }
    }
}

/// The events of one finished turn: all of one step, one version and one moment.
pub(super) fn events(body: &Body, claim: &Claim, turn: Storable, stamp: Stamp) -> Vec<RunEvent> {
    let merged = merge(body, claim, &turn.result);
    let outcome = judge(body, &turn.result, &merged);
    let version = claim.version + 1;
    let mut events = Vec::with_capacity(5);
    events.extend(reentered(version, &turn.result, &merged, stamp));
    events.extend(resolved(version, &merged, stamp));
    events.extend(asked(version, &merged, stamp));
    events.push(governed(version, &merged, stamp));
    events.push(outcome.close(closing(outcome, claim, turn, merged, stamp)));
    events
}

fn reentered(version: u64, turn: &TurnResult, merged: &Merged, stamp: Stamp) -> Option<RunEvent> {
    (!merged.refs.is_empty()).then(|| {
        RunEvent::EvidenceReentered(Box::new(Fact {
            public: ReenteredPublic {
                version,
                observation_refs: turn.observation_refs.clone(),
                evidence_refs: turn.evidence_refs.clone(),
                receipt_refs: turn.receipt_refs.clone(),
                evidence_is_terminal_answer: false,
            },
            state: Moment { at: stamp.at },
        }))
    })
}

fn resolved(version: u64, merged: &Merged, stamp: Stamp) -> Option<RunEvent> {
    if merged.resolved_requirements.is_empty() && merged.resolved_contradictions.is_empty() {
        return None;
    }
    Some(RunEvent::IssuesResolved(Box::new(Fact {
        public: ResolvedPublic {
            version,
            resolved_requirements: Sealed::Open(merged.resolved_requirements.clone()),
            resolved_contradictions: Sealed::Open(merged.resolved_contradictions.clone()),
            resolution_support_refs: merged.support.clone(),
        },
        state: Moment { at: stamp.at },
    })))
}

fn asked(version: u64, merged: &Merged, stamp: Stamp) -> Option<RunEvent> {
    (!merged.questions.is_empty()).then(|| {
        let questions = Sealed::Open(merged.questions.clone());
        RunEvent::InputRequested(Fact {
            public: InputPublic { version, questions },
            state: Moment { at: stamp.at },
        })
    })
}

fn governed(version: u64, merged: &Merged, stamp: Stamp) -> RunEvent {
    RunEvent::TerminalAuthorityEvaluated(Fact {
        public: AuthorityPublic {
            version,
            terminal_authority_status: merged.authority,
            terminal_product_projected: merged.product_ref.is_some(),
        },
        state: AuthorityState {
            at: stamp.at,
            provider_terminal_candidate_ref: merged.candidate_ref.clone(),
        },
    })
}

fn closing(
    outcome: Outcome,
    claim: &Claim,
    turn: Storable,
    merged: Merged,
    stamp: Stamp,
) -> TurnEnded {
    let (lifecycle_status, completion_status) = outcome.statuses();
    let Storable { result, notes } = turn;
    Fact {
        public: ClosingPublic {
            version: claim.version + 1,
            lifecycle_status,
            completion_status,
            failure_code: result.failure_code,
        },
        state: TurnClosed {
            at: stamp.at,
            operation: claim.operation,
            summary: Sealed::Open(result.summary),
            unresolved_requirements: Sealed::Open(merged.unresolved),
            contradictions: Sealed::Open(merged.contradictions),
            claims_supported: Sealed::Open(result.claims_supported),
            claims_contradicted: Sealed::Open(result.claims_contradicted),
            open_questions: u32::try_from(merged.questions.len()).unwrap_or(u32::MAX),
            latest_result: Sealed::Open(merged.latest_result),
            notes,
        },
    }
}

/// The rows of the table; the first that matches wins.
fn judge(body: &Body, turn: &TurnResult, merged: &Merged) -> Outcome {
    let conflict = !merged.contradictions.is_empty() && !body.completion_contract.allow_conflicts;
    let asks = turn.needs_input || !merged.questions.is_empty();
    if turn.ok && !asks && !conflict && !merged.evidence_missing && fulfilled(body, merged) {
        Outcome::Completed
    } else if turn.failure_code.as_deref() == Some(TurnFailure::RunExpired.code()) {
        Outcome::Failed
    } else if body.steps_used >= body.max_steps {
        Outcome::BudgetExhausted
    } else if turn.status_code >= 500 {
        Outcome::Failed
    } else if asks {
        Outcome::Waiting(WaitingFor::NeedsInput)
    } else if conflict {
        Outcome::Waiting(WaitingFor::ConflictDetected)
    } else if merged.evidence_missing {
        Outcome::Waiting(WaitingFor::NeedsMoreEvidence)
    } else if !turn.ok || merged.authority == TerminalAuthority::Blocked {
        Outcome::Waiting(WaitingFor::Blocked)
    } else {
        Outcome::Waiting(WaitingFor::NeedsMoreEvidence)
    }
}

/// The countable part of the completion contract.
fn fulfilled(body: &Body, merged: &Merged) -> bool {
    let contract = &body.completion_contract;
    let authorized =
        !contract.require_terminal_authority || merged.authority == TerminalAuthority::Authorized;
    let bundle = &body.evidence;
    let cumulative: HashSet<&String> = bundle
        .observation_refs
        .iter()
        .chain(&bundle.evidence_refs)
        .chain(&bundle.receipt_refs)
        .chain(&merged.refs)
        .collect();
    let has_field = |name: &String| {
        merged
            .output_fields
            .get(name)
            .is_some_and(|value| *value != Value::Null)
    };
    authorized
        && cumulative.len() >= contract.min_evidence_refs as usize
        && merged.unresolved.len() <= contract.max_unresolved_requirements as usize
        && contract.required_output_fields.iter().all(has_field)
}
