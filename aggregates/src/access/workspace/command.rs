//! What may be asked of a workspace.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::access::author::{Author, Maker};
use crate::ids::{AccountId, InviteId, ProjectId, RepositoryId};
use crate::text::Text;

#[derive(Debug, Clone)]
pub enum WorkspaceCommand {
    Open(Box<NewWorkspace>),
    AddMember {
        account: AccountId,
        role: Role,
        by: Maker,
    },
    Invite(Box<NewInvite>),
    AcceptInvite {
        invite: InviteId,
        account: AccountId,
    },
    WithdrawInvite {
        invite: InviteId,
        by: Maker,
    },
    ChangeRole {
        account: AccountId,
        role: Role,
        by: Maker,
    },
    /// By the member's own account it is leaving.
    RemoveMember {
        account: AccountId,
        by: Maker,
    },
    CreateProject(Box<NewProject>),
    ChangeProject(Box<ProjectChange>),
    ConnectRepository(Box<NewRepository>),
    /// Ends every link to it.
    DisconnectRepository {
        repository: RepositoryId,
        by: AccountId,
    },
    Delete {
        by: Maker,
    },
}

#[derive(Debug, Clone)]
pub struct NewWorkspace {
    pub name: Text<120>,
    pub owner: AccountId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Owner,
    Admin,
    Member,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Owner, Self::Admin, Self::Member];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }

    /// The role a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

/// Whoever follows the invitation's link joins with this role.
#[derive(Debug, Clone)]
pub struct NewInvite {
    pub invite: InviteId,
    pub email: Text<320>,
    pub role: Role,
    pub by: Maker,
}

#[derive(Debug, Clone)]
pub struct NewProject {
    pub project: ProjectId,
    pub name: Text<120>,
    pub description: Option<Text<2000>>,
    pub author: Author,
}

/// One change of one project at a version the author has seen.
#[derive(Debug, Clone)]
pub struct ProjectChange {
    pub project: ProjectId,
    pub expected_version: u64,
    pub author: Author,
    pub change: Change,
}

#[derive(Debug, Clone)]
pub enum Change {
    Rename(Text<120>),
    /// Nothing takes the description away.
    Describe(Option<Text<2000>>),
    /// Only to a repository that is connected and was opened to the project.
    LinkCodebase(RepositoryId),
    Archive,
}

#[derive(Debug, Clone)]
pub struct NewRepository {
    pub repository: RepositoryId,
    pub name: Text<120>,
    /// Without any credential (settled question 41).
    pub url: Text<2048>,
    /// Those it is opened to.
    pub projects: BTreeSet<ProjectId>,
    pub by: AccountId,
}
