//! The events of a review, in the permanent shape they are stored in: its own, and those of its run.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::command::Verdict;
use super::finding::{FindingKind, Severity};
use crate::access::author::Author;
use crate::agent::run::event::RunEvent;
use crate::decider::WireEvent;
use crate::ids::{AccountId, BriefId, ClaimId, FindingId, ProjectId, StepId, WorkspaceId};
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ReviewEvent {
    #[serde(rename = "review_opened")]
    Opened(Box<ReviewOpened>),
    #[serde(rename = "review_step_claimed")]
    StepClaimed(StepClaimed),
    #[serde(rename = "review_lease_extended")]
    LeaseExtended(LeaseExtended),
    #[serde(rename = "review_findings_submitted")]
    FindingsSubmitted(Box<FindingsSubmitted>),
    #[serde(rename = "review_step_finished")]
    StepFinished(StepFinished),
    #[serde(rename = "review_claim_ended")]
    ClaimEnded(ClaimEnded),
    #[serde(rename = "review_gate_decided")]
    GateDecided(Box<GateDecided>),
    /// Under the name that it has in every run.
    #[serde(untagged)]
    Run(RunEvent),
}

impl WireEvent for ReviewEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Opened(_) => "review_opened",
            Self::StepClaimed(_) => "review_step_claimed",
            Self::LeaseExtended(_) => "review_lease_extended",
            Self::FindingsSubmitted(_) => "review_findings_submitted",
            Self::StepFinished(_) => "review_step_finished",
            Self::ClaimEnded(_) => "review_claim_ended",
            Self::GateDecided(_) => "review_gate_decided",
            Self::Run(event) => event.name(),
        }
    }

    fn version(&self) -> u16 {
        match self {
            Self::Run(event) => event.version(),
            Self::Opened(_)
            | Self::StepClaimed(_)
            | Self::LeaseExtended(_)
            | Self::FindingsSubmitted(_)
            | Self::StepFinished(_)
            | Self::ClaimEnded(_)
            | Self::GateDecided(_) => 1,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewOpened {
    pub at: Timestamp,
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub brief: BriefId,
    pub brief_version: u64,
    /// Of the brief.
    pub title: Sealed<String>,
    pub author: Author,
    pub steps: Vec<OpenedStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedStep {
    pub step: StepId,
    pub title: Sealed<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepClaimed {
    pub at: Timestamp,
    pub claim: ClaimId,
    pub step: StepId,
    pub by: Author,
    pub credential: Uuid,
    pub lease_expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseExtended {
    pub at: Timestamp,
    pub claim: ClaimId,
    pub credential: Uuid,
    pub lease_expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingsSubmitted {
    pub at: Timestamp,
    pub claim: ClaimId,
    pub step: StepId,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub finding: FindingId,
    pub kind: FindingKind,
    pub severity: Severity,
    pub title: Sealed<String>,
    pub detail: Sealed<String>,
    pub refs: Sealed<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFinished {
    pub at: Timestamp,
    pub claim: ClaimId,
    pub step: StepId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimEnded {
    pub at: Timestamp,
    pub claim: ClaimId,
    pub step: StepId,
    pub reason: ClaimEnd,
}

/// Why a claim ended with its step open again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimEnd {
    Released,
    Expired,
    /// The credential behind it died.
    Revoked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateDecided {
    pub at: Timestamp,
    pub gate: u32,
    pub verdict: Verdict,
    pub by: AccountId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Sealed<String>>,
}
