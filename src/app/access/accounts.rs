//! Accounts and bindings from the operator's side (`operations` 3).

mod error;
mod view;

use std::sync::Arc;

use helix_aggregates::access::account::Account;
use helix_aggregates::access::account::command::{
    AccountCommand, AccountType, Address, NewAccount, ProviderSubject,
};
use helix_aggregates::access::account::error::AccountError;
use helix_aggregates::access::agent_account::AgentAccount;
use helix_aggregates::access::agent_account::command::{AgentAccountCommand, NewBinding};
use helix_aggregates::access::agent_account::error::AgentAccountError;
use helix_aggregates::ids::{AccountId, binding_ref};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use helix_projections::access::account_activity::view::{self as account_activity, ActivityView};
use helix_projections::agent::ERASED;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::accounts::{self, ListedAccount};
use crate::store::append::Append;
use crate::store::keyring::Keyring;
use crate::store::ledger::{BindingRow, LedgerChange};
use crate::store::log::{ExecuteError, Log, Meta, Stream};
use crate::store::owner::OwnerKey;
use crate::store::sealing::DataKey;
use crate::store::{Core, StoreError};

pub use error::AccountsError;
pub use view::{AccountLine, AccountView, BindingLine};

/// The outside identity of a link.
#[derive(Debug, Clone)]
pub struct LinkTuple {
    pub issuer: String,
    pub tenant: String,
    pub provider: String,
    pub subject: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct AccountBody {
    pub email: String,
    pub name: String,
}

#[derive(Debug)]
pub struct Accounts {
    pub(super) core: Arc<Core>,
    log: Log<Account>,
    pub(super) bindings: Log<AgentAccount>,
}

impl Accounts {
    pub fn new(core: Arc<Core>) -> Self {
        Self {
            log: Log::new(Arc::clone(&core)),
            bindings: Log::new(Arc::clone(&core)),
            core,
        }
    }

    /// Creates an account with a data key of its own.
    pub async fn create(
        &self,
        email: &str,
        name: &str,
        account_type: AccountType,
    ) -> Result<AccountView, AccountsError> {
        let new = NewAccount {
            email: address(email)?,
            name: field("name", name)?,
            account_type,
            // The operator vouches for it.
            address: Address::Verified,
        };
        match self.create_once(&new).await {
            // Another process has rotated the key file since it was read.
            Err(AccountsError::Store(StoreError::KeyRetired)) => {
                self.core.keyring.reload()?;
                self.create_once(&new).await
            }
            other => other,
        }
    }

    async fn create_once(&self, new: &NewAccount) -> Result<AccountView, AccountsError> {
        let stamp = self.core.clock.stamp();
        let opening = opening(&self.core, new, stamp).await?;
        let command = AccountCommand::Create(new.clone());
        self.log
            .execute_with(&opening.stream, &command, stamp, &Meta::new(), |append| {
                Append {
                    ledger: opening.ledger.clone(),
                    ..append
                }
            })
            .await
            .map_err(email_taken)?;
        Ok(AccountView {
            account_id: opening.account,
            profile_id: opening.account.to_string(),
            email: new.email.as_str().to_owned(),
            account_type: new.account_type,
        })
    }

    /// Lets an outside identity act for an account. Linking a revoked tuple again revives it under
    /// the same reference (settled question 20).
    pub async fn link(
        &self,
        account: AccountId,
        tuple: &LinkTuple,
    ) -> Result<String, AccountsError> {
        let key = self.key_of(account).await?;
        self.link_provider(account, &key, tuple).await?;
        let keyring = &self.core.keyring;
        let mac = tuple_mac(
            keyring,
            &tuple.issuer,
            &tuple.tenant,
            &tuple.provider,
            &tuple.subject,
        );
        let owner = keyring.owner("agent-binding-owner", &[&mac]);
        let lane = self.core.lane(&owner).await?;
        let stamp = self.core.clock.stamp();
        // One stream a tuple: its id follows from the tuple, so a second link finds the first.
        let stream = Stream {
            id: lane.mark(derived(&mac)),
            lane,
            owner,
            key: Arc::clone(&key),
        };
        let command = AgentAccountCommand::Link(Box::new(NewBinding {
            account,
            issuer: field("issuer", &tuple.issuer)?,
            tenant: field("tenant", &tuple.tenant)?,
            provider: field("provider", &tuple.provider)?,
            subject: field("subject", &tuple.subject)?,
        }));
        let reference = binding_ref(
            &tuple.issuer,
            &tuple.tenant,
            &tuple.provider,
            &tuple.subject,
        );
        let sealed = key.seal(&binding_place(stream.id), &spelled(&reference)?)?;
        let change = LedgerChange::LinkBinding(BindingRow {
            tuple_mac: mac,
            ref_mac: ref_mac(keyring, &reference),
            stream: stream.id,
            row_id: stream.id,
            account: account.uuid(),
            provider: tuple.provider.clone(),
            key_id: key.id(),
            body: sealed,
            at_ms: stamp.at.millis(),
        });
        self.bindings
            .execute_with(&stream, &command, stamp, &Meta::new(), |append| Append {
                ledger: vec![change.clone()],
                ..append
            })
            .await?;
        Ok(reference)
    }

