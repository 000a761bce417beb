//! What whoever holds the data directory does to workspaces (settled question 40).

use helix_aggregates::access::author::Maker;
use helix_aggregates::access::workspace::command::{Role, WorkspaceCommand};
use helix_aggregates::ids::{AccountId, WorkspaceId};

use super::audit::operators_entry;
use super::site::{nothing, workspace_owner};
use super::{Work, opening};
use crate::app::problem::Problem;
use crate::store::append::Append;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::WorkChange;
use crate::store::log::{ExecuteError, Meta, Stream};
use crate::store::owner::Lane;
use crate::store::{StoreError, accounts, work};

impl Work {
    /// The workspace that an account starts with. `name` is the account's.
    pub async fn own(&self, account: AccountId, name: &str) -> Result<WorkspaceId, StoreError> {
        opening::own(&self.core, &self.workspaces, account, name).await
    }

    /// Adds an account to a workspace.
    pub async fn add_member(
        &self,
        workspace: WorkspaceId,
        account: AccountId,
        role: Role,
    ) -> Result<(), Problem> {
        let id = workspace.uuid();
        let known = accounts::key_id(&self.core.pool, account.uuid()).await?;
        known.ok_or_else(nothing)?;
        let key = self.core.key(work::key_id(&self.core.reads, id).await?);
        let stream = Stream {
            id,
            lane: Lane::of_stream(id).ok_or_else(nothing)?,
            owner: workspace_owner(&self.core, id),
            key: key.await?.ok_or_else(nothing)?,
        };
        let command = WorkspaceCommand::AddMember {
            account,
            role,
            by: Maker::Operator,
        };
        let stamp = self.core.clock.stamp();
        let change = LedgerChange::Work(WorkChange::Join {
            workspace: id,
            account: account.uuid(),
            role: role.as_str(),
            at_ms: stamp.at.millis(),
        });
        let meta = Meta::new();
        let loaded = self.workspaces.load(&stream).await?;
        let added = self
            .workspaces
            .prepare(&stream, &loaded, &command, stamp, &meta);
        let prepared = added.map_err(|error| match error {
            ExecuteError::Refused(refusal) => Problem::from(refusal),
            ExecuteError::Store(error) => error.into(),
        })?;
        let append = Append {
            ledger: vec![change],
            ..Append::of(stream.lane, vec![prepared.append])
        };
        let entry = operators_entry("member_add", &account.to_string())?;
        let recorded = self.records.append(&stream, append, entry, stamp, &meta);
        recorded.await?;
        self.workspaces.remember(&stream, prepared.next);
        Ok(())
    }
}
