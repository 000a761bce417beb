//! The events of a grant, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use super::command::Door;
use crate::access::reach::Reach;
use crate::access::scopes::Scopes;
use crate::decider::WireEvent;
use crate::ids::{AccountId, WorkspaceId};
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantEvent {
    #[serde(rename = "grant_given")]
    Given(Box<GrantGiven>),
    #[serde(rename = "grant_paused")]
    Paused(GrantPaused),
    #[serde(rename = "grant_resumed")]
    Resumed(GrantResumed),
    #[serde(rename = "grant_ended")]
    Ended(GrantEnded),
}

impl WireEvent for GrantEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Given(_) => "grant_given",
            Self::Paused(_) => "grant_paused",
            Self::Resumed(_) => "grant_resumed",
            Self::Ended(_) => "grant_ended",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantGiven {
    pub at: Timestamp,
    pub account: AccountId,
    pub client_id: Sealed<String>,
    pub app: Sealed<String>,
    pub redirect: Sealed<String>,
    pub boundary: StoredBoundary,
    pub scopes: Scopes,
    pub expires_at: Timestamp,
}

/// A boundary whose labels, words of a person, are sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "door", rename_all = "snake_case")]
pub enum StoredBoundary {
    Agent,
    Vault {
        vault: AccountId,
        labels: Sealed<Vec<String>>,
    },
    Workspace {
        workspace: WorkspaceId,
        reach: Reach,
    },
}

impl StoredBoundary {
    pub fn door(&self) -> Door {
        match self {
            Self::Agent => Door::Agent,
            Self::Vault { .. } => Door::Vault,
            Self::Workspace { .. } => Door::Workspace,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantPaused {
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantResumed {
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantEnded {
    pub at: Timestamp,
    pub cause: GrantEnding,
}

/// Why a grant ended (`access` 2, 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantEnding {
    RevokedByOwner,
    RevokedByApp,
    /// By a newer consent to the same app.
    Replaced,
    CodeReplayed,
    /// Too many wrong tries at its code.
    CodeGuessed,
    RefreshReused,
    /// Nothing was refreshed for too long.
    Unused,
    Expired,
    AccountDeleted,
    MemberLeft,
    WorkspaceDeleted,
}

impl GrantEnding {
    pub const ALL: [Self; 11] = [
        Self::RevokedByOwner,
        Self::RevokedByApp,
        Self::Replaced,
        Self::CodeReplayed,
        Self::CodeGuessed,
        Self::RefreshReused,
        Self::Unused,
        Self::Expired,
        Self::AccountDeleted,
        Self::MemberLeft,
        Self::WorkspaceDeleted,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RevokedByOwner => "revoked_by_owner",
            Self::RevokedByApp => "revoked_by_app",
            Self::Replaced => "replaced",
            Self::CodeReplayed => "code_replayed",
            Self::CodeGuessed => "code_guessed",
            Self::RefreshReused => "refresh_reused",
            Self::Unused => "unused",
            Self::Expired => "expired",
            Self::AccountDeleted => "account_deleted",
            Self::MemberLeft => "member_left",
            Self::WorkspaceDeleted => "workspace_deleted",
        }
    }

    /// The cause a stored word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}
