//! Projects are created, changed at a version the author has seen, and archived for good.

use uuid::Uuid;

use super::super::command::{Change, NewProject, ProjectChange, WorkspaceCommand};
use super::super::error::WorkspaceError;
use super::super::{PROJECTS_LIMIT, Project, ProjectState, Workspace};
use super::repositories::{connect, repository};
use super::{account, at, body, nothing_happens, opened, refused};
use crate::access::author::Author;
use crate::ids::{ProjectId, TokenId};
use crate::text::Text;

pub fn project(number: u128) -> ProjectId {
    ProjectId::new(Uuid::from_u128(number))
}

fn token() -> Author {
    Author::Token(TokenId::new(Uuid::from_u128(9)))
}

pub fn create(number: u128) -> WorkspaceCommand {
    named(number, "canary tides", Some("canary words"))
}

fn named(number: u128, name: &str, description: Option<&str>) -> WorkspaceCommand {
    WorkspaceCommand::CreateProject(Box::new(NewProject {
        project: project(number),
        name: Text::parse(name).unwrap(),
        description: description.map(|text| Text::parse(text).unwrap()),
        author: token(),
    }))
}

fn change(number: u128, expected_version: u64, change: Change) -> WorkspaceCommand {
    WorkspaceCommand::ChangeProject(Box::new(ProjectChange {
        project: project(number),
        expected_version,
        author: Author::Account(account(1)),
        change,
    }))
}

fn rename(expected_version: u64, name: &str) -> WorkspaceCommand {
    change(
        1,
        expected_version,
        Change::Rename(Text::parse(name).unwrap()),
    )
}

fn describe(expected_version: u64, text: Option<&str>) -> WorkspaceCommand {
    let text = text.map(|text| Text::parse(text).unwrap());
    change(1, expected_version, Change::Describe(text))
}

pub fn link(number: u128, expected_version: u64, to: u128) -> WorkspaceCommand {
    change(
        number,
        expected_version,
        Change::LinkCodebase(repository(to)),
    )
}

pub fn archive(number: u128, expected_version: u64) -> WorkspaceCommand {
    change(number, expected_version, Change::Archive)
}

fn known(workspace: &Workspace) -> &Project {
    &body(workspace).projects[&project(1)]
}

#[test]
fn a_project_starts_at_version_one_and_is_created_once() {
    let workspace = opened(&[create(1), named(2, "Piers", None)]);
    let known = known(&workspace);
    assert_eq!(known.name.open().unwrap(), "canary tides");
    assert_eq!(known.description.open().unwrap(), "canary words");
    assert_eq!((known.version, known.state), (1, ProjectState::Active));
    assert_eq!((known.author, known.codebase), (token(), None));
    assert_eq!((known.created_at, known.updated_at), (at(1).at, at(1).at));
    assert_eq!(
        body(&workspace).projects[&project(2)]
            .description
            .open()
            .unwrap(),
        ""
    );
    assert_eq!(
        refused(&workspace, &create(1)),
        WorkspaceError::ProjectExists
    );
    assert_eq!(
        refused(&workspace, &named(3, "ti\u{7f}des", None)),
        WorkspaceError::Control { field: "name" }
    );
}

#[test]
fn projects_are_bounded_and_archived_ones_count() {
    let limit = u128::try_from(PROJECTS_LIMIT).unwrap();
    let mut commands: Vec<_> = (1..=limit).map(create).collect();
    commands.push(archive(1, 1));
    assert_eq!(
        refused(&opened(&commands), &create(limit + 1)),
        WorkspaceError::LimitReached {
            what: "projects",
            limit: PROJECTS_LIMIT
        }
    );
}

#[test]
fn each_change_of_a_project_adds_one_to_its_version() {
    let workspace = opened(&[
        create(1),
        connect(1, &[1]),
        rename(1, "Ebb"),
        describe(2, Some("On ebb.\nAnd flow.")),
        link(1, 3, 1),
        describe(4, None),
        archive(1, 5),
    ]);
    let known = known(&workspace);
    assert_eq!(known.name.open().unwrap(), "Ebb");
    assert_eq!(known.description.open().unwrap(), "");
    assert_eq!(known.codebase, Some(repository(1)));
    assert_eq!(known.version, 6);
    assert_eq!(known.state, ProjectState::Archived { at: at(7).at });
    assert_eq!((known.created_at, known.updated_at), (at(1).at, at(7).at));
    assert_eq!(known.state.as_str(), "archived");
}

#[test]
fn what_is_so_already_is_no_change() {
    let workspace = opened(&[create(1), connect(1, &[1]), link(1, 1, 1)]);
    for command in [
        rename(2, "canary tides"),
        describe(2, Some("canary words")),
        link(1, 2, 1),
    ] {
        nothing_happens(&workspace, &command);
    }
}

#[test]
fn a_stale_version_is_reported_first_with_the_present_one() {
    let workspace = opened(&[create(1), rename(1, "Ebb"), archive(1, 2)]);
    let stale = WorkspaceError::VersionConflict { current: 3 };
    for command in [
        rename(1, "Fl\tow"),
        describe(2, None),
        link(1, 4, 7),
        archive(1, 2),
    ] {
        assert_eq!(refused(&workspace, &command), stale);
    }
}

#[test]
fn an_archived_project_takes_no_change() {
    let workspace = opened(&[create(1), archive(1, 1)]);
    for command in [
        rename(2, "Ebb"),
        describe(2, None),
        link(1, 2, 1),
        archive(1, 2),
    ] {
        assert_eq!(
            refused(&workspace, &command),
            WorkspaceError::ProjectArchived
        );
    }
}

#[test]
fn an_unknown_project_or_a_forged_name_is_refused() {
    let workspace = opened(&[create(1)]);
    assert_eq!(
        refused(&workspace, &archive(7, 1)),
        WorkspaceError::NoProject
    );
    assert_eq!(
        refused(&workspace, &rename(1, "E\u{1f}bb")),
        WorkspaceError::Control { field: "name" }
    );
}
