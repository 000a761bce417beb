//! What may be asked of an account.

use serde::{Deserialize, Serialize};

use crate::ids::SessionId;
use crate::text::Text;
use crate::time::Timestamp;

/// The stored type; whether `Developer` counts is the caller's policy (`agent-api` 11.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountType {
    User,
    Developer,
}

impl AccountType {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Developer => "developer",
        }
    }

    /// The type a stored word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::User, Self::Developer]
            .into_iter()
            .find(|known| known.as_str() == word)
    }
}

/// Whether the owner has shown that the e-mail address is theirs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    Unverified,
    /// Also of every account whose event names no state: the operator made those.
    #[default]
    Verified,
}

impl Address {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands the field over by reference"
    )]
    pub(super) fn is_verified(&self) -> bool {
        matches!(self, Self::Verified)
    }
}

/// How a passphrase came to be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassphraseCause {
    Setup,
    Invitation,
    SignUp,
    Change,
    Reset,
    Recovery,
}

/// How a session is ended by somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignOff {
    /// By the browser that holds it.
    SignOut,
    /// By the owner, from another place.
    Owner,
}

#[derive(Debug, Clone)]
pub enum AccountCommand {
    Create(NewAccount),
    Verify,
    /// Ends every session but `kept`, and that one too unless the cause is a change made in it.
    SetPassphrase {
        cause: PassphraseCause,
        kept: Option<SessionId>,
    },
    StartSession(NewSession),
    EndSession {
        session: SessionId,
        cause: SignOff,
    },
    /// The new address has been confirmed by then (settled question 63).
    ChangeEmail(Text<320>),
    Rename(Text<120>),
    IssueRecoverySheet,
    UseRecoveryCode(RecoveryCode),
    LinkProvider(ProviderSubject),
    UnlinkProvider(ProviderSubject),
    Delete,
}

#[derive(Debug, Clone)]
pub struct NewAccount {
    /// As its owner wrote it; look-ups fold its case elsewhere.
    pub email: Text<320>,
    pub name: Text<120>,
    pub account_type: AccountType,
    pub address: Address,
}

/// A browser that has just proved the passphrase.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub session: SessionId,
    /// As lists name it.
    pub device: Text<120>,
    pub expires_at: Timestamp,
}

/// One code, by its place: the code itself is known by its hash alone, elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryCode {
    /// Counted from 1.
    pub sheet: u32,
    /// Counted from 0.
    pub code: u8,
}

/// A subject at a provider, by the provider's configured alias.
#[derive(Debug, Clone)]
pub struct ProviderSubject {
    pub provider: Text<120>,
    pub subject: Text<500>,
}
