//! What holds for any sequence of commands to a grant.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;

use helix_aggregates::access::grant::Grant;
use helix_aggregates::access::grant::command::{Boundary, GrantCommand, NewGrant};
use helix_aggregates::access::grant::event::{GrantEnding, GrantEvent, StoredBoundary};
use helix_aggregates::access::reach::Reach;
use helix_aggregates::access::scopes::{FLOOR, Scopes, WORKSPACE};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{AccountId, GrantId, ProjectId, WorkspaceId};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

/// Stands in every text an app or a person wrote.
const CANARY: &str = "canary-kestrel";

fn id() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn reach() -> impl Strategy<Value = Reach> {
    let listed = vec(id(), 0..3).prop_map(|ids| {
        let ids: BTreeSet<_> = ids.into_iter().map(ProjectId::new).collect();
        Reach::Listed(ids)
    });
    prop_oneof![Just(Reach::All), listed]
}

fn boundary() -> impl Strategy<Value = Boundary> {
    let labels = vec(Just(Text::parse(CANARY).unwrap()), 0..3);
    prop_oneof![
        Just(Boundary::Agent),
        (id(), labels).prop_map(|(vault, labels)| Boundary::Vault {
            vault: AccountId::new(vault),
            labels,
        }),
        (id(), reach()).prop_map(|(workspace, reach)| Boundary::Workspace {
            workspace: WorkspaceId::new(workspace),
            reach,
        }),
    ]
}

prop_compose! {
    fn new_grant()(
        account in id(),
        boundary in boundary(),
        words in vec(0_usize..5, 1..5),
        life in -1_i64..40,
    ) -> NewGrant {
        NewGrant {
            account: AccountId::new(account),
            client_id: Text::parse(CANARY).unwrap(),
            app: Text::parse(CANARY).unwrap(),
            redirect: Text::parse(CANARY).unwrap(),
            boundary,
            scopes: Scopes::parse(words.into_iter().map(|word| WORKSPACE[word])).unwrap(),
            expires_at: Timestamp::from_millis(life * 1000),
        }
    }
}

fn command() -> impl Strategy<Value = GrantCommand> {
    prop_oneof![
        3 => new_grant().prop_map(|new| GrantCommand::Give(Box::new(new))),
        3 => Just(GrantCommand::Pause),
        3 => Just(GrantCommand::Resume),
        1 => (0_usize..11).prop_map(|cause| GrantCommand::End { cause: GrantEnding::ALL[cause] }),
    ]
}

fn check_given(grant: &Grant) {
    let Some(given) = grant.given() else { return };
    assert!(given.expires_at > given.at);
    assert!(!given.scopes.words().is_empty());
    match &given.boundary {
        StoredBoundary::Agent | StoredBoundary::Vault { .. } => {}
        StoredBoundary::Workspace { reach, .. } => {
            assert_eq!(given.scopes.words()[0], FLOOR);
            assert_eq!(reach.check(), Ok(()));
        }
    }
}

proptest! {
    #[test]
    fn any_sequence_of_commands_keeps_the_invariants(commands in vec(command(), 1..30)) {
        let (mut grant, mut log) = (Grant::default(), Vec::new());
        for (second, command) in (0_i64..).zip(&commands) {
            let stamp = Stamp { at: Timestamp::from_millis(second * 1000) };
            let before = grant.clone();
            let Ok(events) = grant.decide(command, stamp) else { continue };
            for event in &events {
                grant.evolve(event);
            }
            prop_assert!(events.len() <= 1);
            if matches!(before, Grant::Ended { .. }) {
                prop_assert!(events.is_empty(), "an ended grant accepted {command:?}");
            }
            if before.given().is_some() {
                prop_assert_eq!(before.given(), grant.given());
            }
            // Asked again, the same command has nothing left to do.
            if !matches!(command, GrantCommand::Give(_)) {
                prop_assert_eq!(grant.decide(command, stamp), Ok(Vec::new()));
            }
            check_given(&grant);
            log.extend(events);
        }
        let mut replayed = Grant::default();
        for event in &log {
            let stored = serde_json::to_string(event).unwrap();
            replayed.evolve(&serde_json::from_str::<GrantEvent>(&stored).unwrap());
        }
        prop_assert_eq!(&replayed, &grant);
        let shown = format!("{grant:?}{log:?}{commands:?}");
        prop_assert!(!shown.contains(CANARY));
    }

    #[test]
    fn the_ids_of_a_grant_read_back_as_themselves(id in id()) {
        let (grant, workspace) = (GrantId::new(id), WorkspaceId::new(id));
        prop_assert_eq!(GrantId::parse(&grant.to_string()), Ok(grant));
        prop_assert_eq!(WorkspaceId::parse(&workspace.to_string()), Ok(workspace));
        let project = ProjectId::new(id);
        prop_assert_eq!(ProjectId::parse(&project.to_string()), Ok(project));
        prop_assert!(GrantId::parse(&project.to_string()).is_err());
    }
}
