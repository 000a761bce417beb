//! What each event changes about a workspace.

use std::collections::BTreeMap;

use super::command::Role;
use super::event::{
    MemberInvited, ProjectArchived, ProjectCreated, ProjectDescribed, RepositoryConnected,
    RepositoryDisconnected, WorkspaceEvent, WorkspaceOpened,
};
use super::{Body, Invite, Member, Project, ProjectState, Repository, Workspace};
use crate::ids::{AccountId, ProjectId};
use crate::time::Timestamp;

pub(super) fn evolve(workspace: &mut Workspace, event: &WorkspaceEvent) {
    match (&mut *workspace, event) {
        (_, WorkspaceEvent::Opened(opened)) => {
            *workspace = Workspace::Open(Box::new(body(opened)));
        }
        (_, WorkspaceEvent::Deleted(deleted)) => {
            *workspace = Workspace::Deleted { at: deleted.at };
        }
        (Workspace::Open(body), event) => change(body, event),
        (Workspace::Absent | Workspace::Deleted { .. }, _) => {}
    }
}

fn body(opened: &WorkspaceOpened) -> Body {
    let owner = Member {
        role: Role::Owner,
        joined_at: opened.at,
    };
    Body {
        name: opened.name.clone(),
        members: BTreeMap::from([(opened.owner, owner)]),
        invites: BTreeMap::new(),
        projects: BTreeMap::new(),
        repositories: BTreeMap::new(),
        created_at: opened.at,
    }
}

fn change(body: &mut Body, event: &WorkspaceEvent) {
    match event {
        WorkspaceEvent::MemberAdded(added) => join(body, added.account, added.role, added.at),
        WorkspaceEvent::MemberInvited(invited) => member_invited(body, invited),
        WorkspaceEvent::InviteAccepted(accepted) => {
            body.invites.remove(&accepted.invite);
            join(body, accepted.account, accepted.role, accepted.at);
        }
        WorkspaceEvent::InviteWithdrawn(withdrawn) => {
            body.invites.remove(&withdrawn.invite);
        }
        WorkspaceEvent::RoleChanged(changed) => {
            if let Some(member) = body.members.get_mut(&changed.account) {
                member.role = changed.role;
            }
        }
        WorkspaceEvent::MemberLeft(left) => {
            body.members.remove(&left.account);
        }
        WorkspaceEvent::MemberRemoved(removed) => {
            body.members.remove(&removed.account);
        }
        WorkspaceEvent::ProjectCreated(created) => project_created(body, created),
        WorkspaceEvent::ProjectRenamed(renamed) => {
            if let Some(project) = moved(body, renamed.project, renamed.version, renamed.at) {
                project.name = renamed.name.clone();
            }
        }
        WorkspaceEvent::ProjectDescribed(described) => project_described(body, described),
        WorkspaceEvent::CodebaseLinked(linked) => {
            if let Some(project) = moved(body, linked.project, linked.version, linked.at) {
                project.codebase = Some(linked.repository);
            }
        }
        WorkspaceEvent::ProjectArchived(archived) => project_archived(body, *archived),
        WorkspaceEvent::RepositoryConnected(connected) => repository_connected(body, connected),
        WorkspaceEvent::RepositoryDisconnected(disconnected) => {
            repository_disconnected(body, disconnected);
        }
        // These two make or end a workspace and change none.
        WorkspaceEvent::Opened(_) | WorkspaceEvent::Deleted(_) => {}
    }
}

fn join(body: &mut Body, account: AccountId, role: Role, joined_at: Timestamp) {
    body.members.insert(account, Member { role, joined_at });
}

fn member_invited(body: &mut Body, invited: &MemberInvited) {
    // Expired ones end with no event of theirs; here they are forgotten.
    body.invites
        .retain(|_, invite| invite.expires_at > invited.at);
    let invite = Invite {
        email: invited.email.clone(),
        role: invited.role,
        by: invited.by,
        at: invited.at,
        expires_at: invited.expires_at,
    };
    body.invites.insert(invited.invite, invite);
}

fn project_created(body: &mut Body, created: &ProjectCreated) {
    let project = Project {
        name: created.name.clone(),
        description: created.description.clone(),
        version: 1,
        state: ProjectState::Active,
        codebase: None,
        author: created.author,
        created_at: created.at,
        updated_at: created.at,
    };
    body.projects.insert(created.project, project);
}

fn project_described(body: &mut Body, described: &ProjectDescribed) {
    let (project, version) = (described.project, described.version);
    if let Some(project) = moved(body, project, version, described.at) {
        project.description = described.description.clone();
    }
}

fn project_archived(body: &mut Body, archived: ProjectArchived) {
    if let Some(project) = moved(body, archived.project, archived.version, archived.at) {
        project.state = ProjectState::Archived { at: archived.at };
    }
}

/// The project, at the version and time it has been brought to.
fn moved(body: &mut Body, id: ProjectId, version: u64, at: Timestamp) -> Option<&mut Project> {
    let project = body.projects.get_mut(&id)?;
    project.version = version;
    project.updated_at = at;
    Some(project)
}

fn repository_connected(body: &mut Body, connected: &RepositoryConnected) {
    let repository = Repository {
        name: connected.name.clone(),
        url: connected.url.clone(),
        projects: connected.projects.iter().copied().collect(),
        by: connected.by,
        at: connected.at,
    };
    body.repositories.insert(connected.repository, repository);
}

fn repository_disconnected(body: &mut Body, disconnected: &RepositoryDisconnected) {
    body.repositories.remove(&disconnected.repository);
    for unlinked in &disconnected.unlinked {
        if let Some(project) = body.projects.get_mut(unlinked) {
            project.codebase = None;
            project.version += 1;
            project.updated_at = disconnected.at;
        }
    }
}
