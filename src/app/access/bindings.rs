//! The outside identities, and the server's own, that act for an account, as its owner sees them
//! (`agent-api` 8.5).

use helix_aggregates::access::agent_account::AgentAccount;
use helix_aggregates::access::agent_account::command::AgentAccountCommand;
use helix_aggregates::access::agent_account::error::AgentAccountError;
use helix_aggregates::ids::tenant_ref;
use helix_aggregates::time::Timestamp;
use helix_projections::agent::ERASED;
use serde::Serialize;

use super::accounts::{Accounts, AccountsError, field};
use super::sign_in::Person;
use crate::store::accounts::{self, BindingPlace};
use crate::store::append::{Append, Priority};
use crate::store::ledger::LedgerChange;
use crate::store::log::{ExecuteError, Meta, Stream};
use crate::store::owner::Lane;

/// Bindings of one account that a list shows.
const LISTED: i64 = 200;

/// One binding as its account's owner sees it: never its subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnBinding {
    pub binding_ref: String,
    pub issuer: String,
    pub tenant_ref: String,
    pub provider: String,
    pub status: &'static str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub subject_included: bool,
    pub bearer_included: bool,
}

/// What became of a wish to end a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlinked {
    pub binding: OwnBinding,
    pub already_revoked: bool,
}

impl Accounts {
    /// The bindings of `person`, newest update first.
    pub async fn bindings_of(&self, person: &Person) -> Result<Vec<OwnBinding>, AccountsError> {
        let account = person.account.uuid();
        let places = accounts::bindings_of(&self.core.pool, account, LISTED).await?;
        let mut listed = Vec::with_capacity(places.len());
        for place in &places {
            let loaded = self
                .bindings
                .load(&self.binding_stream(place).await?)
                .await?;
            listed.extend(seen(&loaded.state));
        }
        listed.sort_by_key(|binding| std::cmp::Reverse(binding.updated_at));
        Ok(listed)
    }

    /// Ends a binding of `person`: every credential of its tuple is refused from the commit on.
    pub async fn unlink_own(
        &self,
        person: &Person,
        reference: &str,
    ) -> Result<Unlinked, AccountsError> {
        let place = self.place_of(reference).await?;
        if place.account != person.account.uuid() {
            return Err(AccountsError::NoBinding);
        }
        let reason = "unlinked_by_owner";
        let ended = self.revoke_binding(&place, reason, &person.meta()).await;
        let already_revoked = match ended {
            Ok(()) => false,
            Err(AccountsError::Binding(AgentAccountError::AlreadyRevoked)) => true,
            Err(error) => return Err(error),
        };
        let loaded = self
            .bindings
            .load(&self.binding_stream(&place).await?)
            .await?;
        let binding = seen(&loaded.state).ok_or(AccountsError::NoBinding)?;
        Ok(Unlinked {
            binding,
            already_revoked,
        })
    }

    /// Where the binding of a public reference is kept.
    pub(super) async fn place_of(&self, reference: &str) -> Result<BindingPlace, AccountsError> {
        let mac = super::accounts::ref_mac(&self.core.keyring, reference);
        let found = accounts::binding(&self.core.pool, &mac).await?;
        found.ok_or(AccountsError::NoBinding)
    }

    pub(super) async fn revoke_binding(
        &self,
        place: &BindingPlace,
        reason: &'static str,
        meta: &Meta,
    ) -> Result<(), AccountsError> {
        let stream = self.binding_stream(place).await?;
        let stamp = self.core.clock.stamp();
        let change = LedgerChange::Revoke {
            row_id: place.row_id,
            reason,
            at_ms: stamp.at.millis(),
        };
        let command = AgentAccountCommand::Revoke {
            reason: field("reason", reason)?,
        };
        self.bindings
            .execute_with(&stream, &command, stamp, meta, |append| Append {
                ledger: vec![change.clone()],
                priority: Priority::Withdrawal,
                ..append
            })
            .await
            .map(drop)
            .map_err(|error: ExecuteError<AgentAccountError>| error.into())
    }

    async fn binding_stream(&self, place: &BindingPlace) -> Result<Stream, AccountsError> {
        let owner = self
            .core
            .keyring
            .owner("agent-binding-owner", &[&place.tuple_mac]);
        let key = self.core.key(Some(place.key_id)).await?;
        Ok(Stream {
            id: place.stream,
            lane: Lane::of_stream(place.stream).ok_or(AccountsError::NoBinding)?,
            owner,
            key: key.ok_or(AccountsError::NoBinding)?,
        })
    }
}

fn seen(state: &AgentAccount) -> Option<OwnBinding> {
    let binding = state.binding()?;
    let revoked_at = match state {
        AgentAccount::Revoked { at, .. } => Some(*at),
        AgentAccount::Absent | AgentAccount::Active(_) => None,
    };
    let tenant = binding.tenant.open().map_or(ERASED, String::as_str);
    Some(OwnBinding {
        binding_ref: binding.reference().unwrap_or_else(|| ERASED.to_owned()),
        issuer: binding.issuer.clone(),
        tenant_ref: tenant_ref(tenant),
        provider: binding.provider.clone(),
        status: if revoked_at.is_none() {
            "active"
        } else {
            "revoked"
        },
        created_at: binding.created_at,
        updated_at: binding.updated_at,
        revoked_at,
        subject_included: false,
        bearer_included: false,
    })
}
