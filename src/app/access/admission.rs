//! From a verified token to a [`Caller`] (`agent-api` 11.3). Nothing is created from claims, and
//! the look-up happens on every request, so a revoked binding is refused at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use helix_aggregates::access::account::command::AccountType;
use helix_aggregates::ids::{AccountId, OwnerTuple};
use sqlx::Row;
use uuid::Uuid;

use crate::app::caller::{Caller, SCOPE_DEVELOPER};
use crate::app::problem::{Code, Problem};
use crate::store::{Core, StoreError};

/// Who a verified token speaks for.
#[derive(Debug, Clone)]
pub struct Identity {
    pub issuer: String,
    pub tenant: String,
    /// The configured alias of the issuer.
    pub provider: String,
    pub subject: String,
    pub scopes: BTreeSet<String>,
}

/// When a stored type `developer` counts (`agent-api` 11.3, settled question 6).
#[derive(Debug, Clone)]
pub enum DeveloperRule {
    /// Outside production the stored type counts by itself.
    Stored,
    /// In production only with the scope, and for a listed profile, address or subject
    /// (lower case).
    Listed(BTreeSet<String>),
}

#[derive(Debug, Clone)]
pub struct Admission {
    core: Arc<Core>,
    developers: DeveloperRule,
}

struct Bound {
    row_id: Uuid,
    account: Uuid,
    account_type: String,
    key_id: Uuid,
    account_body: Vec<u8>,
}

impl Admission {
    pub fn new(core: Arc<Core>, developers: DeveloperRule) -> Self {
        Self { core, developers }
    }

    /// The caller behind `identity`, or `account_not_linked`.
    pub async fn admit(&self, identity: Identity) -> Result<Caller, Problem> {
        let bound = self.bound(&identity).await?;
        let Some(bound) = bound else {
            return Err(Problem::new(Code::AccountNotLinked));
        };
        let account = AccountId::new(bound.account);
        let key = self.core.key(Some(bound.key_id)).await?;
        // Without its key an account is erased, whatever its rows still say.
        let Some(key) = key else {
            return Err(Problem::new(Code::AccountNotLinked));
        };
        let email = super::accounts::email_of(&key, bound.account, &bound.account_body);
        let developer = bound.account_type == AccountType::Developer.as_str()
            && self.counts_as_developer(account, email.as_deref(), &identity);
        let owner = OwnerTuple {
            tenant: identity.tenant,
            issuer: identity.issuer,
            subject: identity.subject,
            profile: account.to_string(),
        };
        let parts = [&owner.tenant, &owner.issuer, &owner.subject, &owner.profile];
        let owner_key = self
            .core
            .keyring
            .owner("run-owner", &parts.map(|part| part.as_bytes()));
        Ok(Caller {
            row_id: bound.row_id,
            account,
            account_type: if developer {
                AccountType::Developer
            } else {
                AccountType::User
            },
            lane: self.core.lane(&owner_key).await?,
            owner,
            owner_key,
            key,
            scopes: identity.scopes,
        })
    }

    async fn bound(&self, identity: &Identity) -> Result<Option<Bound>, StoreError> {
        let keyring = &self.core.keyring;
        let row = sqlx::query(
            "select b.row_id, b.account_id, a.account_type, a.key_id, a.body
               from access.agent_binding b
               join access.ledger l on l.row_id = b.row_id and l.revoked_at_ms is null
               join access.account a on a.account_id = b.account_id and a.deleted_at_ms is null
               join access.linked_provider p
                 on p.account_id = b.account_id and p.provider = b.provider and p.subject_mac = $2
              where b.tuple_mac = $1",
        )
        .bind(
            &super::accounts::tuple_mac(
                keyring,
                &identity.issuer,
                &identity.tenant,
                &identity.provider,
                &identity.subject,
            )[..],
        )
        .bind(&super::accounts::subject_mac(keyring, &identity.provider, &identity.subject)[..])
        .fetch_optional(&self.core.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Bound {
            row_id: row.try_get("row_id")?,
            account: row.try_get("account_id")?,
            account_type: row.try_get("account_type")?,
            key_id: row.try_get("key_id")?,
            account_body: row.try_get("body")?,
        }))
    }

    fn counts_as_developer(
        &self,
        account: AccountId,
        email: Option<&str>,
        identity: &Identity,
    ) -> bool {
        match &self.developers {
            DeveloperRule::Stored => true,
            DeveloperRule::Listed(listed) => {
                let names = [
                    Some(account.to_string()),
                    email.map(str::to_owned),
                    Some(identity.subject.clone()),
                ];
                identity.scopes.contains(SCOPE_DEVELOPER)
                    && names
                        .iter()
                        .flatten()
                        .any(|name| listed.contains(&name.to_lowercase()))
            }
        }
    }
}
