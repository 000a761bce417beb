//! The arms of a brief.
//!
//! A stale version is reported before anything else: whoever asked can act on it.

mod proposals;

use super::command::{BriefCommand, NewBrief, NewProposal};
use super::error::BriefError;
use super::event::{BriefCreated, BriefEvent, BriefReverted, ProposalMade};
use super::{Body, Brief, VERSIONS_LIMIT};
use crate::access::author::Author;
use crate::ids::AccountId;
use crate::sealed::Sealed;
use crate::text::{Text, without_controls};
use crate::time::Stamp;

pub(super) fn decide(
    brief: &Brief,
    command: &BriefCommand,
    stamp: Stamp,
) -> Result<Vec<BriefEvent>, BriefError> {
    match (brief, command) {
        (Brief::Absent, BriefCommand::Create(new)) => create(new, stamp),
        (Brief::Open(body), command) => change(body, command, stamp),
        (
            Brief::Absent,
            BriefCommand::Propose { .. }
            | BriefCommand::Edit { .. }
            | BriefCommand::ChangeProposal(_)
            | BriefCommand::Revert { .. },
        ) => Err(BriefError::NotFound),
    }
}

fn change(
    body: &Body,
    command: &BriefCommand,
    stamp: Stamp,
) -> Result<Vec<BriefEvent>, BriefError> {
    match command {
        BriefCommand::Create(_) => Err(BriefError::AlreadyExists),
        BriefCommand::Propose {
            new,
            author,
            expected_version,
        } => {
            require(*expected_version, body.version())?;
            proposals::propose(body, new, *author, stamp)
        }
        BriefCommand::Edit {
            new,
            by,
            expected_version,
        } => {
            require(*expected_version, body.version())?;
            proposals::edit(body, new, *by, stamp)
        }
        BriefCommand::Revert {
            to_version,
            reason,
            by,
            expected_version,
        } => {
            require(*expected_version, body.version())?;
            revert(body, *to_version, (*by, reason.as_ref()), stamp)
        }
        BriefCommand::ChangeProposal(change) => proposals::change(body, change, stamp),
    }
}

fn require(expected: u64, current: u64) -> Result<(), BriefError> {
    if expected == current {
        Ok(())
    } else {
        Err(BriefError::VersionConflict { current })
    }
}

fn create(new: &NewBrief, stamp: Stamp) -> Result<Vec<BriefEvent>, BriefError> {
    let title = without_controls(new.title.as_str());
    let title = title.map_err(|_| BriefError::Control { field: "title" })?;
    let mut events = vec![BriefEvent::Created(Box::new(BriefCreated {
        at: stamp.at,
        workspace: new.workspace,
        project: new.project,
        title: Sealed::Open(title.to_owned()),
        author: new.author,
    }))];
    if let Some(first) = &new.first {
        events.push(made(first, 0, new.author, stamp));
    }
    Ok(events)
}

fn made(new: &NewProposal, base_version: u64, author: Author, stamp: Stamp) -> BriefEvent {
    BriefEvent::ProposalMade(Box::new(ProposalMade {
        at: stamp.at,
        proposal: new.proposal,
        base_version,
        body: Sealed::Open(new.body.as_str().to_owned()),
        content_sha256: Sealed::Open(new.body.sha256()),
        summary: Sealed::Open(new.summary.as_str().to_owned()),
        author,
    }))
}

fn revert(
    body: &Body,
    to_version: u64,
    (by, reason): (AccountId, Option<&Text<1000>>),
    stamp: Stamp,
) -> Result<Vec<BriefEvent>, BriefError> {
    body.at_version(to_version).ok_or(BriefError::NoVersion)?;
    if to_version == body.version() {
        return Err(BriefError::VersionInForce);
    }
    room("versions", body.versions.len(), VERSIONS_LIMIT)?;
    Ok(vec![BriefEvent::Reverted(BriefReverted {
        at: stamp.at,
        brief_version: body.version() + 1,
        to_version,
        by,
        reason: reason.map(sealed),
    })])
}

fn sealed<const MAX: usize>(text: &Text<MAX>) -> Sealed<String> {
    Sealed::Open(text.as_str().to_owned())
}

/// Refuses one more than `limit`.
fn room(what: &'static str, present: usize, limit: usize) -> Result<(), BriefError> {
    if present < limit {
        Ok(())
    } else {
        Err(BriefError::LimitReached { what, limit })
    }
}