    /// Makes sure that a tuple of this server's own acts for `account`; its ledger row.
    pub(super) async fn bind(
        &self,
        account: AccountId,
        tuple: &LinkTuple,
    ) -> Result<Uuid, AccountsError> {
        match self.link(account, tuple).await {
            Ok(_) | Err(AccountsError::Binding(AgentAccountError::AlreadyLinked)) => {}
            Err(error) => return Err(error),
        }
        let reference = binding_ref(
            &tuple.issuer,
            &tuple.tenant,
            &tuple.provider,
            &tuple.subject,
        );
        Ok(self.place_of(&reference).await?.row_id)
    }

    async fn link_provider(
        &self,
        account: AccountId,
        key: &Arc<DataKey>,
        tuple: &LinkTuple,
    ) -> Result<(), AccountsError> {
        let subject = ProviderSubject {
            provider: field("provider", &tuple.provider)?,
            subject: field("subject", &tuple.subject)?,
        };
        let owner = owner_of(&self.core, account);
        let lane = self.core.lane(&owner).await?;
        let stream = Stream {
            id: lane.mark(account.uuid()),
            lane,
            owner,
            key: Arc::clone(key),
        };
        let stamp = self.core.clock.stamp();
        let change = LedgerChange::LinkProvider {
            provider: tuple.provider.clone(),
            subject_mac: subject_mac(&self.core.keyring, &tuple.provider, &tuple.subject),
            account: account.uuid(),
            at_ms: stamp.at.millis(),
        };
        let linked = self
            .log
            .execute_with(
                &stream,
                &AccountCommand::LinkProvider(subject),
                stamp,
                &Meta::new(),
                |append| Append {
                    ledger: vec![change.clone()],
                    ..append
                },
            )
            .await;
        match linked {
            // A second tenant of the same subject (settled question 20).
            Ok(_) | Err(ExecuteError::Refused(AccountError::AlreadyLinked)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Revokes a binding. Every credential of its tuple is refused from the commit on.
    pub async fn unlink(&self, reference: &str) -> Result<(), AccountsError> {
        let place = self.place_of(reference).await?;
        self.revoke_binding(&place, "unlinked_by_operator", &Meta::new())
            .await
    }

    async fn key_of(&self, account: AccountId) -> Result<Arc<DataKey>, AccountsError> {
        let key_id = accounts::key_id(&self.core.pool, account.uuid()).await?;
        self.core.key(key_id).await?.ok_or(AccountsError::NoAccount)
    }

    /// The accounts of this server, oldest first, at most 1,000.
    pub async fn list(&self) -> Result<Vec<AccountLine>, AccountsError> {
        let listed = accounts::list(&self.core.pool, 1_000).await?;
        let ids: Vec<AccountId> = listed
            .iter()
            .map(|one| AccountId::new(one.account))
            .collect();
        let totals = account_activity::totals(&self.core.pool, &ids)
            .await
            .map_err(StoreError::from)?;
        let mut lines = Vec::with_capacity(listed.len());
        for one in listed {
            let activity = totals
                .get(&AccountId::new(one.account))
                .copied()
                .unwrap_or_default();
            lines.push(self.line(one, activity).await?);
        }
        Ok(lines)
    }

    async fn line(
        &self,
        listed: ListedAccount,
        activity: ActivityView,
    ) -> Result<AccountLine, AccountsError> {
        let key = self.core.key(Some(listed.key_id)).await?;
        let body = key.and_then(|key| open_body(&key, listed.account, &listed.body));
        let (email, name) = body.map_or_else(
            || (ERASED.to_owned(), ERASED.to_owned()),
            |body| (body.email, body.name),
        );
        let account_id = AccountId::new(listed.account);
        let mut bindings = Vec::with_capacity(listed.bindings.len());
        for binding in listed.bindings {
            let key = self.core.key(Some(binding.key_id)).await?;
            let opened =
                key.and_then(|key| key.open(&binding_place(binding.stream), &binding.body).ok());
            let reference = opened.and_then(|plain| serde_json::from_slice::<String>(&plain).ok());
            bindings.push(BindingLine {
                binding_ref: reference.unwrap_or_else(|| ERASED.to_owned()),
                provider: binding.provider,
                status: if binding.revoked_at_ms.is_none() {
                    "active"
                } else {
                    "revoked"
                },
            });
        }
        Ok(AccountLine {
            account: AccountView {
                account_id,
                profile_id: account_id.to_string(),
                email,
                account_type: AccountType::parse(&listed.account_type)
                    .ok_or_else(|| StoreError::Damaged("an account has no type".to_owned()))?,
            },
            name,
            created_at: Timestamp::from_millis(listed.created_at_ms),
            bindings,
            activity,
        })
    }
}

/// The stream and the rows that a new account begins with.
pub(super) struct Opening {
    pub account: AccountId,
    pub stream: Stream,
    pub ledger: Vec<LedgerChange>,
}

pub(super) async fn opening(
    core: &Core,
    new: &NewAccount,
    stamp: Stamp,
) -> Result<Opening, StoreError> {
    let account = core.ids.account();
    let owner = owner_of(core, account);
    let lane = core.lane(&owner).await?;
    let at_ms = stamp.at.millis();
    let (wrapped, key) = core.keyring.make(core.ids.uuid(), &owner, at_ms)?;
    let body = AccountBody {
        email: new.email.as_str().to_owned(),
        name: new.name.as_str().to_owned(),
    };
    let ledger = vec![
        LedgerChange::AddDataKey(wrapped),
        LedgerChange::AddAccount {
            account: account.uuid(),
            email_mac: email_mac(&core.keyring, &body.email),
            account_type: new.account_type.as_str(),
            key_id: key.id(),
            body: key.seal(&body_place(account.uuid()), &spelled(&body)?)?,
            at_ms,
            verified_at_ms: (new.address == Address::Verified).then_some(at_ms),
        },
    ];
    let stream = Stream {
        id: lane.mark(account.uuid()),
        lane,
        owner,
        key,
    };
    Ok(Opening {
        account,
        stream,
        ledger,
    })
}

/// The owner under which all streams of an account stand.
pub(crate) fn owner_of(core: &Core, account: AccountId) -> OwnerKey {
    core.keyring.owner("account", &[account.uuid().as_bytes()])
}

/// The look-up of an address, whatever its case.
pub(super) fn email_mac(keyring: &Keyring, email: &str) -> [u8; 32] {
    keyring.mac("email", &[email.trim().to_lowercase().as_bytes()])
}

pub(super) fn email_taken(error: ExecuteError<AccountError>) -> AccountsError {
    if let ExecuteError::Store(StoreError::Duplicate("account_email")) = &error {
        return AccountsError::EmailTaken;
    }
    error.into()
}

/// An e-mail address, as its owner writes it.
pub(super) fn address(raw: &str) -> Result<Text<320>, AccountsError> {
    let email = field::<320>("email", raw.trim())?;
    if email.as_str().contains('@') {
        Ok(email)
    } else {
        let reason = "is not an address".to_owned();
        Err(AccountsError::Invalid {
            field: "email",
            reason,
        })
    }
}

pub(super) fn field<const MAX: usize>(
    field: &'static str,
    raw: &str,
) -> Result<Text<MAX>, AccountsError> {
    helix_aggregates::text::without_controls(raw)
        .and_then(Text::parse)
        .map_err(|reason| AccountsError::Invalid {
            field,
            reason: reason.to_string(),
        })
}

pub(super) fn spelled<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::Damaged(error.to_string()))
}

fn body_place(account: Uuid) -> String {
    format!("{account}/account")
}

pub(super) fn open_body(key: &DataKey, account: Uuid, sealed: &[u8]) -> Option<AccountBody> {
    let plain = key.open(&body_place(account), sealed).ok()?;
    serde_json::from_slice(&plain).ok()
}

/// The name of an account, for those it works with.
pub(crate) fn name_of(key: &DataKey, account: Uuid, sealed: &[u8]) -> Option<String> {
    open_body(key, account, sealed).map(|body| body.name)
}

/// The address of an account, for the developer list.
pub(super) fn email_of(key: &DataKey, account: Uuid, sealed: &[u8]) -> Option<String> {
    open_body(key, account, sealed).map(|body| body.email)
}

fn binding_place(stream: Uuid) -> String {
    format!("{stream}/binding")
}

pub(super) fn ref_mac(keyring: &Keyring, reference: &str) -> [u8; 32] {
    keyring.mac("binding-ref", &[reference.as_bytes()])
}

/// The look-up of an exact (issuer, tenant, provider, subject).
pub(super) fn tuple_mac(
    keyring: &Keyring,
    issuer: &str,
    tenant: &str,
    provider: &str,
    subject: &str,
) -> [u8; 32] {
    keyring.mac(
        "agent-binding",
        &[issuer, tenant, provider, subject].map(str::as_bytes),
    )
}

pub(super) fn subject_mac(keyring: &Keyring, provider: &str, subject: &str) -> [u8; 32] {
    keyring.mac(
        "provider-subject",
        &[provider.as_bytes(), subject.as_bytes()],
    )
}

fn derived(mac: &[u8; 32]) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&mac[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
