//! What may be asked of a brief.

use super::markdown::Markdown;
use crate::access::author::Author;
use crate::ids::{AccountId, ProjectId, ProposalId, WorkspaceId};
use crate::text::Text;

#[derive(Debug, Clone)]
pub enum BriefCommand {
    Create(Box<NewBrief>),
    Propose {
        new: Box<NewProposal>,
        author: Author,
        expected_version: u64,
    },
    /// Proposes and commits in one act (settled question 42).
    Edit {
        new: Box<NewProposal>,
        by: AccountId,
        expected_version: u64,
    },
    ChangeProposal(Box<ProposalChange>),
    /// Makes a new version that says what an earlier one said.
    Revert {
        to_version: u64,
        reason: Option<Text<1000>>,
        by: AccountId,
        expected_version: u64,
    },
}

/// One act on one proposal at a version its author has seen.
#[derive(Debug, Clone)]
pub struct ProposalChange {
    pub proposal: ProposalId,
    pub expected_version: u64,
    pub act: Act,
}

#[derive(Debug, Clone)]
pub enum Act {
    /// One's own proposal only.
    Withdraw { by: Author },
    Decide {
        verdict: Verdict,
        reason: Option<Text<1000>>,
        by: AccountId,
    },
    /// Makes an approved text bind.
    Commit { by: AccountId },
    /// Fits a stale proposal to the version in force; an approval stands.
    Rebase { body: Markdown, by: AccountId },
}

#[derive(Debug, Clone)]
pub struct NewBrief {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub title: Text<200>,
    pub author: Author,
    /// Agents commit no text: what they bring along is only proposed.
    pub first: Option<NewProposal>,
}

#[derive(Debug, Clone)]
pub struct NewProposal {
    pub proposal: ProposalId,
    /// The whole text that is to replace the present one.
    pub body: Markdown,
    pub summary: Text<500>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}
