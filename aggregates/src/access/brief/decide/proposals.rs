//! Proposals: made, withdrawn, decided, rebased and committed.

use super::super::command::{Act, NewProposal, ProposalChange, Verdict};
use super::super::error::BriefError;
use super::super::event::{
    BriefEvent, ProposalCommitted, ProposalDecided, ProposalRebased, ProposalWithdrawn,
};
use super::super::markdown::Markdown;
use super::super::{Body, OPEN_LIMIT, PROPOSALS_LIMIT, Proposal, ProposalState, VERSIONS_LIMIT};
use super::{made, require, room, sealed};
use crate::access::author::Author;
use crate::ids::{AccountId, ProposalId};
use crate::sealed::Sealed;
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

pub(super) fn propose(
    body: &Body,
    new: &NewProposal,
    author: Author,
    stamp: Stamp,
) -> Result<Vec<BriefEvent>, BriefError> {
    admit(body, new)?;
    let waiting = body.proposals.values();
    let waiting = waiting.filter(|proposal| proposal.state.is_pending());
    room("open proposals", waiting.count(), OPEN_LIMIT)?;
    Ok(vec![made(new, body.version(), author, stamp)])
}

/// Takes no place among the open ones: it is committed as soon as it is made.
pub(super) fn edit(
    body: &Body,
    new: &NewProposal,
    by: AccountId,
    stamp: Stamp,
) -> Result<Vec<BriefEvent>, BriefError> {
    admit(body, new)?;
    room("versions", body.versions.len(), VERSIONS_LIMIT)?;
    let committed = ProposalCommitted {
        at: stamp.at,
        proposal: new.proposal,
        version: 2,
        brief_version: body.version() + 1,
        by,
    };
    Ok(vec![
        made(new, body.version(), Author::Account(by), stamp),
        BriefEvent::ProposalCommitted(committed),
    ])
}

fn admit(body: &Body, new: &NewProposal) -> Result<(), BriefError> {
    if body.proposals.contains_key(&new.proposal) {
        return Err(BriefError::ProposalExists);
    }
    room("proposals", body.proposals.len(), PROPOSALS_LIMIT)
}

/// The proposal a command is about, at the version its author has seen.
struct Found<'a> {
    body: &'a Body,
    known: &'a Proposal,
    proposal: ProposalId,
    at: Timestamp,
}

pub(super) fn change(
    body: &Body,
    wanted: &ProposalChange,
    stamp: Stamp,
) -> Result<Vec<BriefEvent>, BriefError> {
    let known = body.proposals.get(&wanted.proposal);
    let known = known.ok_or(BriefError::NoProposal)?;
    require(wanted.expected_version, known.version)?;
    let found = Found {
        body,
        known,
        proposal: wanted.proposal,
        at: stamp.at,
    };
    let event = match &wanted.act {
        Act::Withdraw { by } => found.withdraw(*by)?,
        Act::Decide {
            verdict: Verdict::Approve,
            reason,
            by,
        } => return found.approve(*by, reason.as_ref()),
        Act::Decide {
            verdict: Verdict::Reject,
            reason,
            by,
        } => found.reject(*by, reason.as_ref())?,
        Act::Commit { by } => found.commit(*by)?,
        Act::Rebase { body: text, by } => found.rebase(text, *by)?,
    };
    Ok(vec![event])
}

impl Found<'_> {
    fn next_version(&self) -> u64 {
        self.known.version + 1
    }

    fn pending(&self) -> Result<(), BriefError> {
        if self.known.state.is_pending() {
            Ok(())
        } else {
            Err(BriefError::ProposalClosed)
        }
    }

    fn withdraw(&self, by: Author) -> Result<BriefEvent, BriefError> {
        if self.known.author != by {
            return Err(BriefError::NotYours);
        }
        self.pending()?;
        Ok(BriefEvent::ProposalWithdrawn(ProposalWithdrawn {
            at: self.at,
            proposal: self.proposal,
            version: self.next_version(),
        }))
    }

    fn approve(
        &self,
        by: AccountId,
        reason: Option<&Text<1000>>,
    ) -> Result<Vec<BriefEvent>, BriefError> {
        self.pending()?;
        if matches!(self.known.state, ProposalState::Approved(_)) {
            return Ok(Vec::new());
        }
        let decided = self.decided(by, reason);
        Ok(vec![BriefEvent::ProposalApproved(decided)])
    }

    /// Also what was approved, as long as it is not committed.
    fn reject(&self, by: AccountId, reason: Option<&Text<1000>>) -> Result<BriefEvent, BriefError> {
        self.pending()?;
        let decided = self.decided(by, reason);
        Ok(BriefEvent::ProposalRejected(decided))
    }

    fn decided(&self, by: AccountId, reason: Option<&Text<1000>>) -> ProposalDecided {
        ProposalDecided {
            at: self.at,
            proposal: self.proposal,
            version: self.next_version(),
            by,
            reason: reason.map(sealed),
        }
    }

    fn commit(&self, by: AccountId) -> Result<BriefEvent, BriefError> {
        self.pending()?;
        if self.known.state == ProposalState::Open {
            return Err(BriefError::NotApproved);
        }
        let current = self.body.version();
        if self.body.is_stale(self.known) {
            let base = self.known.base_version;
            return Err(BriefError::Stale { base, current });
        }
        room("versions", self.body.versions.len(), VERSIONS_LIMIT)?;
        Ok(BriefEvent::ProposalCommitted(ProposalCommitted {
            at: self.at,
            proposal: self.proposal,
            version: self.next_version(),
            brief_version: current + 1,
            by,
        }))
    }

    fn rebase(&self, text: &Markdown, by: AccountId) -> Result<BriefEvent, BriefError> {
        self.pending()?;
        if !self.body.is_stale(self.known) {
            return Err(BriefError::NotStale);
        }
        Ok(BriefEvent::ProposalRebased(Box::new(ProposalRebased {
            at: self.at,
            proposal: self.proposal,
            version: self.next_version(),
            base_version: self.body.version(),
            body: Sealed::Open(text.as_str().to_owned()),
            content_sha256: Sealed::Open(text.sha256()),
            by,
        })))
    }
}
