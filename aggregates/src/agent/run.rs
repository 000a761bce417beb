//! One durable run: what was asked for, how far it has come, and how it ended.
//!
//! A run is a stream whose events are exactly the wire events of `agent-api` 3.1, so a client's
//! cursor is the stream's sequence. What must stay true: each step adds exactly one to the
//! version, an ended run never changes again, and a fold without the keys still knows every
//! status, count, reference and time.
//!
//! Deliberately absent: idempotency, authorisation and the solver. Their outcomes arrive in
//! commands.

pub mod bounds;
pub mod command;
pub mod error;
pub mod event;
pub mod input;
pub mod status;
pub mod turn;

mod decide;
mod merge;
mod outcome;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::decider::Decider;
use crate::ids::{OperationId, OwnerTuple};
use crate::sealed::Sealed;
use crate::text;
use crate::time::{Stamp, Timestamp};

use command::{AdmittedPolicy, Answer, CompletionContract, RunCommand};
use error::RunError;
use event::{
    BudgetExhausted, ContinuationReceived, Lapsed, RunCancelled, RunEvent, RunFailed, RunStarted,
    TerminalAuthorityEvaluated, TurnClosed, TurnEnded,
};
use status::{Completion, Lifecycle, WaitingFor};
use turn::{Question, TerminalAuthority};

/// A run in its phase. A field stands only in the phase where it means something.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Run {
    #[default]
    Absent,
    Waiting {
        body: Box<Body>,
        reason: WaitingFor,
    },
    Running {
        body: Box<Body>,
        claim: Box<Claim>,
    },
    Ended {
        body: Box<Body>,
        ending: Ending,
    },
}

/// What every started run has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    pub owner: Sealed<OwnerTuple>,
    /// The owner's account, in clear: an id that names nobody.
    pub profile: String,
    pub objective: Sealed<String>,
    pub constraints: Sealed<Vec<String>>,
    pub database_scope: Vec<String>,
    pub completion_contract: CompletionContract,
    pub max_steps: u32,
    pub steps_used: u32,
    pub expires_at: Timestamp,
    /// As the start admitted it; a turn may use less, never more (`agent-api` 6.2).
    pub policy: AdmittedPolicy,
    pub version: u64,
    pub terminal_authority: TerminalAuthority,
    pub summary: Sealed<String>,
    pub unresolved_requirements: Sealed<Vec<String>>,
    pub contradictions: Sealed<Vec<String>>,
    pub questions: Sealed<Vec<Question>>,
    pub evidence: Bundle,
    pub latest_result: Option<Sealed<Map<String, Value>>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The cumulative part of the evidence bundle (`agent-api` 4.1).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Bundle {
    pub observation_refs: Vec<String>,
    pub evidence_refs: Vec<String>,
    pub receipt_refs: Vec<String>,
    pub provider_terminal_candidate_ref: Option<String>,
    pub claims_supported: Sealed<Vec<String>>,
    pub claims_contradicted: Sealed<Vec<String>>,
    /// Of the last finished turn; cancelling or expiring a run does not rewrite it.
    pub terminal_authority: TerminalAuthority,
}

/// The one turn that may finish this run's current version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub operation: OperationId,
    /// The version the claim made; only a result that names it is accepted.
    pub version: u64,
    pub started_at: Timestamp,
    /// The ledger row of the credential the turn runs under, if it has one.
    pub credential: Option<Uuid>,
    pub instruction: Sealed<Option<String>>,
    pub answers: Sealed<Vec<Answer>>,
    /// What this turn may use and must prove.
    pub policy: AdmittedPolicy,
}

