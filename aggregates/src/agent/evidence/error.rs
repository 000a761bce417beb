//! Why evidence is refused.

/// A refusal; nothing of the turn is recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    #[error("a turn hands over at most {limit} {what}")]
    TooMany { what: &'static str, limit: usize },
    #[error("the reference {0} is taken")]
    DuplicateRef(String),
    #[error("an item names the unknown receipt {0}")]
    UnknownReceipt(String),
    /// Empty, too long, or with a control character.
    #[error("{field} of a reference is not storable")]
    Malformed { field: &'static str },
}
