//! Given events, when a command, then events or a refusal.

use super::WorkerToken;
use super::command::{NewWorkerToken, WorkerTokenCommand};
use super::error::WorkerTokenError;
use crate::decider::Decider;
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn issue(name: &str) -> WorkerTokenCommand {
    WorkerTokenCommand::Issue(Box::new(NewWorkerToken {
        name: Text::parse(name).unwrap(),
        fingerprint: Text::parse("0123456789abcdef").unwrap(),
    }))
}

fn after(commands: &[WorkerTokenCommand]) -> WorkerToken {
    let mut token = WorkerToken::default();
    for (second, command) in (0..).zip(commands) {
        for event in token.decide(command, at(second)).unwrap() {
            token.evolve(&event);
        }
    }
    token
}

fn refused(token: &WorkerToken, command: &WorkerTokenCommand) -> WorkerTokenError {
    token.decide(command, at(9)).unwrap_err()
}

#[test]
fn an_issued_token_is_live_until_it_is_revoked_and_then_stays_revoked() {
    let live = after(&[issue("harbour")]);
    let WorkerToken::Live(issued) = &live else {
        panic!("{live:?}")
    };
    assert_eq!(issued.name.open().unwrap(), "harbour");
    assert_eq!(issued.fingerprint, "0123456789abcdef");
    let revoked = after(&[issue("harbour"), WorkerTokenCommand::Revoke]);
    assert!(matches!(&revoked, WorkerToken::Revoked { at: when, .. } if *when == at(1).at));
    assert_eq!(
        refused(&revoked, &WorkerTokenCommand::Revoke),
        WorkerTokenError::AlreadyRevoked
    );
    assert_eq!(
        refused(&revoked, &issue("again")),
        WorkerTokenError::AlreadyIssued
    );
}

#[test]
fn a_token_is_issued_once_and_an_unknown_one_cannot_be_revoked() {
    assert_eq!(
        refused(&after(&[issue("harbour")]), &issue("pier")),
        WorkerTokenError::AlreadyIssued
    );
    assert_eq!(
        refused(&WorkerToken::default(), &WorkerTokenCommand::Revoke),
        WorkerTokenError::NotFound
    );
}

#[test]
fn a_name_with_a_control_character_is_refused() {
    assert_eq!(
        refused(&WorkerToken::default(), &issue("har\u{7}bour")),
        WorkerTokenError::Control
    );
}
