//! Why a run refuses a command. The public codes are those of `agent-api` 1.5.

/// A refusal; the run is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    #[error("the run does not exist")]
    NotFound,
    #[error("the run has already been started")]
    AlreadyStarted,
    #[error("the run is at version {current}")]
    VersionConflict { current: u64 },
    #[error("another turn holds the run at version {current}")]
    Busy { current: u64 },
    #[error("the run has ended")]
    NotResumable,
    #[error("a question is answered twice")]
    DuplicateAnswer,
    /// The ids, as the caller wrote them, in first-seen order.
    #[error("{} answered questions are not outstanding", .0.len())]
    UnknownQuestions(Vec<String>),
    /// The turn was cancelled or taken over; its result changes nothing.
    #[error("the claim of version {claimed_version} is no longer held")]
    ClaimLost { claimed_version: u64 },
    #[error("the run needs no recovery")]
    NothingToRecover,
}
