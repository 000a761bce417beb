//! The workspace that each account starts with (`access` 6.1).
//!
//! What must stay true: it is opened once, however many ask for it at the same time, because its id
//! follows from the account's. It is opened when it is first needed, so that making an account needs
//! nothing of it.

use helix_aggregates::access::workspace::Workspace;
use helix_aggregates::access::workspace::command::{NewWorkspace, Role, WorkspaceCommand};
use helix_aggregates::ids::{AccountId, WorkspaceId};
use helix_aggregates::text::{Text, prefix, trim};
use uuid::Uuid;

use super::site::workspace_owner;
use crate::app::access::accounts::owner_of;
use crate::store::append::Append;
use crate::store::ledger::LedgerChange;
use crate::store::ledger::work::WorkChange;
use crate::store::log::{ExecuteError, Log, Meta, Stream};
use crate::store::owner::Lane;
use crate::store::{Core, StoreError, work};

/// Makes sure that an account has its workspace. `name` is the account's.
pub async fn own(
    core: &Core,
    log: &Log<Workspace>,
    account: AccountId,
    name: &str,
) -> Result<WorkspaceId, StoreError> {
    // In the lane of the account: what an account and its workspace do can share a commit.
    let lane = core.lane(&owner_of(core, account)).await?;
    let id = derived(core, lane, account);
    if work::key_id(&core.admissions, id).await?.is_some() {
        return Ok(WorkspaceId::new(id));
    }
    match open(core, log, lane, (id, account, name)).await {
        // Another process has rotated the key file since it was read.
        Err(ExecuteError::Store(StoreError::KeyRetired)) => {
            core.keyring.reload()?;
            opened(core, open(core, log, lane, (id, account, name)).await, id).await
        }
        tried => opened(core, tried, id).await,
    }
}

/// Whoever came second finds the workspace there, under a key that is not theirs.
async fn opened<E>(
    core: &Core,
    tried: Result<(), ExecuteError<E>>,
    id: Uuid,
) -> Result<WorkspaceId, StoreError> {
    let found = work::key_id(&core.admissions, id).await?;
    match (found, tried) {
        (Some(_), _) => Ok(WorkspaceId::new(id)),
        (None, Err(ExecuteError::Store(error))) => Err(error),
        (None, Err(ExecuteError::Refused(_)) | Ok(())) => Err(StoreError::Damaged(
            "a workspace has a log and no row".to_owned(),
        )),
    }
}

async fn open(
    core: &Core,
    log: &Log<Workspace>,
    lane: Lane,
    (id, account, name): (Uuid, AccountId, &str),
) -> Result<(), ExecuteError<helix_aggregates::access::workspace::error::WorkspaceError>> {
    let owner = workspace_owner(core, id);
    let stamp = core.clock.stamp();
    let at_ms = stamp.at.millis();
    let (wrapped, key) = core.keyring.make(core.ids.uuid(), &owner, at_ms)?;
    let key_id = key.id();
    let stream = Stream {
        id,
        lane,
        owner,
        key,
    };
    let command = WorkspaceCommand::Open(Box::new(NewWorkspace {
        name: called(name)?,
        owner: account,
    }));
    let ledger = [
        LedgerChange::AddDataKey(wrapped),
        LedgerChange::Work(WorkChange::Open {
            workspace: id,
            key_id,
            at_ms,
        }),
        LedgerChange::Work(WorkChange::Join {
            workspace: id,
            account: account.uuid(),
            role: Role::Owner.as_str(),
            at_ms,
        }),
    ];
    let tried = log
        .execute_with(&stream, &command, stamp, &Meta::new(), |append| Append {
            ledger: ledger.to_vec(),
            ..append
        })
        .await;
    if tried.is_err() {
        // What was folded may rest on a key that was never stored.
        log.forget(&stream);
    }
    tried.map(drop)
}

fn called(name: &str) -> Result<Text<120>, StoreError> {
    let name = format!("Workspace of {}", trim(name));
    Text::parse(prefix(&name, 120))
        .map_err(|_| StoreError::Damaged("a workspace has no name".to_owned()))
}

fn derived(core: &Core, lane: Lane, account: AccountId) -> Uuid {
    let mac = core
        .keyring
        .mac("own-workspace", &[account.uuid().as_bytes()]);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&mac[..16]);
    lane.mark(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}
