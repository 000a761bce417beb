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
    #[error("the address of the account is not confirmed")]
    Unverified,
    #[error("the session has been started already")]
    SessionExists,
    #[error("the session would end before it starts")]
    SessionOver,
    #[error("the account has no recovery sheet")]
    NoRecoverySheet,
    #[error("the code is not of the recovery sheet in force, which is number {current}")]
    OtherRecoverySheet { current: u32 },
    #[error("a recovery sheet has {codes} codes")]
    NoRecoveryCode { codes: u8 },
    #[error("the recovery code has been used")]
    RecoveryCodeUsed,
    #[error("{field} contains a control character")]
    Control { field: &'static str },
}
