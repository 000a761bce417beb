//! Given events, when a command, then events or a refusal.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::Grant;
use super::command::{Boundary, Door, GrantCommand, NewGrant};
use super::decide::{LABELS_LIMIT, LONGEST};
use super::error::GrantError;
use super::event::{GrantEnding, GrantEvent, StoredBoundary};
use crate::access::reach::{Reach, ReachError};
use crate::access::scopes::{Scopes, ScopesError};
use crate::decider::Decider;
use crate::ids::{AccountId, ProjectId, WorkspaceId};
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn account() -> AccountId {
    AccountId::new(Uuid::from_u128(7))
}

fn new(boundary: Boundary, scopes: &[&str]) -> NewGrant {
    NewGrant {
        account: account(),
        client_id: Text::parse("canary client").unwrap(),
        app: Text::parse("canary app").unwrap(),
        redirect: Text::parse("canary.example").unwrap(),
        boundary,
        scopes: Scopes::parse(scopes).unwrap(),
        expires_at: at(100).at,
    }
}

fn agent() -> NewGrant {
    new(Boundary::Agent, &["helix.agent_runs.read"])
}

fn vault(labels: &[String]) -> NewGrant {
    let labels = labels.iter().map(|label| Text::parse(label).unwrap());
    let boundary = Boundary::Vault {
        vault: account(),
        labels: labels.collect(),
    };
    new(boundary, &["work", "identity"])
}

fn workspace(reach: Reach, scopes: &[&str]) -> NewGrant {
    let workspace = WorkspaceId::new(Uuid::from_u128(8));
    new(Boundary::Workspace { workspace, reach }, scopes)
}

fn give(new: NewGrant) -> GrantCommand {
    GrantCommand::Give(Box::new(new))
}

fn end(cause: GrantEnding) -> GrantCommand {
    GrantCommand::End { cause }
}

fn revoke() -> GrantCommand {
    end(GrantEnding::RevokedByOwner)
}

fn after(commands: &[GrantCommand]) -> Grant {
    let mut grant = Grant::default();
    for (second, command) in (0..).zip(commands) {
        for event in grant.decide(command, at(second)).unwrap() {
            grant.evolve(&event);
        }
    }
    grant
}

fn refused(grant: &Grant, command: &GrantCommand) -> GrantError {
    grant.decide(command, at(9)).unwrap_err()
}

fn refused_gift(new: NewGrant) -> GrantError {
    refused(&Grant::default(), &give(new))
}

#[test]
fn a_grant_is_given_once_and_holds_what_was_consented_to() {
    let grant = after(&[give(vault(&["café".to_owned()]))]);
    let given = grant.given().unwrap();
    assert_eq!(given.account, account());
    assert_eq!(given.client_id.open().unwrap(), "canary client");
    assert_eq!(given.app.open().unwrap(), "canary app");
    assert_eq!(given.redirect.open().unwrap(), "canary.example");
    assert_eq!(given.scopes.words(), ["work", "identity"]);
    assert_eq!((given.at, given.expires_at), (at(0).at, at(100).at));
    let StoredBoundary::Vault { vault, labels } = &given.boundary else {
        panic!("{given:?}")
    };
    assert_eq!(
        (*vault, labels.open().unwrap()),
        (account(), &vec!["café".to_owned()])
    );
    for grant in [
        after(&[give(agent())]),
        after(&[give(agent()), GrantCommand::Pause]),
        after(&[give(agent()), revoke()]),
    ] {
        assert_eq!(refused(&grant, &give(agent())), GrantError::AlreadyGiven);
    }
}

#[test]
fn a_grant_opens_the_door_of_its_boundary() {
    for (new, door) in [
        (agent(), Door::Agent),
        (vault(&[]), Door::Vault),
        (workspace(Reach::All, &["brief:read"]), Door::Workspace),
    ] {
        assert_eq!(new.boundary.door(), door);
        let grant = after(&[give(new)]);
        assert_eq!(grant.given().unwrap().boundary.door(), door);
        assert_eq!(Door::parse(door.as_str()), Some(door));
    }
    assert_eq!(Door::parse("owner"), None);
}

#[test]
fn a_workspace_grant_holds_the_floor_and_only_words_of_its_door() {
    let grant = after(&[give(workspace(Reach::All, &["review:run"]))]);
    assert_eq!(
        grant.given().unwrap().scopes.to_string(),
        "brief:read review:run"
    );
    let foreign = workspace(Reach::All, &["brief:read", "work"]);
    let refusal = GrantError::Scopes(ScopesError::NotOfWorkspace);
    assert_eq!(refused_gift(foreign), refusal);
}

#[test]
fn a_listed_reach_names_a_project() {
    let none = workspace(Reach::Listed(BTreeSet::new()), &["brief:read"]);
    assert_eq!(refused_gift(none), GrantError::Reach(ReachError::Empty));
    let project = ProjectId::new(Uuid::from_u128(9));
    let one = Reach::Listed(BTreeSet::from([project]));
    let grant = after(&[give(workspace(one, &["brief:read"]))]);
    let StoredBoundary::Workspace { reach, .. } = &grant.given().unwrap().boundary else {
        panic!("{grant:?}")
    };
    assert!(reach.covers(project));
}

