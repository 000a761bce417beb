//! Why an account command had no effect.

use helix_aggregates::access::account::error::AccountError;
use helix_aggregates::access::agent_account::error::AgentAccountError;

use crate::store::StoreError;
use crate::store::log::ExecuteError;

#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Binding(#[from] AgentAccountError),
    #[error("another account has this e-mail address")]
    EmailTaken,
    #[error("there is no such account")]
    NoAccount,
    #[error("there is no such binding")]
    NoBinding,
    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ExecuteError<AccountError>> for AccountsError {
    fn from(error: ExecuteError<AccountError>) -> Self {
        match error {
            ExecuteError::Refused(refusal) => refusal.into(),
            ExecuteError::Store(error) => error.into(),
        }
    }
}

impl From<ExecuteError<AgentAccountError>> for AccountsError {
    fn from(error: ExecuteError<AgentAccountError>) -> Self {
        match error {
            ExecuteError::Refused(refusal) => refusal.into(),
            ExecuteError::Store(error) => error.into(),
        }
    }
}
