//! One account of this server, and the sign-in subjects that are its owner's.
//!
//! What must stay true: a deleted account stays deleted and its id is never used again. Addresses,
//! names and subjects are sealed, so a link is known by its number and can be undone after its
//! text is gone. Deliberately absent: pass-phrases, sessions and grants (they are no events), and
//! the uniqueness of an address, which spans accounts and is the ledger's.

pub mod command;
pub mod error;
pub mod event;

mod decide;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decider::Decider;
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::{AccountCommand, AccountType};
use error::AccountError;
use event::AccountEvent;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Account {
    #[default]
    Absent,
    Active(Box<Profile>),
    Deleted {
        at: Timestamp,
    },
}

/// What an account has while it exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub email: Sealed<String>,
    pub name: Sealed<String>,
    pub account_type: AccountType,
    /// By link number.
    pub providers: BTreeMap<u32, LinkedProvider>,
    /// The number of the latest link ever made.
    pub last_link: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A subject of an outside identity provider that is this account's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedProvider {
    pub provider: String,
    pub subject: Sealed<String>,
}

impl Decider for Account {
    const KIND: &'static str = "account";
    type Command = AccountCommand;
    type Event = AccountEvent;
    type Error = AccountError;

    fn decide(
        &self,
        command: &AccountCommand,
        stamp: Stamp,
    ) -> Result<Vec<AccountEvent>, AccountError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &AccountEvent) {
        match event {
            AccountEvent::Created(created) => {
                *self = Self::Active(Box::new(Profile {
                    email: created.email.clone(),
                    name: created.name.clone(),
                    account_type: created.account_type,
                    providers: BTreeMap::new(),
                    last_link: 0,
                    created_at: created.at,
                    updated_at: created.at,
                }));
            }
            AccountEvent::ProviderLinked(linked) => {
                if let Self::Active(profile) = self {
                    profile.last_link = linked.link;
                    profile.updated_at = linked.at;
                    let provider = LinkedProvider {
                        provider: linked.provider.clone(),
                        subject: linked.subject.clone(),
                    };
                    profile.providers.insert(linked.link, provider);
                }
            }
            AccountEvent::ProviderUnlinked(unlinked) => {
                if let Self::Active(profile) = self {
                    profile.providers.remove(&unlinked.link);
                    profile.updated_at = unlinked.at;
                }
            }
            AccountEvent::Deleted(deleted) => *self = Self::Deleted { at: deleted.at },
        }
    }
}

impl Account {
    /// What a living account has.
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Active(profile) => Some(profile),
            Self::Absent | Self::Deleted { .. } => None,
        }
    }
}
