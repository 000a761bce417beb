//! Why an account refuses a command.

/// A refusal; the account is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    #[error("the account does not exist")]
    NotFound,
    #[error("the account exists already")]
    AlreadyExists,
    #[error("the account has been deleted")]
    Deleted,
    #[error("the subject is linked already")]
    AlreadyLinked,
    #[error("the subject is not linked")]
    NotLinked,
    #[error("an account has at most {limit} linked subjects")]
    TooManyLinks { limit: usize },
    #[error("{field} contains a control character")]
    Control { field: &'static str },
}
