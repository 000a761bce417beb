//! Why a grant refuses a command.

use super::event::GrantEnding;
use crate::access::reach::ReachError;
use crate::access::scopes::ScopesError;
use crate::time::Timestamp;

/// A refusal; the grant is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    #[error("the grant does not exist")]
    NotFound,
    #[error("the grant has been given already")]
    AlreadyGiven,
    #[error("the grant has ended: {}", .cause.as_str())]
    Ended { cause: GrantEnding },
    /// Later than the grant starts, and no later than `latest`.
    #[error("a grant expires in the future, at {latest} at the latest")]
    Expiry { latest: Timestamp },
    #[error("a grant is restricted to at most {limit} labels")]
    TooManyLabels { limit: usize },
    #[error(transparent)]
    Scopes(#[from] ScopesError),
    #[error(transparent)]
    Reach(#[from] ReachError),
    #[error("{field} contains a control character")]
    Control { field: &'static str },
}
