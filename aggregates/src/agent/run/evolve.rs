//! What each event changes. Total: an event has happened and is never refused.

use super::event::{
    BudgetExhausted, ContinuationReceived, Lapsed, ReenteredPublic, RunCancelled, RunEvent,
    RunFailed, RunStarted, TerminalAuthorityEvaluated, TurnClosed, TurnEnded,
};
use super::status::WaitingFor;
use super::turn::TerminalAuthority;
use super::{Body, Bundle, Claim, Ending, Run};
use crate::sealed::Sealed;
use crate::text;
use crate::time::Timestamp;

impl Run {
    /// Applies one event. A run that was never started stays absent whatever follows.
    pub(super) fn fold(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted(fact) => *self = Self::started(fact),
            RunEvent::RuntimeRecovered(fact) => {
                let reason = WaitingFor::NeedsMoreEvidence;
                self.advance(fact.public.version, fact.state.at, |body| Self::Waiting {
                    body,
                    reason,
                });
            }
            RunEvent::ContinuationReceived(fact) => self.claimed(fact),
            RunEvent::EvidenceReentered(fact) => {
                if let Some(body) = self.body_mut() {
                    body.evidence.admit(&fact.public);
                }
            }
            // What it resolved is already gone from the lists of the closing event.
            RunEvent::IssuesResolved(_) => {}
            RunEvent::InputRequested(fact) => {
                if let Some(body) = self.body_mut() {
                    body.questions = fact.public.questions.clone();
                }
            }
            RunEvent::TerminalAuthorityEvaluated(fact) => {
                if let Some(body) = self.body_mut() {
                    body.govern(fact);
                }
            }
            RunEvent::RunWaiting(fact) | RunEvent::RunBlocked(fact) => {
                let reason = WaitingFor::of(fact.public.completion_status);
                self.closed(fact.public.version, &fact.state, |body| Self::Waiting {
                    body,
                    reason,
                });
            }
            RunEvent::RunCompleted(fact) => {
                self.ended(fact, Ending::Completed { at: fact.state.at });
            }
            RunEvent::RunFailed(RunFailed::AfterTurn(fact)) => self.ended(fact, Ending::Failed),
            RunEvent::RunFailed(RunFailed::Expired(fact)) => {
                let ending = Ending::Expired { at: fact.state.at };
                self.lapsed(fact.public.version, &fact.state, ending);
            }
            RunEvent::BudgetExhausted(BudgetExhausted::AfterTurn(fact)) => {
                self.ended(fact, Ending::BudgetExhausted);
            }
            RunEvent::BudgetExhausted(BudgetExhausted::BeforeTurn(fact)) => {
                self.lapsed(fact.public.version, &fact.state, Ending::BudgetExhausted);
            }
            RunEvent::RunCancelled(fact) => self.cancelled(fact),
        }
    }

    fn started(fact: &RunStarted) -> Self {
        let state = &fact.state;
        let body = Body {
            owner: state.owner.clone(),
            profile: state.profile.clone(),
            objective: state.objective.clone(),
            constraints: state.constraints.clone(),
            database_scope: state.database_scope.clone(),
            completion_contract: state.completion_contract.opened(),
            max_steps: state.max_steps,
            steps_used: 0,
            expires_at: state.expires_at,
            policy: state.policy.clone(),
            version: fact.public.version,
            terminal_authority: fact.public.terminal_authority_status,
            summary: Sealed::Open(state.summary.clone()),
            unresolved_requirements: Sealed::default(),
            contradictions: Sealed::default(),
            questions: Sealed::default(),
            evidence: Bundle::default(),
            latest_result: None,
            created_at: state.at,
            updated_at: state.at,
        };
        Self::Waiting {
            body: Box::new(body),
            reason: WaitingFor::NeedsMoreEvidence,
        }
    }

    fn claimed(&mut self, fact: &ContinuationReceived) {
        let state = &fact.state;
        let claim = Box::new(Claim {
            operation: fact.public.operation_ref,
            version: fact.public.version,
            started_at: state.at,
            credential: state.credential,
            instruction: state.instruction.clone(),
            answers: state.answers.clone(),
            policy: state.policy.clone(),
        });
        self.advance(fact.public.version, state.at, |mut body| {
            body.steps_used = fact.public.steps_used;
            Self::Running { body, claim }
        });
    }

    fn cancelled(&mut self, fact: &RunCancelled) {
        let at = fact.state.at;
        self.advance(fact.public.version, at, |mut body| {
            body.terminal_authority = TerminalAuthority::Blocked;
            body.summary = fact.public.reason.clone();
            Self::Ended {
                body,
                ending: Ending::Cancelled { at },
            }
        });
    }

    fn ended(&mut self, fact: &TurnEnded, ending: Ending) {
        self.closed(fact.public.version, &fact.state, |body| Self::Ended {
            body,
            ending,
        });
    }

    /// The end of a finished turn, whatever its outcome.
    fn closed(&mut self, version: u64, state: &TurnClosed, then: impl FnOnce(Box<Body>) -> Self) {
        self.advance(version, state.at, |mut body| {
            body.summary = state.summary.clone();
            body.unresolved_requirements = state.unresolved_requirements.clone();
            body.contradictions = state.contradictions.clone();
            body.evidence.claim(state);
            body.latest_result = Some(state.latest_result.clone());
            if state.open_questions == 0 {
                body.questions = Sealed::default();
            }
            then(body)
        });
    }

    fn lapsed(&mut self, version: u64, state: &Lapsed, ending: Ending) {
        self.advance(version, state.at, |mut body| {
            body.terminal_authority = TerminalAuthority::Blocked;
            body.summary = Sealed::Open(state.summary.clone());
            Self::Ended { body, ending }
        });
    }

    fn advance(&mut self, version: u64, at: Timestamp, then: impl FnOnce(Box<Body>) -> Self) {
        *self = match std::mem::take(self) {
            Self::Absent => Self::Absent,
            Self::Waiting { mut body, .. }
            | Self::Running { mut body, .. }
            | Self::Ended { mut body, .. } => {
                body.version = version;
                body.updated_at = at;
                then(body)
            }
        };
    }

    fn body_mut(&mut self) -> Option<&mut Body> {
        match self {
            Self::Absent => None,
            Self::Waiting { body, .. } | Self::Running { body, .. } | Self::Ended { body, .. } => {
                Some(body)
            }
        }
    }
}

