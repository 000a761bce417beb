//! The events of a brief, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use crate::access::author::Author;
use crate::decider::WireEvent;
use crate::ids::{AccountId, ProjectId, ProposalId, WorkspaceId};
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BriefEvent {
    #[serde(rename = "brief_created")]
    Created(Box<BriefCreated>),
    #[serde(rename = "brief_proposal_made")]
    ProposalMade(Box<ProposalMade>),
    #[serde(rename = "brief_proposal_withdrawn")]
    ProposalWithdrawn(ProposalWithdrawn),
    #[serde(rename = "brief_proposal_approved")]
    ProposalApproved(ProposalDecided),
    #[serde(rename = "brief_proposal_rejected")]
    ProposalRejected(ProposalDecided),
    #[serde(rename = "brief_proposal_rebased")]
    ProposalRebased(Box<ProposalRebased>),
    #[serde(rename = "brief_proposal_committed")]
    ProposalCommitted(ProposalCommitted),
    #[serde(rename = "brief_reverted")]
    Reverted(BriefReverted),
}

impl WireEvent for BriefEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Created(_) => "brief_created",
            Self::ProposalMade(_) => "brief_proposal_made",
            Self::ProposalWithdrawn(_) => "brief_proposal_withdrawn",
            Self::ProposalApproved(_) => "brief_proposal_approved",
            Self::ProposalRejected(_) => "brief_proposal_rejected",
            Self::ProposalRebased(_) => "brief_proposal_rebased",
            Self::ProposalCommitted(_) => "brief_proposal_committed",
            Self::Reverted(_) => "brief_reverted",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

impl BriefEvent {
    /// The text that this event holds, if it is one that holds a text.
    pub fn text(&self) -> Option<&Sealed<String>> {
        match self {
            Self::ProposalMade(made) => Some(&made.body),
            Self::ProposalRebased(rebased) => Some(&rebased.body),
            Self::Created(_)
            | Self::ProposalWithdrawn(_)
            | Self::ProposalApproved(_)
            | Self::ProposalRejected(_)
            | Self::ProposalCommitted(_)
            | Self::Reverted(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefCreated {
    pub at: Timestamp,
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub title: Sealed<String>,
    pub author: Author,
}

/// A proposal begins at version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalMade {
    pub at: Timestamp,
    pub proposal: ProposalId,
    pub base_version: u64,
    pub body: Sealed<String>,
    /// Sealed too: the hash of a short text gives it away.
    pub content_sha256: Sealed<String>,
    pub summary: Sealed<String>,
    pub author: Author,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalWithdrawn {
    pub at: Timestamp,
    pub proposal: ProposalId,
    /// The proposal's version by this event, as in the events that follow.
    pub version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalDecided {
    pub at: Timestamp,
    pub proposal: ProposalId,
    pub version: u64,
    pub by: AccountId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Sealed<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalRebased {
    pub at: Timestamp,
    pub proposal: ProposalId,
    pub version: u64,
    pub base_version: u64,
    pub body: Sealed<String>,
    pub content_sha256: Sealed<String>,
    pub by: AccountId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalCommitted {
    pub at: Timestamp,
    pub proposal: ProposalId,
    pub version: u64,
    /// The version of the brief that the text has become.
    pub brief_version: u64,
    pub by: AccountId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefReverted {
    pub at: Timestamp,
    /// The new version of the brief.
    pub brief_version: u64,
    /// The earlier one whose text it has.
    pub to_version: u64,
    pub by: AccountId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Sealed<String>>,
}