#[test]
fn a_grant_expires_after_it_is_given_and_within_a_year() {
    let latest = at(9).at.plus(LONGEST);
    for expires_at in [
        at(8).at,
        at(9).at,
        Timestamp::from_millis(latest.millis() + 1),
    ] {
        let new = NewGrant {
            expires_at,
            ..agent()
        };
        assert_eq!(refused_gift(new), GrantError::Expiry { latest });
    }
    for expires_at in [Timestamp::from_millis(at(9).at.millis() + 1), latest] {
        let new = NewGrant {
            expires_at,
            ..agent()
        };
        assert!(Grant::default().decide(&give(new), at(9)).is_ok());
    }
}

#[test]
fn labels_count_once_and_are_bounded() {
    let labels = |count: usize| (0..count).map(|n| format!("l{n}")).collect::<Vec<_>>();
    let repeated = vault(&["b".to_owned(), "a".to_owned(), "b".to_owned()]);
    let grant = after(&[give(repeated)]);
    let StoredBoundary::Vault { labels: kept, .. } = &grant.given().unwrap().boundary else {
        panic!("{grant:?}")
    };
    assert_eq!(kept.open().unwrap(), &["b", "a"]);
    assert!(
        after(&[give(vault(&labels(LABELS_LIMIT)))])
            .given()
            .is_some()
    );
    let limit = LABELS_LIMIT;
    assert_eq!(
        refused_gift(vault(&labels(LABELS_LIMIT + 1))),
        GrantError::TooManyLabels { limit }
    );
}

#[test]
fn a_control_character_is_refused_with_its_field() {
    let client_id = Text::parse("a\u{1f}b").unwrap();
    let app = Text::parse("a\u{7f}b").unwrap();
    let redirect = Text::parse("a\nb").unwrap();
    for (new, field) in [
        (
            NewGrant {
                client_id,
                ..agent()
            },
            "client_id",
        ),
        (NewGrant { app, ..agent() }, "app"),
        (
            NewGrant {
                redirect,
                ..agent()
            },
            "redirect",
        ),
        (vault(&["a\u{1}b".to_owned()]), "labels"),
    ] {
        assert_eq!(refused_gift(new), GrantError::Control { field });
    }
}

#[test]
fn a_grant_that_does_not_exist_takes_only_its_gift() {
    for command in [GrantCommand::Pause, GrantCommand::Resume, revoke()] {
        assert_eq!(refused(&Grant::default(), &command), GrantError::NotFound);
    }
}

#[test]
fn a_paused_grant_is_resumed_as_it_was() {
    let live = after(&[give(agent())]);
    let paused = after(&[give(agent()), GrantCommand::Pause]);
    assert!(matches!(&paused, Grant::Paused { at: when, .. } if *when == at(1).at));
    assert_eq!(paused.decide(&GrantCommand::Pause, at(9)), Ok(Vec::new()));
    assert_eq!(live.decide(&GrantCommand::Resume, at(9)), Ok(Vec::new()));
    let resumed = after(&[give(agent()), GrantCommand::Pause, GrantCommand::Resume]);
    assert_eq!(resumed, live);
}

#[test]
fn an_ended_grant_stays_ended_with_its_first_cause() {
    for before in [
        vec![give(agent())],
        vec![give(agent()), GrantCommand::Pause],
    ] {
        let grant = after(&[before, vec![end(GrantEnding::CodeReplayed)]].concat());
        let cause = GrantEnding::CodeReplayed;
        assert!(matches!(&grant, Grant::Ended { cause: why, .. } if *why == cause));
        assert_eq!(grant.given().unwrap().account, account());
        assert_eq!(grant.decide(&revoke(), at(9)), Ok(Vec::new()));
        for command in [GrantCommand::Pause, GrantCommand::Resume] {
            assert_eq!(refused(&grant, &command), GrantError::Ended { cause });
        }
    }
}

#[test]
fn every_cause_reads_back_from_its_word_and_from_json() {
    for cause in GrantEnding::ALL {
        let grant = after(&[give(agent()), end(cause)]);
        assert!(matches!(grant, Grant::Ended { cause: why, .. } if why == cause));
        assert_eq!(GrantEnding::parse(cause.as_str()), Some(cause));
        assert_eq!(serde_json::to_value(cause).unwrap(), cause.as_str());
    }
    assert_eq!(GrantEnding::parse("bored"), None);
}

#[test]
fn no_output_for_people_shows_the_app_or_a_label() {
    let command = give(vault(&["canary label".to_owned()]));
    let events: Vec<GrantEvent> = Grant::default().decide(&command, at(0)).unwrap();
    let grant = after(std::slice::from_ref(&command));
    assert!(!format!("{grant:?}{events:?}{command:?}").contains("canary"));
}
