//! The arms of a workspace.

mod members;
mod projects;
mod repositories;

use super::command::{NewWorkspace, WorkspaceCommand};
use super::error::WorkspaceError;
use super::event::{WorkspaceDeleted, WorkspaceEvent, WorkspaceOpened};
use super::{Body, Workspace};
use crate::sealed::Sealed;
use crate::text::without_controls;
use crate::time::Stamp;

pub(super) fn decide(
    workspace: &Workspace,
    command: &WorkspaceCommand,
    stamp: Stamp,
) -> Result<Vec<WorkspaceEvent>, WorkspaceError> {
    match (workspace, command) {
        (Workspace::Absent, WorkspaceCommand::Open(new)) => open(new, stamp),
        (Workspace::Open(body), command) => change(body, command, stamp),
        (
            Workspace::Absent,
            WorkspaceCommand::AddMember { .. }
            | WorkspaceCommand::Invite(_)
            | WorkspaceCommand::AcceptInvite { .. }
            | WorkspaceCommand::WithdrawInvite { .. }
            | WorkspaceCommand::ChangeRole { .. }
            | WorkspaceCommand::RemoveMember { .. }
            | WorkspaceCommand::CreateProject(_)
            | WorkspaceCommand::ChangeProject(_)
            | WorkspaceCommand::ConnectRepository(_)
            | WorkspaceCommand::DisconnectRepository { .. }
            | WorkspaceCommand::Delete { .. },
        ) => Err(WorkspaceError::NotFound),
        (Workspace::Deleted { .. }, _) => Err(WorkspaceError::Deleted),
    }
}

fn change(
    body: &Body,
    command: &WorkspaceCommand,
    stamp: Stamp,
) -> Result<Vec<WorkspaceEvent>, WorkspaceError> {
    let event = match command {
        WorkspaceCommand::Open(_) => return Err(WorkspaceError::AlreadyOpen),
        WorkspaceCommand::Invite(new) => return members::invite(body, new, stamp),
        WorkspaceCommand::ChangeRole { account, role, by } => {
            return members::change_role(body, (*account, *role), *by, stamp);
        }
        WorkspaceCommand::RemoveMember { account, by } => {
            return members::remove(body, *account, *by, stamp);
        }
        WorkspaceCommand::ChangeProject(change) => return projects::change(body, change, stamp),
        WorkspaceCommand::AddMember { account, role, by } => {
            members::add(body, (*account, *role), *by, stamp)?
        }
        WorkspaceCommand::AcceptInvite { invite, account } => {
            members::accept(body, *invite, *account, stamp)?
        }
        WorkspaceCommand::WithdrawInvite { invite, by } => {
            members::withdraw(body, *invite, *by, stamp)?
        }
        WorkspaceCommand::CreateProject(new) => projects::create(body, new, stamp)?,
        WorkspaceCommand::ConnectRepository(new) => repositories::connect(body, new, stamp)?,
        WorkspaceCommand::DisconnectRepository { repository, by } => {
            repositories::disconnect(body, *repository, *by, stamp)?
        }
        WorkspaceCommand::Delete { by } => WorkspaceEvent::Deleted(WorkspaceDeleted {
            at: stamp.at,
            by: *by,
        }),
    };
    Ok(vec![event])
}

fn open(new: &NewWorkspace, stamp: Stamp) -> Result<Vec<WorkspaceEvent>, WorkspaceError> {
    Ok(vec![WorkspaceEvent::Opened(WorkspaceOpened {
        at: stamp.at,
        name: printable("name", new.name.as_str())?,
        owner: new.owner,
    })])
}

fn printable(field: &'static str, text: &str) -> Result<Sealed<String>, WorkspaceError> {
    without_controls(text)
        .map(|text| Sealed::Open(text.to_owned()))
        .map_err(|_| WorkspaceError::Control { field })
}

/// Refuses one more than `limit`.
fn room(what: &'static str, present: usize, limit: usize) -> Result<(), WorkspaceError> {
    if present < limit {
        Ok(())
    } else {
        Err(WorkspaceError::LimitReached { what, limit })
    }
}
