//! Somebody who is signed in.

use std::sync::Arc;

use helix_aggregates::ids::{AccountId, SessionId};

use crate::app::access::accounts;
use crate::store::log::Meta;
use crate::store::people::LiveSession;
use crate::store::sealing::DataKey;

/// Deletion, ownership and minting need a passphrase entered within this time (`access` 3.6).
const FRESH_MS: i64 = 10 * 60_000;

/// The holder of a live session.
#[derive(Debug, Clone)]
pub struct Person {
    pub session: SessionId,
    pub account: AccountId,
    pub name: String,
    pub email: String,
    /// What the forms of this session carry and no other page can know.
    pub csrf: String,
    /// Whether the passphrase was entered a short while ago.
    pub fresh: bool,
    pub key: Arc<DataKey>,
}

impl Person {
    /// `None` when the account's texts cannot be read: it is erased, whatever its rows still say.
    pub(super) fn of(found: &LiveSession, key: Arc<DataKey>, csrf: &[u8; 32]) -> Option<Self> {
        let body = accounts::open_body(&key, found.account, &found.body)?;
        Some(Self {
            session: SessionId::new(found.row_id),
            account: AccountId::new(found.account),
            name: body.name,
            email: body.email,
            csrf: hex::encode(&csrf[..16]),
            fresh: found.now_ms - found.proved_at_ms < FRESH_MS,
            key,
        })
    }

    /// What is recorded beside each event this person causes.
    pub fn meta(&self) -> Meta {
        std::iter::once(("by".to_owned(), self.session.uuid().to_string())).collect()
    }
}
