//! What may be asked of an account.

use serde::{Deserialize, Serialize};

use crate::text::Text;

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

#[derive(Debug, Clone)]
pub enum AccountCommand {
    Create(NewAccount),
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
}

/// A subject at a provider, by the provider's configured alias.
#[derive(Debug, Clone)]
pub struct ProviderSubject {
    pub provider: Text<120>,
    pub subject: Text<500>,
}
