//! Why nothing was done with a token.

use helix_aggregates::access::scopes::ScopesError;
use helix_aggregates::access::token::error::TokenError;

use super::MOST;
use crate::app::problem::{Code, Problem};
use crate::store::StoreError;
use crate::store::log::ExecuteError;

#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    #[error(transparent)]
    Refused(#[from] TokenError),
    #[error("name: {0}")]
    Name(String),
    #[error(transparent)]
    Scopes(ScopesError),
    #[error("there is no such workspace")]
    NoWorkspace,
    #[error("the reach names a project that the workspace does not have")]
    NoProject,
    #[error("there is no such token")]
    NoToken,
    #[error("the token has ended")]
    Ended,
    #[error("a workspace has at most {MOST} live tokens")]
    TooMany,
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for TokensError {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Full) {
            return Self::TooMany;
        }
        Self::Store(error)
    }
}

impl From<ExecuteError<TokenError>> for TokensError {
    fn from(error: ExecuteError<TokenError>) -> Self {
        match error {
            ExecuteError::Refused(refusal) => refusal.into(),
            ExecuteError::Store(error) => error.into(),
        }
    }
}

impl From<TokensError> for Problem {
    fn from(error: TokensError) -> Self {
        match error {
            TokensError::NoWorkspace | TokensError::NoToken => Self::new(Code::NothingThere),
            TokensError::TooMany => Self {
                message: error.to_string().into(),
                ..Self::new(Code::LimitReached)
            },
            TokensError::Ended => Self::invalid("The token has ended."),
            TokensError::NoProject => {
                Self::invalid("The reach names a project that the workspace does not have.")
            }
            TokensError::Name(_) | TokensError::Scopes(_) | TokensError::Refused(_) => {
                Self::invalid("A token of that kind cannot be made.").because(error)
            }
            // Its role or its session went while it was being done.
            TokensError::Store(StoreError::Revoked) => Self::new(Code::RoleRequired),
            TokensError::Store(error) => error.into(),
        }
    }
}
