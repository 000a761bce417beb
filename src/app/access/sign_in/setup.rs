//! The first owner's way in: a one-time link, made on the machine of the server (`pages`, first run 3).
//!
//! What must stay true: nobody becomes owner by coming first; a link works once, for an hour, and from
//! where it was made for.

use std::net::IpAddr;

use helix_aggregates::access::account::command::{
    AccountCommand, AccountType, Address, NewAccount, PassphraseCause,
};
use helix_aggregates::text::Text;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{SignIn, SignInError, Started};
use crate::app::access::accounts::{self, Opening};
use crate::app::redaction::issued_token::{self, Minted};
use crate::store::append::Append;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::people::{HandleRow, PeopleChange};
use crate::store::log::Meta;
use crate::store::{StoreError, handles, people};

/// The kind in the text of a one-time link (`access` 1.1).
pub const LINK_KIND: &str = "lk";
const SETUP: &str = "setup";
const SETUP_LIFE_MS: i64 = 60 * 60_000;

/// From where a setup link may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkReach {
    /// From the machine of the server.
    Loopback,
    Anywhere,
}

/// Where somebody comes from.
#[derive(Debug, Clone)]
pub struct Whence {
    pub sender: IpAddr,
    pub device: Text<120>,
}

/// Who fills in the form of a setup link.
#[derive(Debug)]
pub struct SetUp {
    pub name: String,
    pub email: String,
    pub passphrase: SecretString,
}

impl SignIn {
    /// Whether the server still waits for its first owner.
    pub async fn waits_for_owner(&self) -> Result<bool, StoreError> {
        people::anybody(&self.core.pool).await.map(|found| !found)
    }

    /// A fresh link for the first owner; an older one is worth nothing from then on.
    pub async fn owner_link(&self, reach: LinkReach) -> Result<SecretString, SignInError> {
        if !self.waits_for_owner().await? {
            return Err(SignInError::HasOwner);
        }
        let Minted { text, hash } = issued_token::mint(LINK_KIND)?;
        let at_ms = self.core.clock.now().millis();
        let handle = HandleRow {
            handle_hash: hash,
            kind: SETUP,
            account: None,
            session: None,
            body: json!({ "reach": reach }),
            at_ms,
            expires_at_ms: at_ms + SETUP_LIFE_MS,
        };
        handles::replace(&self.core.pool, &handle).await?;
        Ok(text)
    }

    /// Whether a link's text can still be used, from `sender`, to set the server up.
    pub async fn is_setup_link(&self, text: &str, sender: IpAddr) -> Result<bool, StoreError> {
        if !issued_token::is_spelled(text, LINK_KIND) {
            return Ok(false);
        }
        let hash = issued_token::hash(text);
        let found = handles::open(&self.core.reads, SETUP, &hash).await?;
        let reach = found.and_then(|found| {
            let reach = found.body.get("reach")?.clone();
            serde_json::from_value(reach).ok()
        });
        Ok(match reach {
            Some(LinkReach::Loopback) => sender.to_canonical().is_loopback(),
            Some(LinkReach::Anywhere) => true,
            None => false,
        })
    }

    /// Makes the first account, signs it in and uses the link up, all in one commit.
    pub async fn set_up(
        &self,
        link: &str,
        form: SetUp,
        from: Whence,
    ) -> Result<Started, SignInError> {
        if !self.is_setup_link(link, from.sender).await? {
            return Err(SignInError::LinkSpent);
        }
        let new = NewAccount {
            email: accounts::address(&form.email)?,
            name: accounts::field("name", form.name.trim())?,
            // Whoever runs the server may use all of it.
            account_type: AccountType::Developer,
            // The link came to them from the machine itself.
            address: Address::Verified,
        };
        let phc = self.passphrases.hash(form.passphrase).await?;
        let stamp = self.core.clock.stamp();
        let Opening {
            account,
            stream,
            mut ledger,
        } = accounts::opening(&self.core, &new, stamp).await?;
        let at_ms = stamp.at.millis();
        let opened = self.new_session(account, stream.lane, from.device, stamp)?;
        ledger.extend([
            LedgerChange::People(PeopleChange::UseHandle {
                handle_hash: issued_token::hash(link),
                at_ms,
            }),
            LedgerChange::People(PeopleChange::SetPassphrase {
                account: account.uuid(),
                phc,
                at_ms,
            }),
            LedgerChange::People(PeopleChange::OpenSession(opened.row)),
        ]);
        let commands = [
            AccountCommand::Create(new),
            AccountCommand::SetPassphrase {
                cause: PassphraseCause::Setup,
                kept: None,
            },
            AccountCommand::StartSession(opened.session),
        ];
        self.log
            .execute_all(&stream, &commands, stamp, &Meta::new(), |_, append| {
                Append {
                    ledger: ledger.clone(),
                    ..append
                }
            })
            .await?;
        Ok(Started {
            token: opened.token,
            account,
        })
    }
}
