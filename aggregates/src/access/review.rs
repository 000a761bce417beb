//! A review: a run whose steps are the sections of one version of a brief, driven by agents and ended
//! by a person.
//!
//! One stream holds both: what every run has is decided by the run within ([`Run`]) and recorded in its
//! events, and what only a review has stands between them. What must stay true: at most one claim lives,
//! and whoever lost it can finish nothing; the gate opens when every step is done, and only a person's
//! decision closes it; findings are never taken back. Titles, findings and reasons are sealed, so a fold
//! without the key still knows every state.
//!
//! Deliberately absent: the texts of findings. They stay in their events and the state knows the place
//! of each. Absent too: who may do what, and whether the credential behind a claim still lives, which
//! comes in with a command.

pub mod command;
pub mod error;
pub mod event;
pub mod finding;

mod decide;
mod evolve;
#[cfg(test)]
mod tests;
mod turns;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::author::Author;
use crate::agent::run::{Ending, Run};
use crate::decider::Decider;
use crate::ids::{AccountId, BriefId, ClaimId, FindingId, ProjectId, StepId, WorkspaceId};
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::{DeadClaim, ReviewCommand, Verdict};
use error::ReviewError;
use event::ReviewEvent;

/// Steps of one review (`access` 6.1).
pub const STEPS_LIMIT: usize = 32;
/// Turns of one review's run, decisions at the gate included.
pub const BUDGET: u32 = 64;
pub const FINDINGS_LIMIT: usize = 500;
/// Enough to hold steps for the longest life of a review at the longest lease.
pub const EXTENSIONS_LIMIT: u32 = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Review {
    #[default]
    Absent,
    Open(Box<Body>),
}

/// What a review has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub brief: BriefId,
    pub brief_version: u64,
    pub title: Sealed<String>,
    pub author: Author,
    pub run: Run,
    pub steps: Vec<Step>,
    pub claim: Option<Claim>,
    /// In the order of their submission.
    pub findings: Vec<Place>,
    /// The latest decision at the gate.
    pub decision: Option<Decision>,
    pub extensions: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Events folded so far: the place of the latest.
    pub seq: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub id: StepId,
    pub title: Sealed<String>,
    pub is_done: bool,
}

/// A step in the hands of one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub id: ClaimId,
    pub step: StepId,
    pub by: Author,
    /// The ledger row of the credential that claimed or last extended it.
    pub credential: Uuid,
    pub lease_expires_at: Timestamp,
}

/// Where the text of a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub id: FindingId,
    /// The place in the stream, counted from 1, of the event that holds it.
    pub text_at: u64,
}

/// A person's word at the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Counted from 1.
    pub gate: u32,
    pub verdict: Verdict,
    pub by: AccountId,
    pub reason: Option<Sealed<String>>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    Open,
    Claimed,
    AwaitingGate,
    Completed,
    Cancelled,
    Failed,
}

impl ReviewState {
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Claimed,
        Self::AwaitingGate,
        Self::Completed,
        Self::Cancelled,
        Self::Failed,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Claimed => "claimed",
            Self::AwaitingGate => "awaiting_gate",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Nothing follows.
    pub fn is_closed(self) -> bool {
        match self {
            Self::Completed | Self::Cancelled | Self::Failed => true,
            Self::Open | Self::Claimed | Self::AwaitingGate => false,
        }
    }
}

impl Decider for Review {
    const KIND: &'static str = "review";
    type Command = ReviewCommand;
    type Event = ReviewEvent;
    type Error = ReviewError;

    fn decide(
        &self,
        command: &ReviewCommand,
        stamp: Stamp,
    ) -> Result<Vec<ReviewEvent>, ReviewError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &ReviewEvent) {
        evolve::evolve(self, event);
    }
}

impl Review {
    pub fn body(&self) -> Option<&Body> {
        match self {
            Self::Open(body) => Some(body),
            Self::Absent => None,
        }
    }

    /// As it is once everything has ended that ends by time or with `dead_claim`.
    #[must_use]
    pub fn settled(&self, dead_claim: Option<DeadClaim>, stamp: Stamp) -> Self {
        let mut settled = self.clone();
        let command = ReviewCommand::Settle { dead_claim };
        for event in settled.decide(&command, stamp).unwrap_or_default() {
            settled.evolve(&event);
        }
        settled
    }
}

impl Claim {
    /// What it rests on.
    pub fn of_credential(&self) -> DeadClaim {
        DeadClaim {
            claim: self.id,
            credential: self.credential,
        }
    }
}

impl Body {
    pub fn version(&self) -> u64 {
        self.run.version()
    }

    pub fn state(&self) -> ReviewState {
        match &self.run {
            Run::Ended { ending, .. } => match ending {
                Ending::Completed { .. } => ReviewState::Completed,
                Ending::Cancelled { .. } => ReviewState::Cancelled,
                Ending::Failed | Ending::Expired { .. } | Ending::BudgetExhausted => {
                    ReviewState::Failed
                }
            },
            Run::Absent | Run::Waiting { .. } | Run::Running { .. } => {
                if self.claim.is_some() {
                    ReviewState::Claimed
                } else if self.steps.iter().all(|step| step.is_done) {
                    ReviewState::AwaitingGate
                } else {
                    ReviewState::Open
                }
            }
        }
    }

    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// The gate that is open or will be the next to open, counted from 1.
    pub fn gate(&self) -> u32 {
        self.decision.as_ref().map_or(0, |decision| decision.gate) + 1
    }

    /// When the review changes by itself next.
    pub fn due(&self) -> Option<Timestamp> {
        if self.state().is_closed() {
            return None;
        }
        let ends = self.run.body().map(|body| body.expires_at);
        let lease = self.claim.map(|claim| claim.lease_expires_at);
        ends.into_iter().chain(lease).min()
    }
}
