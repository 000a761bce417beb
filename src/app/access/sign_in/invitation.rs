//! Accounts of others: made by the operator with a passphrase, or with a link by which their owner
//! chooses one (settled questions 61, 63).
//!
//! What must stay true: a link works once and for its time, and a newer one takes its place; a
//! passphrase set by a link ends every session; the operator never learns it.

use helix_aggregates::access::account::command::{
    AccountCommand, AccountType, Address, NewAccount, PassphraseCause,
};
use helix_aggregates::access::account::event::AccountEvent;
use helix_aggregates::ids::AccountId;
use helix_aggregates::text::Text;
use helix_aggregates::time::Timestamp;
use secrecy::SecretString;
use serde_json::json;

use super::setup::LINK_KIND;
use super::{SignIn, SignInError, Started};
use crate::app::access::accounts::{self, AccountView, AccountsError, Opening};
use crate::app::redaction::issued_token::{self, Minted};
use crate::store::append::Append;
use crate::store::handles::OpenHandle;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::people::{HandleRow, PeopleChange};
use crate::store::log::Meta;
use crate::store::{StoreError, handles};

/// The same kind as the links into workspaces, which name no account.
const INVITATION: &str = "invite";
const INVITATION_LIFE_MS: i64 = 30 * 86_400_000;
const RESET: &str = "reset";
const RESET_LIFE_MS: i64 = 60 * 60_000;

/// Who is to have an account.
#[derive(Debug, Clone)]
pub struct Newcomer {
    pub email: String,
    pub name: String,
    pub account_type: AccountType,
}

/// A link, on the one occasion that its text is known.
#[derive(Debug)]
pub struct ChoiceLink {
    pub account: AccountId,
    pub text: SecretString,
    pub expires_at: Timestamp,
}

impl SignIn {
    /// Makes an account that can sign in.
    pub async fn enrol(
        &self,
        who: &Newcomer,
        passphrase: SecretString,
    ) -> Result<AccountView, SignInError> {
        let phc = self.passphrases.hash(passphrase).await?;
        self.make(who, Some(phc)).await
    }

    /// Makes an account whose owner chooses the passphrase, within 30 days.
    pub async fn invite(&self, who: &Newcomer) -> Result<ChoiceLink, SignInError> {
        let made = self.make(who, None).await?;
        self.choice_link(made.account_id, INVITATION, INVITATION_LIFE_MS)
            .await
    }

    /// A link by which the owner of an account sets another passphrase, within an hour.
    pub async fn reset_link(&self, account: AccountId) -> Result<ChoiceLink, SignInError> {
        let key_id = crate::store::accounts::key_id(&self.core.pool, account.uuid()).await?;
        key_id.ok_or(AccountsError::NoAccount)?;
        self.choice_link(account, RESET, RESET_LIFE_MS).await
    }

    /// Whether a passphrase can still be chosen by a link.
    pub async fn is_choice_link(&self, link: &str) -> Result<bool, StoreError> {
        Ok(self.choice(link).await?.is_some())
    }

    /// Sets the passphrase that the holder of a link chose, and signs them in.
    pub async fn choose(
        &self,
        link: &str,
        passphrase: SecretString,
        device: Text<120>,
    ) -> Result<Started, SignInError> {
        let (cause, handle) = self.choice(link).await?.ok_or(SignInError::LinkSpent)?;
        let account = handle.account.ok_or(SignInError::LinkSpent)?;
        let phc = self.passphrases.hash(passphrase).await?;
        let key_id = crate::store::accounts::key_id(&self.core.pool, account).await?;
        let key = self.core.key(key_id).await?.ok_or(SignInError::LinkSpent)?;
        let id = AccountId::new(account);
        let stream = self.stream(id, &key).await?;
        let stamp = self.core.clock.stamp();
        let at_ms = stamp.at.millis();
        let opened = self.new_session(id, stream.lane, device, stamp)?;
        let ledger = [
            PeopleChange::UseHandle {
                handle_hash: issued_token::hash(link),
                at_ms,
            },
            // Whoever gave the link to its holder vouches for the address.
            PeopleChange::Verify { account, at_ms },
            PeopleChange::SetPassphrase {
                account,
                phc,
                at_ms,
            },
            PeopleChange::EndSessions {
                account,
                kept: None,
                reason: "passphrase_reset",
                at_ms,
            },
            PeopleChange::OpenSession(opened.row),
        ]
        .map(LedgerChange::People);
        let commands = [
            AccountCommand::Verify,
            AccountCommand::SetPassphrase { cause, kept: None },
            AccountCommand::StartSession(opened.session),
        ];
        let complete = |_: &[AccountEvent], append| Append {
            ledger: ledger.to_vec(),
            ..append
        };
        self.log
            .execute_all(&stream, &commands, stamp, &Meta::new(), complete)
            .await?;
        Ok(Started {
            token: opened.token,
            account: id,
        })
    }

