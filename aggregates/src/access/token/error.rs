//! Why a named token refuses a command.

use super::event::TokenRevocation;
use crate::access::reach::ReachError;
use crate::access::scopes::ScopesError;
use crate::time::Timestamp;

/// A refusal; the token is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token does not exist")]
    NotFound,
    #[error("the token has been minted already")]
    AlreadyMinted,
    #[error("the token is revoked: {}", .cause.as_str())]
    Revoked { cause: TokenRevocation },
    #[error("a token expires between {earliest} and {latest}")]
    Expiry {
        earliest: Timestamp,
        latest: Timestamp,
    },
    #[error("a replaced token lives between {earliest} and {latest}")]
    Grace {
        earliest: Timestamp,
        latest: Timestamp,
    },
    /// A grace is never made longer.
    #[error("the token is retired already and lives until {until}")]
    AlreadyRetired { until: Timestamp },
    #[error(transparent)]
    Scopes(#[from] ScopesError),
    #[error(transparent)]
    Reach(#[from] ReachError),
    #[error("the name contains a control character")]
    Control,
}
