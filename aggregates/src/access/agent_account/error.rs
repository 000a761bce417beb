//! Why a binding refuses a command.

/// A refusal; the binding is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgentAccountError {
    #[error("the binding does not exist")]
    NotFound,
    #[error("the identity is linked to this account already")]
    AlreadyLinked,
    #[error("the identity is linked to another account")]
    LinkedElsewhere,
    #[error("the binding is revoked already")]
    AlreadyRevoked,
    /// The stream was addressed with another tuple than its own.
    #[error("the identity is not the one of this binding")]
    OtherIdentity,
    #[error("{field} contains a control character")]
    Control { field: &'static str },
}
