//! The faces of the server: what tells their requests, limits and challenges apart.

use super::request_id;
use crate::auth::oauth::scope::FLOOR;

/// Which face of the server a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    RunRest,
    Mcp,
    Workers,
    Workspace,
    WorkspaceMcp,
    /// Documents and pages that need no token.
    Public,
    /// Pages for somebody who is signed in, or wants to be.
    Pages,
    /// JSON for the pages of this origin, by session.
    SessionLane,
    /// The endpoints of the built-in authorization server.
    Issuer,
}

impl Surface {
    pub(super) fn origin(self) -> request_id::Origin {
        match self {
            Self::RunRest => request_id::Origin::AgentRuns,
            Self::Mcp | Self::WorkspaceMcp => request_id::Origin::Mcp,
            Self::Workers
            | Self::Workspace
            | Self::Public
            | Self::Pages
            | Self::SessionLane
            | Self::Issuer => request_id::Origin::Other,
        }
    }

    /// Whose pages may send requests here. Nothing at the authorization server rests on a cookie, so
    /// that clients which are pages may use it from anywhere (`access` 3.5).
    pub(super) fn admits_pages_of(self) -> PagesOf {
        match self {
            Self::Issuer => PagesOf::AnySite,
            Self::RunRest
            | Self::Mcp
            | Self::Workers
            | Self::Workspace
            | Self::WorkspaceMcp
            | Self::Public
            | Self::Pages
            | Self::SessionLane => PagesOf::Admitted,
        }
    }

    /// The scopes that the challenge of a 401 names (`access` 4.1).
    pub(super) fn challenged_scopes(self) -> &'static str {
        match self {
            Self::Workspace | Self::WorkspaceMcp => FLOOR,
            Self::RunRest
            | Self::Mcp
            | Self::Workers
            | Self::Public
            | Self::Pages
            | Self::SessionLane
            | Self::Issuer => "helix.agent_runs.read helix.agent_runs.write",
        }
    }

    /// Where its protected-resource metadata is, below the public base URL (`agent-api` 10.7).
    /// `None` where no authorization server gives out the credential.
    pub fn metadata_path(self) -> Option<&'static str> {
        match self {
            Self::RunRest => Some("/.well-known/oauth-protected-resource"),
            Self::Mcp => Some("/.well-known/oauth-protected-resource/mcp"),
            Self::WorkspaceMcp => Some("/.well-known/oauth-protected-resource/workspace/mcp"),
            Self::Workspace => Some("/.well-known/oauth-protected-resource/api/v1/workspaces"),
            Self::Workers | Self::Public | Self::Pages | Self::SessionLane | Self::Issuer => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PagesOf {
    Admitted,
    AnySite,
}
