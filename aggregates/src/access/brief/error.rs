//! Why a brief refuses a command. The public codes are those of `access` 6.2.

/// A refusal; the brief is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BriefError {
    #[error("the brief does not exist")]
    NotFound,
    #[error("the brief exists already")]
    AlreadyExists,
    /// Of the brief, or of the proposal where the command named one.
    #[error("it is at version {current}")]
    VersionConflict { current: u64 },
    #[error("the proposal does not exist")]
    NoProposal,
    #[error("the proposal exists already")]
    ProposalExists,
    #[error("the proposal was made by another")]
    NotYours,
    /// Committed, rejected or withdrawn.
    #[error("the proposal is closed")]
    ProposalClosed,
    #[error("the proposal is not approved")]
    NotApproved,
    #[error("the proposal was made for version {base} and the brief is at version {current}")]
    Stale { base: u64, current: u64 },
    #[error("the proposal was made for the version in force")]
    NotStale,
    #[error("the brief has no such version")]
    NoVersion,
    #[error("the brief says that already")]
    VersionInForce,
    #[error("a brief has at most {limit} {what}")]
    LimitReached { what: &'static str, limit: usize },
    #[error("{field} contains a control character")]
    Control { field: &'static str },
}
