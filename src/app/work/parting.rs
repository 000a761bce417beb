//! What an account leaves behind in workspaces when it is deleted (`access` 2, 6.1).
//!
//! What must stay true: nobody is an owner any more, and nothing works any more that they made, before
//! the account is gone; a workspace is never left without an owner, nor taken from those who work in it.

use helix_aggregates::access::audit::command::NewEntry;
use helix_aggregates::access::audit::event::Action;
use helix_aggregates::access::author::{Author, Maker};
use helix_aggregates::access::token::event::TokenRevocation;
use helix_aggregates::access::workspace::command::{Role, WorkspaceCommand};
use helix_aggregates::access::workspace::{Body, Workspace};
use helix_aggregates::ids::WorkspaceId;
use helix_aggregates::text::Text;
use helix_aggregates::time::Stamp;
use uuid::Uuid;

use super::tokens::By;
use super::workspaces::open;
use super::{Work, views};
use crate::app::access::sign_in::{Person, WithAccount};
use crate::app::problem::Problem;
use crate::store::append::Append;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::WorkChange;
use crate::store::log::{ExecuteError, Prepared, Stream};
use crate::store::owner::Lane;
use crate::store::{StoreError, work};

/// Workspaces looked at together.
const PAGE: i64 = 200;
/// Looks at what is left; somebody may be invited to further ones meanwhile.
const LOOKS: usize = 20;

/// Why an account stays.
#[derive(Debug)]
pub enum PartingError {
    /// Others work in the workspace of this name, and it would have no owner.
    OnlyOwner(String),
    Problem(Problem),
}

impl<E: Into<Problem>> From<E> for PartingError {
    fn from(error: E) -> Self {
        Self::Problem(error.into())
    }
}

/// One workspace of somebody who goes.
struct Membership {
    stream: Stream,
    loaded: std::sync::Arc<crate::store::log::Loaded<Workspace>>,
}

impl Work {
    /// Leaves every workspace of a person, and returns what has to share the commit that ends the
    /// account: the end of those that nobody else is in.
    pub async fn part(&self, person: &Person) -> Result<WithAccount, PartingError> {
        for _ in 0..LOOKS {
            let memberships = self.memberships(person).await?;
            for one in &memberships {
                let body = open(&one.loaded.state)?;
                if is_only_owner(body, person) && body.members.len() > 1 {
                    return Err(PartingError::OnlyOwner(views::text(&body.name).to_owned()));
                }
            }
            let lane = self.lane_of(person).await?;
            let (alone, shared): (Vec<_>, Vec<_>) = memberships
                .into_iter()
                .partition(|one| is_alone(&one.loaded.state));
            let (here, elsewhere): (Vec<_>, Vec<_>) =
                alone.into_iter().partition(|one| one.stream.lane == lane);
            if shared.is_empty() && elsewhere.is_empty() {
                return self.endings(person, &here);
            }
            for one in &shared {
                self.leave(person, one).await?;
            }
            for one in &elsewhere {
                let ending = self.endings(person, std::slice::from_ref(one))?;
                let append = Append {
                    guards: vec![person.session.uuid()],
                    ledger: ending.ledger,
                    ..Append::of(one.stream.lane, ending.streams)
                };
                self.core.append(append).await?;
                self.core.keyring.forget(one.stream.key.id());
            }
        }
        Err(StoreError::HeadMoved.into())
    }

    async fn memberships(&self, person: &Person) -> Result<Vec<Membership>, Problem> {
        let session = person.session.uuid();
        let mut found = Vec::new();
        for one in work::workspaces(&self.core.withdrawals, session, PAGE).await? {
            let stream = self.home(WorkspaceId::new(one.workspace)).await?;
            let loaded = self.workspaces.load(&stream).await?;
            found.push(Membership { stream, loaded });
        }
        Ok(found)
    }

    async fn lane_of(&self, person: &Person) -> Result<Lane, StoreError> {
        let owner = crate::app::access::accounts::owner_of(&self.core, person.account);
        self.core.lane(&owner).await
    }

    /// Leaves a workspace that others own. An owner's tokens end before, as when one is removed.
    async fn leave(&self, person: &Person, one: &Membership) -> Result<(), Problem> {
        let (account, stamp) = (person.account, self.core.clock.stamp());
        let maker = Maker::Account(account);
        let workspace = WorkspaceId::new(one.stream.id);
        let body = open(&one.loaded.state)?;
        if body.role(account) == Some(Role::Owner) {
            let by = By {
                maker,
                meta: person.meta(),
                must: None,
                entry: None,
            };
            for token in self.tokens.made_by(workspace, account).await? {
                let cause = TokenRevocation::MemberRemoved;
                self.tokens.revoke(token.token_id, cause, &by).await?;
            }
        }
        let command = WorkspaceCommand::RemoveMember { account, by: maker };
        let prepared = self.prepared(person, one, &command, stamp)?;
        let append = Append {
            guards: vec![person.session.uuid()],
            ledger: vec![LedgerChange::Work(WorkChange::Leave {
                workspace: one.stream.id,
                account: account.uuid(),
                at_ms: stamp.at.millis(),
            })],
            ..Append::of(one.stream.lane, vec![prepared.append])
        };
        let (entry, meta) = (entry(person)?, person.meta());
        let recorded = self
            .records
            .append(&one.stream, append, entry, stamp, &meta);
        recorded.await?;
        self.workspaces.remember(&one.stream, prepared.next);
        Ok(())
    }

    /// The end of workspaces that one person alone is in.
    fn endings(&self, person: &Person, alone: &[Membership]) -> Result<WithAccount, PartingError> {
        let stamp = self.core.clock.stamp();
        let by = Maker::Account(person.account);
        let mut with = WithAccount::default();
        for one in alone {
            let command = WorkspaceCommand::Delete { by };
            let prepared = self.prepared(person, one, &command, stamp)?;
            with.streams.push(prepared.append);
            let key_id: Uuid = one.stream.key.id();
            with.keys.push(key_id);
            with.ledger.push(LedgerChange::Work(WorkChange::Delete {
                workspace: one.stream.id,
                key_id,
                at_ms: stamp.at.millis(),
            }));
        }
        Ok(with)
    }

    fn prepared(
        &self,
        person: &Person,
        one: &Membership,
        command: &WorkspaceCommand,
        stamp: Stamp,
    ) -> Result<Prepared<Workspace>, Problem> {
        let meta = person.meta();
        let prepared = self
            .workspaces
            .prepare(&one.stream, &one.loaded, command, stamp, &meta);
        prepared.map_err(|error| match error {
            ExecuteError::Refused(refusal) => refusal.into(),
            ExecuteError::Store(error) => error.into(),
        })
    }
}

fn is_only_owner(body: &Body, person: &Person) -> bool {
    let mut owners = body.owners();
    owners.next() == Some(person.account) && owners.next().is_none()
}

fn is_alone(workspace: &Workspace) -> bool {
    workspace.body().is_some_and(|body| body.members.len() == 1)
}

fn entry(person: &Person) -> Result<NewEntry, StoreError> {
    let fault = |_| StoreError::Damaged("an entry of a record is too long".to_owned());
    Ok(NewEntry {
        client: Text::parse("You (web)").map_err(fault)?,
        action: Action::Write,
        detail: Text::parse(&format!("member_remove {}", person.account)).map_err(fault)?,
        by: Some(Author::Account(person.account)),
    })
}
