//! Why a worker's token refuses a command.

/// A refusal; the token is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkerTokenError {
    #[error("the worker token does not exist")]
    NotFound,
    #[error("the worker token is issued already")]
    AlreadyIssued,
    #[error("the worker token is revoked already")]
    AlreadyRevoked,
    #[error("the name contains a control character")]
    Control,
}
