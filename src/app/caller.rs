//! Who is calling: one value, whatever the credential. Nothing behind authentication sees its text.

use std::collections::BTreeSet;
use std::sync::Arc;

use helix_aggregates::access::account::command::AccountType;
use helix_aggregates::agent::run::command::AdmittedPolicy;
use helix_aggregates::ids::{AccountId, OwnerTuple};
use uuid::Uuid;

use super::policy::DataPolicy;
use super::problem::{Code, Problem};
use crate::store::guarded::Reader;
use crate::store::log::{Meta, Stream};
use crate::store::owner::{Lane, OwnerKey};
use crate::store::sealing::DataKey;

pub const SCOPE_READ: &str = "helix.agent_runs.read";
pub const SCOPE_WRITE: &str = "helix.agent_runs.write";
pub const SCOPE_DEVELOPER: &str = "helix.agent_runs.developer";

/// An authenticated caller of the agent doors (`access` 1.3).
#[derive(Debug, Clone)]
pub struct Caller {
    /// The ledger row its credential resolves to; every read and write checks that it lives.
    pub row_id: Uuid,
    /// A second row that must live too: the binding that an app of this server acts through.
    pub rests_on: Option<Uuid>,
    pub account: AccountId,
    pub account_type: AccountType,
    pub owner: OwnerTuple,
    pub owner_key: OwnerKey,
    pub lane: Lane,
    pub key: Arc<DataKey>,
    pub scopes: BTreeSet<String>,
}

impl Caller {
    /// Refuses a caller without the scope of a route.
    pub fn require(&self, scope: &'static str) -> Result<(), Problem> {
        if self.scopes.contains(scope) {
            Ok(())
        } else {
            Err(Problem::missing_scope(scope, &[scope]))
        }
    }

    /// What `policy` admits to this caller in an operation of the route scope `operation`.
    pub fn admit(
        &self,
        policy: &DataPolicy,
        requested: &[String],
        operation: &'static str,
    ) -> Result<AdmittedPolicy, Problem> {
        policy
            .admit(requested, &self.scopes, self.account_type)
            .map_err(|mut problem| {
                if problem.code == Code::InsufficientScope {
                    problem.scopes.insert(0, operation.to_owned());
                }
                problem
            })
    }

    /// One of this caller's streams.
    pub fn stream(&self, id: Uuid) -> Stream {
        Stream {
            id,
            lane: self.lane,
            owner: self.owner_key,
            key: Arc::clone(&self.key),
        }
    }

    /// Whose rows a read may see, and the ledger row that must live for it.
    pub fn reader(&self) -> Reader {
        Reader {
            row_id: self.row_id,
            owner: self.owner_key,
        }
    }

    /// The ledger rows that every write of this caller depends on.
    pub fn guards(&self) -> Vec<Uuid> {
        std::iter::once(self.row_id).chain(self.rests_on).collect()
    }

    /// What its credential's end means where there is no request any more that could be looked up
    /// again: an app has to log in again, an unlinked identity cannot (`access` 2).
    pub fn ended(&self) -> Code {
        if self.rests_on.is_some() {
            Code::Unauthorized
        } else {
            Code::AccountNotLinked
        }
    }

    /// What is recorded beside each event this caller causes.
    pub fn meta(&self) -> Meta {
        std::iter::once(("by".to_owned(), self.row_id.to_string())).collect()
    }
}