impl Claim {
    /// `true` when the turn is older than `limit` at `now` (`agent-api` 1.7).
    pub fn is_older_than(&self, limit: Duration, now: Timestamp) -> bool {
        now.since(self.started_at) > limit
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    Completed {
        at: Timestamp,
    },
    /// A turn's result ended the run; it counts as never completed (`agent-api` 2.6).
    Failed,
    /// The run was found past its expiry.
    Expired {
        at: Timestamp,
    },
    BudgetExhausted,
    Cancelled {
        at: Timestamp,
    },
}

impl Decider for Run {
    const KIND: &'static str = "run";
    type Command = RunCommand;
    type Event = RunEvent;
    type Error = RunError;

    fn decide(&self, command: &RunCommand, stamp: Stamp) -> Result<Vec<RunEvent>, RunError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &RunEvent) {
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
}

impl Run {
    fn started(fact: &RunStarted) -> Self {
        let state = &fact.state;
        let body = Body {
            owner: state.owner.clone(),
            profile: state.profile.clone(),
            objective: state.objective.clone(),
            constraints: state.constraints.clone(),
            database_scope: state.database_scope.clone(),
            completion_contract: state.completion_contract.clone(),
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

    /// What the run holds in every phase; `None` before its start.
    pub fn body(&self) -> Option<&Body> {
        match self {
            Self::Absent => None,
            Self::Waiting { body, .. } | Self::Running { body, .. } | Self::Ended { body, .. } => {
                Some(body)
            }
        }
    }

    /// The version a client must name; 0 before the start.
    pub fn version(&self) -> u64 {
        self.body().map_or(0, |body| body.version)
    }

    /// The owner, if this reader holds the key.
    pub fn owner(&self) -> Option<&OwnerTuple> {
        self.body().and_then(|body| body.owner.open())
    }

    /// The turn under way.
    pub fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Running { claim, .. } => Some(claim),
            Self::Absent | Self::Waiting { .. } | Self::Ended { .. } => None,
        }
    }

    /// `None` before the start.
    pub fn lifecycle(&self) -> Option<Lifecycle> {
        match self {
            Self::Absent => None,
            Self::Waiting { .. } => Some(Lifecycle::Waiting),
            Self::Running { .. } => Some(Lifecycle::Running),
            Self::Ended { ending, .. } => Some(ending.lifecycle()),
        }
    }

    /// `None` before the start.
    pub fn completion(&self) -> Option<Completion> {
        match self {
            Self::Absent => None,
            Self::Waiting { reason, .. } => Some(reason.completion()),
            Self::Running { .. } => Some(Completion::Pending),
            Self::Ended { ending, .. } => Some(ending.completion()),
        }
    }

    /// Set by a successful completion and by an expiry found outside a turn (`agent-api` 2.6).
    pub fn completed_at(&self) -> Option<Timestamp> {
        match self {
            Self::Ended {
                ending: Ending::Completed { at } | Ending::Expired { at },
                ..
            } => Some(*at),
            Self::Absent | Self::Waiting { .. } | Self::Running { .. } | Self::Ended { .. } => None,
        }
    }

    pub fn cancelled_at(&self) -> Option<Timestamp> {
        match self {
            Self::Ended {
                ending: Ending::Cancelled { at },
                ..
            } => Some(*at),
            Self::Absent | Self::Waiting { .. } | Self::Running { .. } | Self::Ended { .. } => None,
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

impl Ending {
    pub fn lifecycle(&self) -> Lifecycle {
        match self {
            Self::Completed { .. } => Lifecycle::Completed,
            Self::Failed | Self::Expired { .. } | Self::BudgetExhausted => Lifecycle::Failed,
            Self::Cancelled { .. } => Lifecycle::Cancelled,
        }
    }

    pub fn completion(&self) -> Completion {
        match self {
            Self::Completed { .. } => Completion::Completed,
            Self::Failed | Self::Expired { .. } => Completion::Failed,
            Self::BudgetExhausted => Completion::BudgetExhausted,
            Self::Cancelled { .. } => Completion::Cancelled,
        }
    }
}

impl Bundle {
    fn admit(&mut self, turn: &event::ReenteredPublic) {
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
