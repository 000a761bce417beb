//! What holds for any sequence of commands to a named token.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use helix_aggregates::access::author::Maker;
use helix_aggregates::access::reach::Reach;
use helix_aggregates::access::scopes::{FLOOR, Scopes, WORKSPACE};
use helix_aggregates::access::token::Token;
use helix_aggregates::access::token::command::{NewToken, TokenCommand};
use helix_aggregates::access::token::event::{TokenEvent, TokenRevocation};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{AccountId, ProjectId, TokenId, WorkspaceId};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use uuid::Uuid;

/// Stands in every name.
const CANARY: &str = "canary-kestrel";
const HOUR: i64 = 60 * 60 * 1000;

fn id() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn hours(hours: i64) -> Timestamp {
    Timestamp::from_millis(hours * HOUR)
}

prop_compose! {
    fn new_token()(
        (workspace, account) in (id(), id()),
        words in vec(0_usize..5, 1..5),
        listed in proptest::option::of(btree_set(id().prop_map(ProjectId::new), 0..3)),
        life in 0_i64..400,
        replaces in proptest::option::of(id().prop_map(TokenId::new)),
    ) -> NewToken {
        NewToken {
            workspace: WorkspaceId::new(workspace),
            name: Text::parse(CANARY).unwrap(),
            last_four: Text::parse("abcd").unwrap(),
            fingerprint: Text::parse("0123456789abcdef").unwrap(),
            scopes: Scopes::parse(words.into_iter().map(|word| WORKSPACE[word])).unwrap(),
            reach: listed.map_or(Reach::All, Reach::Listed),
            maker: Maker::Account(AccountId::new(account)),
            expires_at: hours(life * 24),
            replaces,
        }
    }
}

fn command() -> impl Strategy<Value = TokenCommand> {
    prop_oneof![
        4 => new_token().prop_map(|new| TokenCommand::Mint(Box::new(new))),
        4 => (0_i64..60).prop_map(|until| TokenCommand::Retire { until: hours(until) }),
        3 => Just(TokenCommand::Pause),
        3 => Just(TokenCommand::Resume),
        2 => Just(TokenCommand::Expose),
        1 => (0_usize..5).prop_map(|cause| {
            TokenCommand::Revoke { cause: TokenRevocation::ALL[cause] }
        }),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_commands_keeps_the_invariants(commands in vec(command(), 1..40)) {
        let (mut token, mut log) = (Token::default(), Vec::new());
        for (hour, command) in (0_i64..).zip(&commands) {
            let stamp = Stamp { at: hours(hour) };
            let before = token.clone();
            let Ok(events) = token.decide(command, stamp) else { continue };
            for event in &events {
                token.evolve(event);
            }
            prop_assert!(events.len() <= 1);
            if matches!(before, Token::Revoked { .. }) {
                prop_assert!(events.is_empty(), "a revoked token accepted {command:?}");
            }
            if !matches!(command, TokenCommand::Mint(_)) {
                prop_assert_eq!(token.decide(command, stamp), Ok(Vec::new()));
            }
            if let (Some(was), Some(is)) = (before.minted(), token.minted()) {
                prop_assert!(is.dies_at() <= was.dies_at());
                prop_assert_eq!((&was.scopes, &was.reach), (&is.scopes, &is.reach));
                prop_assert!(was.exposed_at.is_none() || was.exposed_at == is.exposed_at);
            }
            if let Some(minted) = token.minted() {
                let life = minted.expires_at.since(minted.at);
                prop_assert!(life >= Duration::from_secs(86_400));
                prop_assert!(life <= Duration::from_secs(365 * 86_400));
                prop_assert_eq!(&minted.scopes.words()[0], FLOOR);
                prop_assert_eq!(minted.reach.check(), Ok(()));
            }
            log.extend(events);
        }
        let mut replayed = Token::default();
        for event in &log {
            let stored = serde_json::to_string(event).unwrap();
            replayed.evolve(&serde_json::from_str::<TokenEvent>(&stored).unwrap());
        }
        prop_assert_eq!(&replayed, &token);
        let shown = format!("{token:?}{log:?}{commands:?}");
        prop_assert!(!shown.contains(CANARY));
    }

    #[test]
    fn a_token_id_reads_back_as_itself(id in id()) {
        let token = TokenId::new(id);
        prop_assert_eq!(TokenId::parse(&token.to_string()), Ok(token));
    }
}
