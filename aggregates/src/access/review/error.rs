//! Why a review refuses a command. The public codes are those of `access` 6.2.

use crate::agent::run::error::RunError;

/// A refusal; the review is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    #[error("the review does not exist")]
    NotFound,
    #[error("the review exists already")]
    AlreadyExists,
    #[error("a review has 1 to 32 steps")]
    Steps,
    #[error("the review's run is at version {current}")]
    VersionConflict { current: u64 },
    /// Completed, cancelled or failed.
    #[error("the review is closed")]
    Closed,
    #[error("the review has no such step")]
    NoStep,
    /// Done, in other hands, or behind the gate.
    #[error("the step cannot be claimed now")]
    StepUnavailable,
    #[error("the claim is not the caller's, or is over")]
    ClaimLost,
    #[error("a submission that is not final has findings")]
    NothingSubmitted,
    #[error("the review was started by another")]
    NotYours,
    #[error("the gate is not open")]
    GateClosed,
    #[error("a review has at most {limit} {what}")]
    LimitReached { what: &'static str, limit: usize },
    /// The run within refuses what the review has judged to be allowed.
    #[error("the run refuses: {0}")]
    Run(#[from] RunError),
}
