//! One account of this server: how its owner signs in, and the outside subjects that are theirs.
//!
//! What must stay true: a deleted account stays deleted and its id is never used again; a new
//! passphrase ends the sessions that the old one opened; an account whose address is not confirmed
//! has no session; a recovery code works once and only while its sheet is the newest. Addresses,
//! names, devices and subjects are sealed, so a link or a session is known by its number or id and
//! can be undone after its text is gone. Deliberately absent: passphrases, session texts and
//! recovery codes (the ledger keeps their hashes, no event does), grants (streams of their own),
//! and the uniqueness of an address, which spans accounts and is the ledger's.

pub mod command;
pub mod error;
pub mod event;

mod decide;
mod evolve;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::decider::Decider;
use crate::ids::SessionId;
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::{AccountCommand, AccountType, Address};
use error::AccountError;
use event::AccountEvent;

/// Sessions of one account that live at the same time.
pub const SESSIONS_LIMIT: usize = 50;
/// Codes on a recovery sheet (settled question 63).
pub const RECOVERY_CODES: u8 = 10;

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
    pub address: Address,
    pub name: Sealed<String>,
    pub account_type: AccountType,
    /// When the present passphrase was set; `None` while there is none.
    pub passphrase_set_at: Option<Timestamp>,
    /// Those not ended by anybody. Some may have expired: see [`Profile::live`].
    pub sessions: BTreeMap<SessionId, Session>,
    /// The newest one, which alone is in force.
    pub recovery: Option<RecoverySheet>,
    /// By link number.
    pub providers: BTreeMap<u32, LinkedProvider>,
    /// The number of the latest link ever made.
    pub last_link: u32,
    pub created_at: Timestamp,
    /// When something other than a session or a recovery code last changed.
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub device: Sealed<String>,
    pub started_at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoverySheet {
    /// Counted from 1 within the account.
    pub number: u32,
    /// Places of the codes that work no more.
    pub used: BTreeSet<u8>,
    pub issued_at: Timestamp,
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
        evolve::evolve(self, event);
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

impl Profile {
    /// The sessions that neither ended nor expired by `at`.
    pub fn live(&self, at: Timestamp) -> impl Iterator<Item = (SessionId, &Session)> {
        self.sessions
            .iter()
            .filter(move |(_, session)| session.expires_at > at)
            .map(|(id, session)| (*id, session))
    }
}
