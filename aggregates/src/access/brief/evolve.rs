//! What each event changes about a brief.

use std::collections::BTreeMap;

use super::event::{
    BriefCreated, BriefEvent, BriefReverted, ProposalCommitted, ProposalDecided, ProposalMade,
    ProposalRebased,
};
use super::{Body, Brief, Decided, Origin, Proposal, ProposalState, Version};
use crate::ids::ProposalId;
use crate::time::Timestamp;

pub(super) fn evolve(brief: &mut Brief, event: &BriefEvent) {
    match (&mut *brief, event) {
        (_, BriefEvent::Created(created)) => *brief = Brief::Open(Box::new(body(created))),
        (Brief::Open(body), event) => {
            body.seq += 1;
            change(body, event);
        }
        (Brief::Absent, _) => {}
    }
}

fn body(created: &BriefCreated) -> Body {
    Body {
        workspace: created.workspace,
        project: created.project,
        title: created.title.clone(),
        author: created.author,
        versions: Vec::new(),
        proposals: BTreeMap::new(),
        created_at: created.at,
        updated_at: created.at,
        seq: 1,
    }
}

fn change(body: &mut Body, event: &BriefEvent) {
    match event {
        BriefEvent::ProposalMade(made) => proposal_made(body, made),
        BriefEvent::ProposalWithdrawn(withdrawn) => {
            let moved = (withdrawn.proposal, withdrawn.version, withdrawn.at);
            on_proposal(body, moved, |proposal| {
                proposal.state = ProposalState::Withdrawn;
            });
        }
        BriefEvent::ProposalApproved(decided) => {
            proposal_decided(body, decided, ProposalState::Approved);
        }
        BriefEvent::ProposalRejected(decided) => {
            proposal_decided(body, decided, ProposalState::Rejected);
        }
        BriefEvent::ProposalRebased(rebased) => proposal_rebased(body, rebased),
        BriefEvent::ProposalCommitted(committed) => proposal_committed(body, *committed),
        BriefEvent::Reverted(reverted) => brief_reverted(body, reverted),
        // It makes a brief and changes none.
        BriefEvent::Created(_) => {}
    }
}

fn proposal_made(body: &mut Body, made: &ProposalMade) {
    let proposal = Proposal {
        base_version: made.base_version,
        summary: made.summary.clone(),
        content_sha256: made.content_sha256.clone(),
        version: 1,
        author: made.author,
        state: ProposalState::Open,
        at: made.at,
        updated_at: made.at,
        text_at: body.seq,
    };
    body.proposals.insert(made.proposal, proposal);
}

fn on_proposal(
    body: &mut Body,
    (proposal, version, at): (ProposalId, u64, Timestamp),
    change: impl FnOnce(&mut Proposal),
) {
    if let Some(proposal) = body.proposals.get_mut(&proposal) {
        proposal.version = version;
        proposal.updated_at = at;
        change(proposal);
    }
}

fn proposal_decided(
    body: &mut Body,
    decided: &ProposalDecided,
    state: impl FnOnce(Decided) -> ProposalState,
) {
    let moved = (decided.proposal, decided.version, decided.at);
    on_proposal(body, moved, |proposal| {
        proposal.state = state(Decided {
            by: decided.by,
            reason: decided.reason.clone(),
        });
    });
}

fn proposal_rebased(body: &mut Body, rebased: &ProposalRebased) {
    let text_at = body.seq;
    let moved = (rebased.proposal, rebased.version, rebased.at);
    on_proposal(body, moved, |proposal| {
        proposal.base_version = rebased.base_version;
        proposal.content_sha256 = rebased.content_sha256.clone();
        proposal.text_at = text_at;
    });
}

fn proposal_committed(body: &mut Body, committed: ProposalCommitted) {
    let moved = (committed.proposal, committed.version, committed.at);
    let mut version = None;
    on_proposal(body, moved, |proposal| {
        proposal.state = ProposalState::Committed {
            brief_version: committed.brief_version,
            by: committed.by,
        };
        version = Some(Version {
            content_sha256: proposal.content_sha256.clone(),
            author: proposal.author,
            by: committed.by,
            at: committed.at,
            origin: Origin::Proposal(committed.proposal),
            text_at: proposal.text_at,
        });
    });
    body.versions.extend(version);
    body.updated_at = committed.at;
}

fn brief_reverted(body: &mut Body, reverted: &BriefReverted) {
    let version = body.at_version(reverted.to_version).map(|said| Version {
        by: reverted.by,
        at: reverted.at,
        origin: Origin::Revert {
            to_version: reverted.to_version,
        },
        ..said.clone()
    });
    body.versions.extend(version);
    body.updated_at = reverted.at;
}
