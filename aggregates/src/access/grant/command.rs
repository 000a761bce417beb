//! What may be asked of a grant.

use serde::{Deserialize, Serialize};

use super::event::GrantEnding;
use crate::access::reach::Reach;
use crate::access::scopes::Scopes;
use crate::ids::{AccountId, WorkspaceId};
use crate::text::Text;
use crate::time::Timestamp;

#[derive(Debug, Clone)]
pub enum GrantCommand {
    Give(Box<NewGrant>),
    Pause,
    Resume,
    End { cause: GrantEnding },
}

#[derive(Debug, Clone)]
pub struct NewGrant {
    pub account: AccountId,
    pub client_id: Text<2048>,
    /// The app's name as shown to the owner.
    pub app: Text<80>,
    /// The host, "an app on this computer" or the scheme, as shown to the owner.
    pub redirect: Text<300>,
    pub boundary: Boundary,
    pub scopes: Scopes,
    /// Rotation of tokens never moves it (`access` 3.5).
    pub expires_at: Timestamp,
}

/// What a grant is confined to besides its scopes.
#[derive(Debug, Clone)]
pub enum Boundary {
    Agent,
    Vault {
        /// A personal vault's id is its account's (settled question 34).
        vault: AccountId,
        /// Any of these; none means that labels restrict nothing.
        labels: Vec<Text<32>>,
    },
    Workspace {
        workspace: WorkspaceId,
        reach: Reach,
    },
}

/// The one door a credential opens (`access` 1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    Agent,
    Vault,
    Workspace,
}

impl Door {
    pub const ALL: [Self; 3] = [Self::Agent, Self::Vault, Self::Workspace];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Vault => "vault",
            Self::Workspace => "workspace",
        }
    }

    /// The door a stored word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

impl Boundary {
    pub fn door(&self) -> Door {
        match self {
            Self::Agent => Door::Agent,
            Self::Vault { .. } => Door::Vault,
            Self::Workspace { .. } => Door::Workspace,
        }
    }
}
