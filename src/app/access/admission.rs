//! From a verified token to a [`Caller`] (`agent-api` 11.3). Nothing is created from claims, and
//! the look-up happens on every request, so a revoked binding is refused at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use helix_aggregates::access::account::command::AccountType;
use helix_aggregates::access::grant::command::Door;
use helix_aggregates::ids::{AccountId, OwnerTuple};

use super::accounts::{email_of, subject_mac, tuple_mac};
use super::grants::OWN_PROVIDER;
use crate::app::caller::{Caller, SCOPE_DEVELOPER};
use crate::app::problem::{Code, Problem};
use crate::store::accounts::{self, BoundAccount};
use crate::store::oauth_tokens::{self, Standing};
use crate::store::sealing::DataKey;
use crate::store::uses::Used;
use crate::store::{Core, Line, StoreError};

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

impl Admission {
    pub fn new(core: Arc<Core>, developers: DeveloperRule) -> Self {
        Self { core, developers }
    }

    /// The caller behind `identity`, or `account_not_linked`.
    pub async fn admit(&self, identity: Identity, line: Line) -> Result<Caller, Problem> {
        let bound = self.bound(&identity, line).await?;
        let Some(bound) = bound else {
            return Err(Problem::new(Code::AccountNotLinked));
        };
        let key = self.core.key(Some(bound.key_id)).await?;
        // Without its key an account is erased, whatever its rows still say.
        let Some(key) = key else {
            return Err(Problem::new(Code::AccountNotLinked));
        };
        self.caller(bound, key, identity).await
    }

    /// The caller behind an access token of this server, or why it opens nothing (`access` 4.1).
    pub async fn admit_app(
        &self,
        token_hash: &[u8; 32],
        issuer: &str,
        line: Line,
    ) -> Result<Caller, Problem> {
        let found = oauth_tokens::access(self.core.line(line), token_hash).await?;
        let unknown = || Problem::new(Code::Unauthorized);
        let found = found
            .filter(|found| found.door == Door::Agent.as_str())
            .ok_or_else(unknown)?;
        match found.standing {
            Standing::Live => {}
            Standing::Ended => return Err(unknown()),
            Standing::Paused => {
                let text = "The owner of the account has paused this app.";
                return Err(Problem {
                    message: text.into(),
                    ..Problem::new(Code::AccountPolicyBlocked)
                });
            }
            Standing::Unlinked => return Err(Problem::new(Code::AccountNotLinked)),
        }
        let key = self
            .core
            .key(Some(found.key_id))
            .await?
            .ok_or_else(unknown)?;
        if found.stale {
            let noted = self.core.note_use(Used::Grant, found.row_id, line);
            noted.await?;
        }
        let id = AccountId::new(found.account).to_string();
        let identity = Identity {
            issuer: issuer.to_owned(),
            tenant: id.clone(),
            provider: OWN_PROVIDER.to_owned(),
            subject: id,
            scopes: found.scopes.into_iter().collect(),
        };
        let bound = BoundAccount {
            row_id: found.row_id,
            account: found.account,
            account_type: found.account_type,
            key_id: found.key_id,
            body: found.body,
        };
        let caller = self.caller(bound, key, identity).await?;
        Ok(Caller {
            rests_on: found.rests_on,
            ..caller
        })
    }

    async fn caller(
        &self,
        bound: BoundAccount,
        key: Arc<DataKey>,
        identity: Identity,
    ) -> Result<Caller, Problem> {
        let account = AccountId::new(bound.account);
        let email = email_of(&key, bound.account, &bound.body);
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
            .owner("run-owner", &parts.map(String::as_bytes));
        Ok(Caller {
            row_id: bound.row_id,
            rests_on: None,
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

    async fn bound(
        &self,
        identity: &Identity,
        line: Line,
    ) -> Result<Option<BoundAccount>, StoreError> {
        let keyring = &self.core.keyring;
        let Identity {
            issuer,
            tenant,
            provider,
            subject,
            ..
        } = identity;
        let tuple = tuple_mac(keyring, issuer, tenant, provider, subject);
        let subject = subject_mac(keyring, provider, subject);
        accounts::bound(self.core.line(line), &tuple, &subject).await
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
