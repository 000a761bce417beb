//! A workspace: its members, its projects and the repositories they may be about.
//!
//! What must stay true: a workspace always has an owner; a project and an invitation keep their id
//! for good; a project is linked only to a repository that is connected and was opened to it; an
//! archived project takes no more commands; every list is bounded. Names and addresses are sealed, so a
//! fold without the key still knows every member, role, version and link.
//!
//! Deliberately absent: which role may do what (policy of the use cases), briefs and tokens
//! (streams of their own), and any credential of a repository.

pub mod command;
pub mod error;
pub mod event;

mod decide;
mod evolve;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::access::author::{Author, Maker};
use crate::decider::Decider;
use crate::ids::{AccountId, InviteId, ProjectId, RepositoryId};
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::{Role, WorkspaceCommand};
use error::WorkspaceError;
use event::WorkspaceEvent;

pub const MEMBERS_LIMIT: usize = 200;
/// Invitations that can still be accepted.
pub const INVITES_LIMIT: usize = 200;
/// Archived ones count.
pub const PROJECTS_LIMIT: usize = 200;
pub const REPOSITORIES_LIMIT: usize = 100;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workspace {
    #[default]
    Absent,
    Open(Box<Body>),
    Deleted {
        at: Timestamp,
    },
}

/// What a workspace has while it exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    pub name: Sealed<String>,
    pub members: BTreeMap<AccountId, Member>,
    /// Those neither accepted nor withdrawn. Some may have expired: see [`Body::live_invite`].
    pub invites: BTreeMap<InviteId, Invite>,
    pub projects: BTreeMap<ProjectId, Project>,
    pub repositories: BTreeMap<RepositoryId, Repository>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub role: Role,
    pub joined_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invite {
    pub email: Sealed<String>,
    pub role: Role,
    pub by: Maker,
    pub at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub name: Sealed<String>,
    /// Empty when there is none.
    pub description: Sealed<String>,
    /// Counted from 1; every change of the project adds one.
    pub version: u64,
    pub state: ProjectState,
    pub codebase: Option<RepositoryId>,
    pub author: Author,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProjectState {
    Active,
    /// Read and nothing else.
    Archived {
        at: Timestamp,
    },
}

impl ProjectState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Archived { .. } => "archived",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    pub name: Sealed<String>,
    pub url: Sealed<String>,
    /// Those it was opened to.
    pub projects: BTreeSet<ProjectId>,
    pub by: AccountId,
    pub at: Timestamp,
}

impl Decider for Workspace {
    const KIND: &'static str = "workspace";
    type Command = WorkspaceCommand;
    type Event = WorkspaceEvent;
    type Error = WorkspaceError;

    fn decide(
        &self,
        command: &WorkspaceCommand,
        stamp: Stamp,
    ) -> Result<Vec<WorkspaceEvent>, WorkspaceError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &WorkspaceEvent) {
        evolve::evolve(self, event);
    }
}

impl Workspace {
    /// What an open workspace has.
    pub fn body(&self) -> Option<&Body> {
        match self {
            Self::Open(body) => Some(body),
            Self::Absent | Self::Deleted { .. } => None,
        }
    }
}

impl Body {
    /// The role of a member.
    pub fn role(&self, account: AccountId) -> Option<Role> {
        self.members.get(&account).map(|member| member.role)
    }

    pub fn owners(&self) -> impl Iterator<Item = AccountId> {
        self.members
            .iter()
            .filter(|(_, member)| member.role == Role::Owner)
            .map(|(account, _)| *account)
    }

    /// An invitation that can be accepted at `at`.
    pub fn live_invite(&self, invite: InviteId, at: Timestamp) -> Option<&Invite> {
        self.invites
            .get(&invite)
            .filter(|invite| invite.expires_at > at)
    }

    /// The repositories that were opened to a project.
    pub fn linkable(&self, project: ProjectId) -> impl Iterator<Item = RepositoryId> {
        self.repositories
            .iter()
            .filter(move |(_, repository)| repository.projects.contains(&project))
            .map(|(id, _)| *id)
    }
}
