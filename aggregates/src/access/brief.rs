//! A brief: the text people and agents work by, its versions, and what is proposed for it.
//!
//! What must stay true: text binds only when a person commits it; versions are counted from 1, are
//! never changed and never lost (0 is a brief without text); a proposal that was made for an older
//! version waits until a person rebases it; a closed proposal stays closed. Titles, texts and the
//! hashes of texts are sealed, so a fold without the key still knows every version and state.
//!
//! Deliberately absent: the texts. They stay in their events and the state knows the place of
//! each, so that a brief of many versions is small in memory; no decision reads a text. Absent too:
//! who may do what, and whether the project is archived.

pub mod command;
pub mod error;
pub mod event;
pub mod markdown;

mod decide;
mod evolve;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::access::author::Author;
use crate::decider::Decider;
use crate::ids::{AccountId, ProjectId, ProposalId, WorkspaceId};
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::BriefCommand;
use error::BriefError;
use event::BriefEvent;

/// Proposals that wait for a decision or a commit (`access` 6.1).
pub const OPEN_LIMIT: usize = 20;
/// Proposals ever made for one brief, those of edits included.
pub const PROPOSALS_LIMIT: usize = 5_000;
pub const VERSIONS_LIMIT: usize = 5_000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Brief {
    #[default]
    Absent,
    Open(Box<Body>),
}

/// What a brief has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    pub workspace: WorkspaceId,
    pub project: ProjectId,
    pub title: Sealed<String>,
    pub author: Author,
    /// The first is version 1.
    pub versions: Vec<Version>,
    pub proposals: BTreeMap<ProposalId, Proposal>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Events folded so far: the place of the latest.
    pub seq: u64,
}

/// Text that binds, or once did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub content_sha256: Sealed<String>,
    /// Who wrote the text.
    pub author: Author,
    /// Who made it bind.
    pub by: AccountId,
    pub at: Timestamp,
    pub origin: Origin,
    /// The place in the stream, counted from 1, of the event that holds the text.
    pub text_at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    Proposal(ProposalId),
    /// It says what an earlier version said.
    Revert {
        to_version: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The version of the brief that the text is meant to replace.
    pub base_version: u64,
    pub summary: Sealed<String>,
    pub content_sha256: Sealed<String>,
    /// Counted from 1; every event of the proposal adds one.
    pub version: u64,
    pub author: Author,
    pub state: ProposalState,
    pub at: Timestamp,
    pub updated_at: Timestamp,
    /// The place in the stream, counted from 1, of the event that holds the text.
    pub text_at: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProposalState {
    Open,
    Approved(Decided),
    Rejected(Decided),
    Withdrawn,
    Committed { brief_version: u64, by: AccountId },
}

/// A person's word on a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub by: AccountId,
    pub reason: Option<Sealed<String>>,
}

impl ProposalState {
    /// The word on the wire.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved(_) => "approved",
            Self::Rejected(_) => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Committed { .. } => "committed",
        }
    }

    /// Whether something can still become of the proposal.
    pub fn is_pending(&self) -> bool {
        match self {
            Self::Open | Self::Approved(_) => true,
            Self::Rejected(_) | Self::Withdrawn | Self::Committed { .. } => false,
        }
    }
}

impl Decider for Brief {
    const KIND: &'static str = "brief";
    type Command = BriefCommand;
    type Event = BriefEvent;
    type Error = BriefError;

    fn decide(&self, command: &BriefCommand, stamp: Stamp) -> Result<Vec<BriefEvent>, BriefError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &BriefEvent) {
        evolve::evolve(self, event);
    }
}

impl Brief {
    pub fn body(&self) -> Option<&Body> {
        match self {
            Self::Open(body) => Some(body),
            Self::Absent => None,
        }
    }
}

impl Body {
    /// The version in force; 0 while there is no text.
    pub fn version(&self) -> u64 {
        // `usize` has at most 64 bits.
        u64::try_from(self.versions.len()).unwrap_or(u64::MAX)
    }

    /// A version by its number.
    pub fn at_version(&self, number: u64) -> Option<&Version> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.versions.get(index)
    }

    /// Whether a pending proposal was made for a version that is no longer in force.
    pub fn is_stale(&self, proposal: &Proposal) -> bool {
        proposal.state.is_pending() && proposal.base_version < self.version()
    }
}
