//! The things of a workspace as they are answered (`access` 6.2).

use helix_aggregates::access::author::Author;
use helix_aggregates::access::brief::{self, Brief, Proposal, ProposalState};
use helix_aggregates::access::workspace::{Body, Project};
use helix_aggregates::ids::{BriefId, ProjectId, ProposalId, RepositoryId, WorkspaceId};
use helix_aggregates::sealed::Sealed;
use helix_aggregates::time::Timestamp;
use helix_projections::access::brief::BriefRow;
use helix_projections::agent::ERASED;
use serde_json::{Value, json};

use super::site::nothing;
use crate::app::problem::Problem;

/// A text that may be erased.
pub(super) fn text(sealed: &Sealed<String>) -> &str {
    sealed.open().map_or(ERASED, String::as_str)
}

pub(super) fn author(author: Author) -> Value {
    match author {
        Author::Account(id) => json!({ "kind": "human", "id": id }),
        Author::Grant(id) => json!({ "kind": "app", "id": id }),
        Author::Token(id) => json!({ "kind": "named_token", "id": id }),
    }
}

pub(super) fn workspace(id: WorkspaceId, body: &Body) -> Value {
    json!({
        "workspace_id": id,
        "name": text(&body.name),
        "created_at": body.created_at,
    })
}

pub(super) fn project(id: ProjectId, body: &Body) -> Option<Value> {
    let project = body.projects.get(&id)?;
    let linkable: Vec<Value> = body
        .linkable(id)
        .filter_map(|repository| self::repository(repository, body))
        .collect();
    Some(json!({
        "project_id": id,
        "name": text(&project.name),
        "description": description(project),
        "version": project.version,
        "state": project.state.as_str(),
        "author": author(project.author),
        "linked_repository": project.codebase.and_then(|id| repository(id, body)),
        "linkable_repositories": linkable,
        "created_at": project.created_at,
        "updated_at": project.updated_at,
    }))
}

fn description(project: &Project) -> &str {
    text(&project.description)
}

/// What a project may know of a repository: not which other projects it was opened to.
fn repository(id: RepositoryId, body: &Body) -> Option<Value> {
    let known = body.repositories.get(&id)?;
    Some(json!({
        "repository_id": id,
        "name": text(&known.name),
        "url": text(&known.url),
    }))
}

/// Invitations that can be accepted at `at`.
pub(super) fn invites(body: &Body, at: Timestamp) -> Vec<Value> {
    let live = body
        .invites
        .iter()
        .filter(|(_, invite)| invite.expires_at > at);
    live.map(|(id, invite)| {
        json!({
            "invite_id": id,
            "email": text(&invite.email),
            "role": invite.role.as_str(),
            "created_at": invite.at,
            "expires_at": invite.expires_at,
        })
    })
    .collect()
}

pub(super) fn brief(row: &BriefRow) -> Value {
    json!({
        "brief_id": row.brief_id,
        "project_id": row.project_id,
        "title": row.title,
        "version": row.version,
        "content_sha256": row.content_sha256,
        "open_proposals": row.open_proposals,
        "author": author(row.author),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    })
}

pub(super) fn brief_of(state: &Brief, id: BriefId) -> Result<Value, Problem> {
    let row = BriefRow::of(state, id);
    row.map(|row| brief(&row)).ok_or_else(nothing)
}

/// The word of a proposal's state. What was made for an older text waits, approved or not.
pub(super) fn state(body: &brief::Body, proposal: &Proposal) -> &'static str {
    if body.is_stale(proposal) {
        "stale"
    } else {
        proposal.state.as_str()
    }
}

pub(super) fn proposal_of(state: &Brief, brief: BriefId, id: ProposalId) -> Result<Value, Problem> {
    let body = state.body().ok_or_else(nothing)?;
    let proposal = body.proposals.get(&id).ok_or_else(nothing)?;
    let mut seen = json!({
        "proposal_id": id,
        "brief_id": brief,
        "project_id": body.project,
        "base_version": proposal.base_version,
        "summary": text(&proposal.summary),
        "content_sha256": text(&proposal.content_sha256),
        "version": proposal.version,
        "state": self::state(body, proposal),
        "author": author(proposal.author),
        "created_at": proposal.at,
        "updated_at": proposal.updated_at,
    });
    match &proposal.state {
        ProposalState::Open | ProposalState::Withdrawn => {}
        ProposalState::Approved(decided) => seen["decision"] = decision("approve", decided),
        ProposalState::Rejected(decided) => seen["decision"] = decision("reject", decided),
        ProposalState::Committed { brief_version, by } => {
            seen["committed"] = json!({ "brief_version": brief_version, "by": by });
        }
    }
    Ok(seen)
}

fn decision(word: &str, decided: &brief::Decided) -> Value {
    json!({
        "decision": word,
        "by": decided.by,
        "reason": decided.reason.as_ref().map(text),
    })
}