impl Body {
    fn govern(&mut self, turn: &TerminalAuthorityEvaluated) {
        self.terminal_authority = turn.public.terminal_authority_status;
        self.evidence.terminal_authority = turn.public.terminal_authority_status;
        self.evidence
            .provider_terminal_candidate_ref
            .clone_from(&turn.state.provider_terminal_candidate_ref);
    }
}

impl Bundle {
    fn admit(&mut self, turn: &ReenteredPublic) {
        extend(&mut self.observation_refs, &turn.observation_refs);
        extend(&mut self.evidence_refs, &turn.evidence_refs);
        extend(&mut self.receipt_refs, &turn.receipt_refs);
    }

    fn claim(&mut self, turn: &TurnClosed) {
        extend_sealed(&mut self.claims_supported, &turn.claims_supported);
        extend_sealed(&mut self.claims_contradicted, &turn.claims_contradicted);
    }
}

fn extend(all: &mut Vec<String>, new: &[String]) {
    *all = text::unique(all.iter().chain(new));
}

/// Claims of a turn whose text is gone are left out; those still readable stay.
fn extend_sealed(all: &mut Sealed<Vec<String>>, new: &Sealed<Vec<String>>) {
    if let (Sealed::Open(all), Sealed::Open(new)) = (all, new) {
        extend(all, new);
    }
}
