//! The events of a workspace, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use super::command::Role;
use crate::access::author::{Author, Maker};
use crate::decider::WireEvent;
use crate::ids::{AccountId, InviteId, ProjectId, RepositoryId};
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkspaceEvent {
    #[serde(rename = "workspace_opened")]
    Opened(WorkspaceOpened),
    #[serde(rename = "workspace_member_added")]
    MemberAdded(MemberAdded),
    #[serde(rename = "workspace_member_invited")]
    MemberInvited(Box<MemberInvited>),
    #[serde(rename = "workspace_invite_accepted")]
    InviteAccepted(InviteAccepted),
    #[serde(rename = "workspace_invite_withdrawn")]
    InviteWithdrawn(InviteWithdrawn),
    #[serde(rename = "workspace_role_changed")]
    RoleChanged(RoleChanged),
    #[serde(rename = "workspace_member_left")]
    MemberLeft(MemberLeft),
    #[serde(rename = "workspace_member_removed")]
    MemberRemoved(MemberRemoved),
    #[serde(rename = "project_created")]
    ProjectCreated(Box<ProjectCreated>),
    #[serde(rename = "project_renamed")]
    ProjectRenamed(ProjectRenamed),
    #[serde(rename = "project_described")]
    ProjectDescribed(ProjectDescribed),
    #[serde(rename = "project_codebase_linked")]
    CodebaseLinked(CodebaseLinked),
    #[serde(rename = "project_archived")]
    ProjectArchived(ProjectArchived),
    #[serde(rename = "repository_connected")]
    RepositoryConnected(Box<RepositoryConnected>),
    #[serde(rename = "repository_disconnected")]
    RepositoryDisconnected(RepositoryDisconnected),
    #[serde(rename = "workspace_deleted")]
    Deleted(WorkspaceDeleted),
}

impl WireEvent for WorkspaceEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Opened(_) => "workspace_opened",
            Self::MemberAdded(_) => "workspace_member_added",
            Self::MemberInvited(_) => "workspace_member_invited",
            Self::InviteAccepted(_) => "workspace_invite_accepted",
            Self::InviteWithdrawn(_) => "workspace_invite_withdrawn",
            Self::RoleChanged(_) => "workspace_role_changed",
            Self::MemberLeft(_) => "workspace_member_left",
            Self::MemberRemoved(_) => "workspace_member_removed",
            Self::ProjectCreated(_) => "project_created",
            Self::ProjectRenamed(_) => "project_renamed",
            Self::ProjectDescribed(_) => "project_described",
            Self::CodebaseLinked(_) => "project_codebase_linked",
            Self::ProjectArchived(_) => "project_archived",
            Self::RepositoryConnected(_) => "repository_connected",
            Self::RepositoryDisconnected(_) => "repository_disconnected",
            Self::Deleted(_) => "workspace_deleted",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceOpened {
    pub at: Timestamp,
    pub name: Sealed<String>,
    /// Its first member.
    pub owner: AccountId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberAdded {
    pub at: Timestamp,
    pub account: AccountId,
    pub role: Role,
    pub by: Maker,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberInvited {
    pub at: Timestamp,
    pub invite: InviteId,
    pub email: Sealed<String>,
    pub role: Role,
    pub by: Maker,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteAccepted {
    pub at: Timestamp,
    pub invite: InviteId,
    pub account: AccountId,
    /// As the invitation promised.
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteWithdrawn {
    pub at: Timestamp,
    pub invite: InviteId,
    pub by: Maker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleChanged {
    pub at: Timestamp,
    pub account: AccountId,
    pub role: Role,
    pub by: Maker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberLeft {
    pub at: Timestamp,
    pub account: AccountId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRemoved {
    pub at: Timestamp,
    pub account: AccountId,
    pub by: Maker,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCreated {
    pub at: Timestamp,
    pub project: ProjectId,
    pub name: Sealed<String>,
    pub description: Sealed<String>,
    pub author: Author,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRenamed {
    pub at: Timestamp,
    pub project: ProjectId,
    /// The project's version by this change, as in the events that follow.
    pub version: u64,
    pub name: Sealed<String>,
    pub author: Author,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectDescribed {
    pub at: Timestamp,
    pub project: ProjectId,
    pub version: u64,
    pub description: Sealed<String>,
    pub author: Author,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodebaseLinked {
    pub at: Timestamp,
    pub project: ProjectId,
    pub version: u64,
    pub repository: RepositoryId,
    pub author: Author,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectArchived {
    pub at: Timestamp,
    pub project: ProjectId,
    pub version: u64,
    pub author: Author,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryConnected {
    pub at: Timestamp,
    pub repository: RepositoryId,
    pub name: Sealed<String>,
    pub url: Sealed<String>,
    pub projects: Vec<ProjectId>,
    pub by: AccountId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryDisconnected {
    pub at: Timestamp,
    pub repository: RepositoryId,
    /// The projects that were linked to it; each is a version further.
    pub unlinked: Vec<ProjectId>,
    pub by: AccountId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceDeleted {
    pub at: Timestamp,
    pub by: Maker,
}
