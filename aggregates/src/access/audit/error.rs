//! Why the record takes no entry.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    #[error("the key of the record is gone")]
    Closed,
    #[error("the entry contains a control character")]
    Control,
}
