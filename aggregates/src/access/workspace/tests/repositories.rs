//! A project is linked only to a repository that is connected and was opened to it.

use uuid::Uuid;

use super::super::REPOSITORIES_LIMIT;
use super::super::command::{NewRepository, WorkspaceCommand};
use super::super::error::WorkspaceError;
use super::projects::{archive, create, link, project};
use super::{account, at, body, opened, refused};
use crate::decider::Decider;
use crate::ids::RepositoryId;
use crate::text::Text;

pub fn repository(number: u128) -> RepositoryId {
    RepositoryId::new(Uuid::from_u128(number))
}

pub fn connect(number: u128, projects: &[u128]) -> WorkspaceCommand {
    at_url(number, projects, "https://git.example/canary/tides")
}

fn at_url(number: u128, projects: &[u128], url: &str) -> WorkspaceCommand {
    WorkspaceCommand::ConnectRepository(Box::new(NewRepository {
        repository: repository(number),
        name: Text::parse("canary/tides").unwrap(),
        url: Text::parse(url).unwrap(),
        projects: projects.iter().copied().map(project).collect(),
        by: account(1),
    }))
}

pub fn disconnect(number: u128) -> WorkspaceCommand {
    WorkspaceCommand::DisconnectRepository {
        repository: repository(number),
        by: account(1),
    }
}

#[test]
fn a_repository_is_connected_once_for_projects_that_exist() {
    let workspace = opened(&[create(1), create(2), connect(1, &[2]), connect(2, &[])]);
    let known = &body(&workspace).repositories[&repository(1)];
    assert_eq!(known.name.open().unwrap(), "canary/tides");
    assert_eq!(
        known.url.open().unwrap(),
        "https://git.example/canary/tides"
    );
    assert_eq!((known.by, known.at), (account(1), at(3).at));
    let linkable = |number| {
        body(&workspace)
            .linkable(project(number))
            .collect::<Vec<_>>()
    };
    assert_eq!(linkable(1), []);
    assert_eq!(linkable(2), [repository(1)]);
    for (command, refusal) in [
        (connect(1, &[2]), WorkspaceError::RepositoryExists),
        (connect(3, &[2, 7]), WorkspaceError::NoProject),
    ] {
        assert_eq!(refused(&workspace, &command), refusal);
    }
}

#[test]
fn repositories_are_bounded() {
    let limit = u128::try_from(REPOSITORIES_LIMIT).unwrap();
    let many: Vec<_> = (1..=limit).map(|n| connect(n, &[])).collect();
    assert_eq!(
        refused(&opened(&many), &connect(limit + 1, &[])),
        WorkspaceError::LimitReached {
            what: "repositories",
            limit: REPOSITORIES_LIMIT
        }
    );
}

#[test]
fn a_url_with_a_credential_is_refused() {
    let workspace = opened(&[]);
    for url in [
        "https://hx_nt_secret@git.example/tides",
        "HTTP://ada:pass@git.example/tides",
        "ssh://git:pass@git.example/tides",
        "https://ada:p@ss@git.example",
    ] {
        let refusal = refused(&workspace, &at_url(1, &[], url));
        assert_eq!(refusal, WorkspaceError::CredentialInUrl, "{url}");
    }
    for url in [
        "https://git.example/@ada/tides",
        "ssh://git@git.example:22/tides",
        "git@git.example:ada/tides",
        "https://git.example?to=ada@harbour.example",
        "/srv/git/tides",
    ] {
        let accepted = workspace.decide(&at_url(1, &[], url), at(9));
        assert!(accepted.is_ok(), "{url}");
    }
    let forged = at_url(1, &[], "https://git.example/\u{1}");
    let refusal = refused(&workspace, &forged);
    assert_eq!(refusal, WorkspaceError::Control { field: "url" });
}

#[test]
fn a_repository_that_is_unknown_or_opened_to_others_alone_is_not_linked() {
    let workspace = opened(&[create(1), create(2), connect(1, &[2])]);
    for to in [1, 7] {
        let refusal = refused(&workspace, &link(1, 1, to));
        assert_eq!(refusal, WorkspaceError::RepositoryNotConnected);
    }
}

#[test]
fn a_link_takes_the_place_of_the_one_before() {
    let workspace = opened(&[
        create(1),
        connect(1, &[1]),
        connect(2, &[1]),
        link(1, 1, 1),
        link(1, 2, 2),
    ]);
    let known = &body(&workspace).projects[&project(1)];
    assert_eq!((known.codebase, known.version), (Some(repository(2)), 3));
}

#[test]
fn a_disconnected_repository_takes_its_links_along() {
    let workspace = opened(&[
        create(1),
        create(2),
        create(3),
        connect(1, &[1, 2]),
        connect(2, &[3]),
        link(1, 1, 1),
        link(2, 1, 1),
        link(3, 1, 2),
        archive(2, 2),
        disconnect(1),
    ]);
    let body = body(&workspace);
    assert!(!body.repositories.contains_key(&repository(1)));
    let codebase = |number| {
        let known = &body.projects[&project(number)];
        (known.codebase, known.version)
    };
    assert_eq!(codebase(1), (None, 3));
    assert_eq!(codebase(2), (None, 4));
    assert_eq!(codebase(3), (Some(repository(2)), 2));
    assert_eq!(
        refused(&workspace, &disconnect(1)),
        WorkspaceError::NoRepository
    );
    assert_eq!(
        refused(&workspace, &link(1, 3, 1)),
        WorkspaceError::RepositoryNotConnected
    );
}
