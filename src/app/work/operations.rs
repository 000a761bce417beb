//! Every operation of the workspace door: one row each, from which router, policy, tools and tests are
//! made (`access` 6.2, 9).
//!
//! What must stay true: an operation without a row does not exist; a row says all scopes of its
//! operation, and whether only a person may do it.

mod rows;
mod table;

use helix_aggregates::access::workspace::command::Role;

use super::arguments::Field;
use crate::store::append::Priority;

pub use table::OPERATIONS;

/// Where the door is.
pub const ROOT: &str = "/api/v1/workspaces";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    WorkspaceList,
    WorkspaceGet,
    ProjectList,
    ProjectCreate,
    CodebaseLink,
    BriefList,
    BriefGet,
    BriefCreate,
    BriefEdit,
    BriefRevert,
    ProposalList,
    ProposalCreate,
    ProposalWithdraw,
    ProposalDecide,
    ProposalCommit,
    ProposalRebase,
    ReviewStart,
    ReviewList,
    ReviewGet,
    ReviewCancel,
    StepClaim,
    StepSubmit,
    StepRelease,
    ReviewDecide,
    MemberList,
    MemberInvite,
    MemberChange,
    MemberRemove,
    InviteAccept,
    InviteWithdraw,
    RepositoryList,
    RepositoryConnect,
    RepositoryDisconnect,
    TokenList,
    TokenCreate,
    TokenRotate,
    TokenRevoke,
    ConnectionList,
    ConnectionRevoke,
    RecordRead,
    /// Nothing is behind it yet: agents learn that it is a person's, people that it is to come.
    Unbuilt,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    pub op: Op,
    /// The tool's name, or that of what only a person may do.
    pub name: &'static str,
    pub face: Face,
    pub method: &'static str,
    pub path: &'static str,
    /// All of them, the floor included.
    pub scopes: &'static [&'static str],
    pub who: Who,
    pub keyed: Keyed,
    /// Of a success.
    pub status: u16,
    pub demand: Haste,
    /// Besides the workspace.
    pub fields: &'static [Field],
}

/// At which doors an operation is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// A tool as well as a route.
    Tool,
    Route,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Agents with the scopes, and members.
    Anybody,
    /// Agents with the scopes, and no person.
    Agent,
    /// Members, whatever their role.
    Human,
    /// Members of these roles.
    Roles(&'static [Role]),
    Unbuilt,
}

impl Who {
    pub fn is_human_only(self) -> bool {
        match self {
            Self::Anybody | Self::Agent => false,
            Self::Human | Self::Roles(_) | Self::Unbuilt => true,
        }
    }
}

/// Whether a mutation takes an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyed {
    Yes,
    No,
}

/// Whether something is taken back, which must work while everything else is full (`access` 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    Ordinary,
    Withdrawal,
}

impl Haste {
    pub fn priority(self) -> Priority {
        match self {
            Self::Ordinary => Priority::Ordinary,
            Self::Withdrawal => Priority::Withdrawal,
        }
    }
}

/// The row of a name.
pub fn named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|one| one.name == name)
}

/// The row of a route, by its pattern.
pub fn of_route(method: &str, path: &str) -> Option<&'static Operation> {
    OPERATIONS
        .iter()
        .find(|one| one.method == method && one.path == path)
}