    async fn choice(
        &self,
        link: &str,
    ) -> Result<Option<(PassphraseCause, OpenHandle)>, StoreError> {
        if !issued_token::is_spelled(link, LINK_KIND) {
            return Ok(None);
        }
        let hash = issued_token::hash(link);
        for (kind, cause) in [
            (INVITATION, PassphraseCause::Invitation),
            (RESET, PassphraseCause::Reset),
        ] {
            let found = handles::open(&self.core.reads, kind, &hash).await?;
            if let Some(found) = found.filter(|found| found.account.is_some()) {
                return Ok(Some((cause, found)));
            }
        }
        Ok(None)
    }

    async fn choice_link(
        &self,
        account: AccountId,
        kind: &'static str,
        life_ms: i64,
    ) -> Result<ChoiceLink, SignInError> {
        let Minted { text, hash } = issued_token::mint(LINK_KIND)?;
        let at_ms = self.core.clock.now().millis();
        let handle = HandleRow {
            handle_hash: hash,
            kind,
            account: Some(account.uuid()),
            session: None,
            body: json!({}),
            at_ms,
            expires_at_ms: at_ms + life_ms,
        };
        handles::replace(&self.core.pool, &handle).await?;
        Ok(ChoiceLink {
            account,
            text,
            expires_at: Timestamp::from_millis(handle.expires_at_ms),
        })
    }

    async fn make(
        &self,
        who: &Newcomer,
        phc: Option<SecretString>,
    ) -> Result<AccountView, SignInError> {
        match self.make_once(who, phc.as_ref()).await {
            // Another process has rotated the key file since it was read.
            Err(SignInError::Account(AccountsError::Store(StoreError::KeyRetired))) => {
                self.core.keyring.reload().map_err(AccountsError::from)?;
                self.make_once(who, phc.as_ref()).await
            }
            made => made,
        }
    }

    async fn make_once(
        &self,
        who: &Newcomer,
        phc: Option<&SecretString>,
    ) -> Result<AccountView, SignInError> {
        let new = NewAccount {
            email: accounts::address(&who.email)?,
            name: accounts::field("name", who.name.trim())?,
            account_type: who.account_type,
            address: match phc {
                // The operator vouches for it.
                Some(_) => Address::Verified,
                None => Address::Unverified,
            },
        };
        let stamp = self.core.clock.stamp();
        let Opening {
            account,
            stream,
            mut ledger,
        } = accounts::opening(&self.core, &new, stamp).await?;
        let view = AccountView {
            account_id: account,
            profile_id: account.to_string(),
            email: new.email.as_str().to_owned(),
            account_type: new.account_type,
        };
        let mut commands = vec![AccountCommand::Create(new)];
        if let Some(phc) = phc {
            ledger.push(LedgerChange::People(PeopleChange::SetPassphrase {
                account: account.uuid(),
                phc: phc.clone(),
                at_ms: stamp.at.millis(),
            }));
            commands.push(AccountCommand::SetPassphrase {
                cause: PassphraseCause::Setup,
                kept: None,
            });
        }
        let complete = |_: &[AccountEvent], append| Append {
            ledger: ledger.clone(),
            ..append
        };
        self.log
            .execute_all(&stream, &commands, stamp, &Meta::new(), complete)
            .await?;
        Ok(view)
    }
}
