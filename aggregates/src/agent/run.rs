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
mod evolve;
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
use crate::time::{Stamp, Timestamp};

use command::{AdmittedPolicy, Answer, CompletionContract, RunCommand};
use error::RunError;
use event::RunEvent;
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
        self.fold(event);
    }
}

impl Run {
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
