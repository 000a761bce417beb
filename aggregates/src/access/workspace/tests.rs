//! Given events, when a command, then events or a refusal.

mod invites;
mod members;
mod projects;
mod repositories;

use uuid::Uuid;

use super::command::{NewWorkspace, Role, WorkspaceCommand};
use super::error::WorkspaceError;
use super::{Body, Workspace};
use crate::access::author::Maker;
use crate::decider::Decider;
use crate::ids::AccountId;
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn account(number: u128) -> AccountId {
    AccountId::new(Uuid::from_u128(number))
}

/// The workspace's first owner.
fn ada() -> AccountId {
    account(1)
}

fn by(number: u128) -> Maker {
    Maker::Account(account(number))
}

fn open() -> WorkspaceCommand {
    WorkspaceCommand::Open(Box::new(NewWorkspace {
        name: Text::parse("canary harbour").unwrap(),
        owner: ada(),
    }))
}

fn delete() -> WorkspaceCommand {
    WorkspaceCommand::Delete { by: by(1) }
}

/// One command of every kind but the opening; what they name need not exist.
fn all_but_opening() -> Vec<WorkspaceCommand> {
    vec![
        members::add(2, Role::Member),
        members::change_role(1, Role::Admin),
        members::remove(1, 2),
        invites::invite(1, "canary@harbour.example"),
        invites::accept(1, 2),
        invites::withdraw(1),
        projects::create(1),
        projects::archive(1, 1),
        repositories::connect(1, &[]),
        repositories::disconnect(1),
        delete(),
    ]
}

/// The first command at second 0, each later one a second on.
fn after(commands: &[WorkspaceCommand]) -> Workspace {
    let mut workspace = Workspace::default();
    for (second, command) in (0..).zip(commands) {
        for event in workspace.decide(command, at(second)).unwrap() {
            workspace.evolve(&event);
        }
    }
    workspace
}

/// An open workspace after further commands.
fn opened(commands: &[WorkspaceCommand]) -> Workspace {
    after(&[&[open()], commands].concat())
}

fn body(workspace: &Workspace) -> &Body {
    workspace.body().unwrap()
}

fn refused(workspace: &Workspace, command: &WorkspaceCommand) -> WorkspaceError {
    workspace.decide(command, at(900)).unwrap_err()
}

fn nothing_happens(workspace: &Workspace, command: &WorkspaceCommand) {
    assert_eq!(workspace.decide(command, at(900)), Ok(Vec::new()));
}

#[test]
fn a_workspace_opens_once_with_its_first_owner() {
    let workspace = opened(&[]);
    let body = body(&workspace);
    assert_eq!(body.name.open().unwrap(), "canary harbour");
    assert_eq!(body.owners().collect::<Vec<_>>(), [ada()]);
    assert_eq!(body.members[&ada()].joined_at, at(0).at);
    assert_eq!(refused(&workspace, &open()), WorkspaceError::AlreadyOpen);
    let forged = WorkspaceCommand::Open(Box::new(NewWorkspace {
        name: Text::parse("har\tbour").unwrap(),
        owner: ada(),
    }));
    assert_eq!(
        refused(&Workspace::default(), &forged),
        WorkspaceError::Control { field: "name" }
    );
}

#[test]
fn a_workspace_that_does_not_exist_takes_only_its_opening() {
    for command in all_but_opening() {
        let refusal = refused(&Workspace::default(), &command);
        assert_eq!(refusal, WorkspaceError::NotFound, "{command:?}");
    }
}

#[test]
fn a_deleted_workspace_stays_deleted() {
    let workspace = opened(&[members::add(2, Role::Admin), delete()]);
    assert_eq!(workspace, Workspace::Deleted { at: at(2).at });
    for command in [vec![open()], all_but_opening()].concat() {
        assert_eq!(refused(&workspace, &command), WorkspaceError::Deleted);
    }
}

#[test]
fn every_role_reads_back_from_its_word_and_from_json() {
    for role in Role::ALL {
        assert_eq!(Role::parse(role.as_str()), Some(role));
        assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
    }
    assert_eq!(Role::parse("Owner"), None);
}

#[test]
fn no_output_for_people_shows_a_name_or_an_address() {
    let commands = [
        open(),
        invites::invite(1, "canary@harbour.example"),
        projects::create(1),
        repositories::connect(1, &[1]),
    ];
    let mut workspace = Workspace::default();
    for (second, command) in (0..).zip(&commands) {
        let events = workspace.decide(command, at(second)).unwrap();
        assert!(!format!("{events:?}{command:?}").contains("canary"));
        for event in &events {
            workspace.evolve(event);
        }
    }
    assert!(!format!("{workspace:?}").contains("canary"));
}
