//! What holds for any sequence of commands to a workspace.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use helix_aggregates::access::author::{Author, Maker};
use helix_aggregates::access::workspace::command::{
    Change, NewInvite, NewProject, NewRepository, NewWorkspace, ProjectChange, Role,
    WorkspaceCommand,
};
use helix_aggregates::access::workspace::event::WorkspaceEvent;
use helix_aggregates::access::workspace::{Body, ProjectState, Workspace};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{AccountId, InviteId, ProjectId, RepositoryId};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use uuid::Uuid;

/// Stands in every text a person wrote.
const CANARY: &str = "canary-kestrel";
const DAY: i64 = 24 * 60 * 60 * 1000;

fn text<const MAX: usize>(number: u128) -> Text<MAX> {
    Text::parse(&format!("{CANARY} {number}")).unwrap()
}

/// Few ids, so that commands meet what earlier ones made.
fn id() -> impl Strategy<Value = Uuid> {
    (1_u128..5).prop_map(Uuid::from_u128)
}

fn account() -> impl Strategy<Value = AccountId> {
    id().prop_map(AccountId::new)
}

fn maker() -> impl Strategy<Value = Maker> {
    prop_oneof![3 => account().prop_map(Maker::Account), 1 => Just(Maker::Operator)]
}

fn role() -> impl Strategy<Value = Role> {
    (0_usize..3).prop_map(|role| Role::ALL[role])
}

fn member_command() -> impl Strategy<Value = WorkspaceCommand> {
    prop_oneof![
        (account(), role(), maker()).prop_map(|(account, role, by)| WorkspaceCommand::AddMember {
            account,
            role,
            by
        }),
        (account(), role(), maker()).prop_map(|(account, role, by)| WorkspaceCommand::ChangeRole {
            account,
            role,
            by
        }),
        (account(), maker())
            .prop_map(|(account, by)| WorkspaceCommand::RemoveMember { account, by }),
        (any::<u128>(), 0_u128..3, role(), maker()).prop_map(|(invite, email, role, by)| {
            WorkspaceCommand::Invite(Box::new(NewInvite {
                invite: InviteId::new(Uuid::from_u128(invite % 8)),
                email: text(email),
                role,
                by,
            }))
        }),
        (0_u128..8, account()).prop_map(|(invite, account)| WorkspaceCommand::AcceptInvite {
            invite: InviteId::new(Uuid::from_u128(invite)),
            account,
        }),
        (0_u128..8, maker()).prop_map(|(invite, by)| WorkspaceCommand::WithdrawInvite {
            invite: InviteId::new(Uuid::from_u128(invite)),
            by,
        }),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (0_u128..3).prop_map(|name| Change::Rename(text(name))),
        2 => proptest::option::of(0_u128..3).prop_map(|words| Change::Describe(words.map(text))),
        6 => id().prop_map(|to| Change::LinkCodebase(RepositoryId::new(to))),
        1 => Just(Change::Archive),
    ]
}

fn project_command() -> impl Strategy<Value = WorkspaceCommand> {
    let projects = btree_set(id().prop_map(ProjectId::new), 0..4);
    prop_oneof![
        2 => (id(), account()).prop_map(|(project, author)| {
            WorkspaceCommand::CreateProject(Box::new(NewProject {
                project: ProjectId::new(project),
                name: text(0),
                description: Some(text(0)),
                author: Author::Account(author),
            }))
        }),
        5 => (id(), 1_u64..5, account(), change()).prop_map(
            |(project, expected_version, author, change)| {
                WorkspaceCommand::ChangeProject(Box::new(ProjectChange {
                    project: ProjectId::new(project),
                    expected_version,
                    author: Author::Account(author),
                    change,
                }))
            }
        ),
        2 => (id(), projects, account()).prop_map(|(repository, projects, by)| {
            WorkspaceCommand::ConnectRepository(Box::new(NewRepository {
                repository: RepositoryId::new(repository),
                name: text(0),
                url: text(0),
                projects,
                by,
            }))
        }),
        1 => (id(), account()).prop_map(|(repository, by)| {
            WorkspaceCommand::DisconnectRepository {
                repository: RepositoryId::new(repository),
                by,
            }
        }),
    ]
}

fn command() -> impl Strategy<Value = WorkspaceCommand> {
    prop_oneof![
        30 => member_command(),
        30 => project_command(),
        1 => maker().prop_map(|by| WorkspaceCommand::Delete { by }),
    ]
}

fn check(before: &Body, after: &Body) {
    assert!(after.owners().next().is_some(), "nobody owns the workspace");
    for (id, project) in &after.projects {
        if let Some(codebase) = project.codebase {
            assert!(after.linkable(*id).any(|known| known == codebase));
        }
        let Some(was) = before.projects.get(id) else {
            assert_eq!(project.version, 1);
            continue;
        };
        let steps = project.version - was.version;
        assert!(steps <= 1);
        assert_eq!(steps == 0, project == was, "a change without a version");
        if matches!(was.state, ProjectState::Archived { .. }) {
            assert_eq!((was.state, &was.name), (project.state, &project.name));
        }
    }
    assert!(
        before
            .projects
            .keys()
            .all(|id| after.projects.contains_key(id))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_commands_keeps_the_invariants(
        owner in account(),
        steps in vec((command(), 0_i64..4), 1..80),
    ) {
        let opening = WorkspaceCommand::Open(Box::new(NewWorkspace { name: text(0), owner }));
        let (mut workspace, mut log, mut day) = (Workspace::default(), Vec::new(), 0);
        let steps: Vec<_> = std::iter::once((opening, 0)).chain(steps).collect();
        for (command, pause) in &steps {
            day += pause;
            let stamp = Stamp { at: Timestamp::from_millis(day * DAY) };
            let before = workspace.clone();
            let Ok(events) = workspace.decide(command, stamp) else { continue };
            prop_assert!(!matches!(before, Workspace::Deleted { .. }), "accepted {command:?}");
            for event in &events {
                workspace.evolve(event);
            }
            if let (Some(was), Some(is)) = (before.body(), workspace.body()) {
                check(was, is);
            }
            log.extend(events);
        }
        let mut replayed = Workspace::default();
        for event in &log {
            let stored = serde_json::to_string(event).unwrap();
            replayed.evolve(&serde_json::from_str::<WorkspaceEvent>(&stored).unwrap());
        }
        prop_assert_eq!(&replayed, &workspace);
        let shown = format!("{workspace:?}{log:?}{steps:?}");
        prop_assert!(!shown.contains(CANARY));
    }

    #[test]
    fn the_ids_of_a_workspace_read_back_as_themselves(id in any::<u128>()) {
        let uuid = Uuid::from_u128(id);
        let (repository, invite) = (RepositoryId::new(uuid), InviteId::new(uuid));
        prop_assert_eq!(RepositoryId::parse(&repository.to_string()), Ok(repository));
        prop_assert_eq!(InviteId::parse(&invite.to_string()), Ok(invite));
        prop_assert!(InviteId::parse(&repository.to_string()).is_err());
    }
}
