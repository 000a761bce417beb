//! The row of the problem table for each refusal of an aggregate of a workspace.

use helix_aggregates::access::brief::error::BriefError;
use helix_aggregates::access::review::error::ReviewError;
use helix_aggregates::access::workspace::error::WorkspaceError;
use serde_json::json;

use crate::app::problem::{Code, Problem};

impl From<WorkspaceError> for Problem {
    fn from(refusal: WorkspaceError) -> Self {
        match refusal {
            WorkspaceError::NotFound
            | WorkspaceError::Deleted
            | WorkspaceError::NoMember
            | WorkspaceError::NoInvite
            | WorkspaceError::NoProject
            | WorkspaceError::NoRepository => Self::new(Code::NothingThere),
            WorkspaceError::AlreadyMember => Self::invalid("The account is a member already."),
            WorkspaceError::LastOwner => {
                Self::invalid("A workspace needs an owner, and this is the last one.")
            }
            WorkspaceError::ProjectArchived => Self::new(Code::ProjectArchived),
            WorkspaceError::VersionConflict { current } => moved_on(current),
            WorkspaceError::RepositoryNotConnected => Self::new(Code::RepositoryNotConnected),
            WorkspaceError::CredentialInUrl => Self::new(Code::CredentialInContent),
            WorkspaceError::LimitReached { what, limit } => full(what, limit),
            WorkspaceError::Control { field } => {
                Self::invalid(format!("{field}: control characters are refused."))
            }
            WorkspaceError::AlreadyOpen
            | WorkspaceError::InviteExists
            | WorkspaceError::ProjectExists
            | WorkspaceError::RepositoryExists => Self::new(Code::Internal).because(refusal),
        }
    }
}

impl From<BriefError> for Problem {
    fn from(refusal: BriefError) -> Self {
        match refusal {
            BriefError::NotFound | BriefError::NoProposal | BriefError::NoVersion => {
                Self::new(Code::NothingThere)
            }
            BriefError::VersionConflict { current } => moved_on(current),
            // The text was written for a version that is no longer in force.
            BriefError::Stale { base, current } => Self {
                message: "The brief has moved on since the proposal; a person has to rebase it."
                    .into(),
                ..Self::new(Code::VersionConflict)
            }
            .with(json!({ "base_version": base, "current_version": current })),
            BriefError::NotYours => Self {
                message: "Another caller made this.".into(),
                ..Self::new(Code::RoleRequired)
            },
            BriefError::ProposalClosed => Self::new(Code::ProposalClosed),
            BriefError::NotApproved => Self::invalid("The proposal is not approved yet."),
            BriefError::NotStale => {
                Self::invalid("The proposal was made for the version in force.")
            }
            BriefError::VersionInForce => Self::invalid("The brief says that already."),
            BriefError::LimitReached { what, limit } => full(what, limit),
            BriefError::Control { field } => {
                Self::invalid(format!("{field}: control characters are refused."))
            }
            BriefError::AlreadyExists | BriefError::ProposalExists => {
                Self::new(Code::Internal).because(refusal)
            }
        }
    }
}

impl From<ReviewError> for Problem {
    fn from(refusal: ReviewError) -> Self {
        match refusal {
            ReviewError::NotFound | ReviewError::NoStep => Self::new(Code::NothingThere),
            ReviewError::VersionConflict { current } => moved_on(current),
            ReviewError::Closed => Self::new(Code::ReviewClosed),
            ReviewError::StepUnavailable => Self::new(Code::StepUnavailable),
            ReviewError::ClaimLost => Self::new(Code::ClaimLost),
            ReviewError::NothingSubmitted => {
                Self::invalid("A submission that is not final needs at least one finding.")
            }
            ReviewError::NotYours => Self {
                message: "Another caller started this review.".into(),
                ..Self::new(Code::RoleRequired)
            },
            ReviewError::GateClosed => {
                Self::invalid("The gate is not open: steps of the review are left.")
            }
            ReviewError::LimitReached { what, limit } => full(what, limit),
            ReviewError::AlreadyExists | ReviewError::Steps | ReviewError::Run(_) => {
                Self::new(Code::Internal).because(refusal)
            }
        }
    }
}

fn moved_on(current: u64) -> Problem {
    Problem {
        message: "It has moved on; read it and retry with its current version.".into(),
        ..Problem::new(Code::VersionConflict)
    }
    .with(json!({ "current_version": current }))
}

fn full(what: &str, limit: usize) -> Problem {
    Problem {
        message: format!("There can be at most {limit} {what}.").into(),
        ..Problem::new(Code::LimitReached)
    }
}
