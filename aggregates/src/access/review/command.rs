//! What may be asked of a review.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::finding::NewFinding;
use crate::access::author::Author;
use crate::ids::{
    AccountId, BriefId, ClaimId, OperationId, OwnerTuple, ProjectId, StepId, WorkspaceId,
};
use crate::text::Text;

#[derive(Debug, Clone)]
pub enum ReviewCommand {
    Start(Box<NewReview>),
    Act(Box<ReviewAct>),
    /// Ends what has ended by time, and a claim that is dead.
    Settle {
        dead_claim: Option<DeadClaim>,
    },
}

#[derive(Debug, Clone)]
pub struct NewReview {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub brief: BriefId,
    pub brief_version: u64,
    pub title: String,
    pub author: Author,
    /// Of the run: the workspace itself.
    pub owner: OwnerTuple,
    pub objective: Text<20_000>,
    pub constraints: Vec<String>,
    pub expires_in: Duration,
    /// 1 to [`super::STEPS_LIMIT`].
    pub steps: Vec<NewStep>,
}

#[derive(Debug, Clone)]
pub struct NewStep {
    pub id: StepId,
    pub title: String,
}

/// One act on a review at a version its author has seen.
#[derive(Debug, Clone)]
pub struct ReviewAct {
    pub expected_version: u64,
    /// It is lost before the act is judged.
    pub dead_claim: Option<DeadClaim>,
    pub act: Act,
}

/// A claim whose credential is known to be dead. Whoever extended the claim with another has not lost it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadClaim {
    pub claim: ClaimId,
    pub credential: Uuid,
}

#[derive(Debug, Clone)]
pub enum Act {
    Claim(ClaimStep),
    Submit {
        claim: ClaimId,
        by: Author,
        findings: Vec<NewFinding>,
        finality: Finality,
    },
    Release {
        claim: ClaimId,
        by: Author,
    },
    /// One's own review only.
    Cancel {
        by: Author,
        reason: Option<Text<1000>>,
    },
    /// A person's decision at the open gate.
    Decide(Decide),
}

#[derive(Debug, Clone)]
pub struct ClaimStep {
    pub claim: ClaimId,
    pub operation: OperationId,
    /// `None`: the first that is open.
    pub step: Option<StepId>,
    /// 30 to 900 seconds.
    pub lease: Duration,
    pub by: Author,
    pub credential: Uuid,
}

#[derive(Debug, Clone)]
pub struct Decide {
    pub verdict: Verdict,
    pub reason: Option<Text<1000>>,
    pub by: AccountId,
    pub operation: OperationId,
    pub credential: Uuid,
}

/// Whether a submission ends its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finality {
    More,
    Final,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approve,
    Reject,
}

impl Verdict {
    /// The verdict a word on the wire names (settled question 39).
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "approve" => Some(Self::Approve),
            "reject" => Some(Self::Reject),
            _ => None,
        }
    }

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
        }
    }
}
