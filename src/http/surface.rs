//! The faces of the agent API: what tells their requests, limits and challenges apart.

use super::request_id;

/// Which face of the agent API a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    RunRest,
    Mcp,
    Workers,
    /// Documents and pages that need no token.
    Public,
}

impl Surface {
    pub(super) fn origin(self) -> request_id::Origin {
        match self {
            Self::RunRest => request_id::Origin::AgentRuns,
            Self::Mcp => request_id::Origin::Mcp,
            Self::Workers | Self::Public => request_id::Origin::Other,
        }
    }

    /// Where its protected-resource metadata is, below the public base URL (`agent-api` 10.7).
    /// `None` where no authorization server gives out the credential.
    pub fn metadata_path(self) -> Option<&'static str> {
        match self {
            Self::RunRest => Some("/.well-known/oauth-protected-resource"),
            Self::Mcp => Some("/.well-known/oauth-protected-resource/mcp"),
            Self::Workers | Self::Public => None,
        }
    }
}
