//! The events of a named token, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use crate::access::author::Maker;
use crate::access::reach::Reach;
use crate::access::scopes::Scopes;
use crate::decider::WireEvent;
use crate::ids::{TokenId, WorkspaceId};
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenEvent {
    #[serde(rename = "token_minted")]
    Minted(Box<TokenMinted>),
    #[serde(rename = "token_retired")]
    Retired(TokenRetired),
    #[serde(rename = "token_paused")]
    Paused(TokenPaused),
    #[serde(rename = "token_resumed")]
    Resumed(TokenResumed),
    #[serde(rename = "token_exposed")]
    Exposed(TokenExposed),
    #[serde(rename = "token_revoked")]
    Revoked(TokenRevoked),
}

impl WireEvent for TokenEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Minted(_) => "token_minted",
            Self::Retired(_) => "token_retired",
            Self::Paused(_) => "token_paused",
            Self::Resumed(_) => "token_resumed",
            Self::Exposed(_) => "token_exposed",
            Self::Revoked(_) => "token_revoked",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenMinted {
    pub at: Timestamp,
    pub workspace: WorkspaceId,
    pub name: Sealed<String>,
    pub last_four: String,
    pub fingerprint: String,
    pub scopes: Scopes,
    pub reach: Reach,
    pub maker: Maker,
    pub expires_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<TokenId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRetired {
    pub at: Timestamp,
    pub until: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenPaused {
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenResumed {
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenExposed {
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRevoked {
    pub at: Timestamp,
    pub cause: TokenRevocation,
}

/// Why a token was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenRevocation {
    Owner,
    Operator,
    /// Its replacement works.
    Rotated,
    /// Whoever made it is no longer a member.
    MemberRemoved,
    WorkspaceDeleted,
}

impl TokenRevocation {
    pub const ALL: [Self; 5] = [
        Self::Owner,
        Self::Operator,
        Self::Rotated,
        Self::MemberRemoved,
        Self::WorkspaceDeleted,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Operator => "operator",
            Self::Rotated => "rotated",
            Self::MemberRemoved => "member_removed",
            Self::WorkspaceDeleted => "workspace_deleted",
        }
    }

    /// The cause a stored word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}
