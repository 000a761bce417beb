//! Why a workspace refuses a command. The public codes are those of `access` 6.2.

/// A refusal; the workspace is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    #[error("the workspace does not exist")]
    NotFound,
    #[error("the workspace is open already")]
    AlreadyOpen,
    #[error("the workspace has been deleted")]
    Deleted,
    #[error("the account is no member")]
    NoMember,
    #[error("the account is a member already")]
    AlreadyMember,
    #[error("a workspace needs an owner, and this is the last one")]
    LastOwner,
    /// Accepted, withdrawn, expired or never made.
    #[error("the invitation cannot be accepted")]
    NoInvite,
    #[error("the invitation has been made already")]
    InviteExists,
    #[error("the project does not exist")]
    NoProject,
    #[error("the project exists already")]
    ProjectExists,
    #[error("the project is archived")]
    ProjectArchived,
    #[error("the project is at version {current}")]
    VersionConflict { current: u64 },
    /// Unknown, or not opened to the project: the two answer alike (settled question 47).
    #[error("the repository is not connected to the project")]
    RepositoryNotConnected,
    #[error("the repository does not exist")]
    NoRepository,
    #[error("the repository has been connected already")]
    RepositoryExists,
    #[error("the url of the repository contains a credential")]
    CredentialInUrl,
    #[error("a workspace has at most {limit} {what}")]
    LimitReached { what: &'static str, limit: usize },
    #[error("{field} contains a control character")]
    Control { field: &'static str },
}
