//! Given events, when a command, then events or a refusal.

use uuid::Uuid;

use super::AgentAccount;
use super::command::{AgentAccountCommand, NewBinding};
use super::error::AgentAccountError;
use super::event::AgentAccountEvent;
use crate::decider::Decider;
use crate::ids::{AccountId, binding_ref};
use crate::sealed::Sealed;
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

fn new(number: u128) -> NewBinding {
    NewBinding {
        account: account(number),
        issuer: Text::parse("https://id.example").unwrap(),
        tenant: Text::parse("harbour").unwrap(),
        provider: Text::parse("harbour-id").unwrap(),
        subject: Text::parse("ada").unwrap(),
    }
}

fn link(number: u128) -> AgentAccountCommand {
    AgentAccountCommand::Link(Box::new(new(number)))
}

fn revoke() -> AgentAccountCommand {
    AgentAccountCommand::Revoke {
        reason: Text::parse("left").unwrap(),
    }
}

fn after(commands: &[AgentAccountCommand]) -> AgentAccount {
    let mut binding = AgentAccount::default();
    for (second, command) in (0..).zip(commands) {
        for event in binding.decide(command, at(second)).unwrap() {
            binding.evolve(&event);
        }
    }
    binding
}

fn refused(binding: &AgentAccount, command: &AgentAccountCommand) -> AgentAccountError {
    binding.decide(command, at(9)).unwrap_err()
}

#[test]
fn a_linked_identity_acts_for_its_account() {
    let binding = after(&[link(1)]);
    assert_eq!(binding.account(), Some(account(1)));
    let reference = binding_ref("https://id.example", "harbour", "harbour-id", "ada");
    assert_eq!(binding.binding().unwrap().reference(), Some(reference));
}

#[test]
fn a_living_binding_is_not_linked_again() {
    let binding = after(&[link(1)]);
    assert_eq!(
        refused(&binding, &link(1)),
        AgentAccountError::AlreadyLinked
    );
    assert_eq!(
        refused(&binding, &link(2)),
        AgentAccountError::LinkedElsewhere
    );
}

#[test]
fn a_revoked_binding_acts_for_nobody() {
    let binding = after(&[link(1), revoke()]);
    assert_eq!(binding.account(), None);
    let AgentAccount::Revoked {
        at: revoked_at,
        reason,
        ..
    } = &binding
    else {
        panic!("the binding is revoked");
    };
    assert_eq!(
        (*revoked_at, reason.open().unwrap().as_str()),
        (at(1).at, "left")
    );
    assert_eq!(
        refused(&binding, &revoke()),
        AgentAccountError::AlreadyRevoked
    );
    assert_eq!(
        refused(&AgentAccount::default(), &revoke()),
        AgentAccountError::NotFound
    );
}

#[test]
fn an_explicit_link_makes_a_revoked_binding_active_under_the_same_reference() {
    let first = after(&[link(1)]);
    let again = after(&[link(1), revoke(), link(1)]);
    assert_eq!(again.account(), Some(account(1)));
    let (first, again) = (first.binding().unwrap(), again.binding().unwrap());
    assert_eq!(again.reference(), first.reference());
    assert_eq!((again.created_at, again.updated_at), (at(0).at, at(2).at));
}

#[test]
fn a_revoked_identity_may_be_linked_to_another_account() {
    assert_eq!(
        after(&[link(1), revoke(), link(2)]).account(),
        Some(account(2))
    );
}

#[test]
fn a_binding_answers_only_to_its_own_identity() {
    let other = NewBinding {
        tenant: Text::parse("other").unwrap(),
        ..new(1)
    };
    let command = AgentAccountCommand::Link(Box::new(other));
    for binding in [after(&[link(1)]), after(&[link(1), revoke()])] {
        assert_eq!(
            refused(&binding, &command),
            AgentAccountError::OtherIdentity
        );
    }
}

#[test]
fn a_control_character_is_refused_with_its_field() {
    let bad = NewBinding {
        subject: Text::parse("a\u{1}b").unwrap(),
        ..new(1)
    };
    let command = AgentAccountCommand::Link(Box::new(bad));
    let refusal = refused(&AgentAccount::default(), &command);
    assert_eq!(refusal, AgentAccountError::Control { field: "subject" });
}

#[test]
fn an_erased_binding_keeps_its_account_and_loses_its_reference() {
    let mut events = AgentAccount::default().decide(&link(1), at(0)).unwrap();
    if let AgentAccountEvent::Linked(linked) = &mut events[0] {
        linked.tenant = Sealed::Closed("c".into());
        linked.subject = Sealed::Closed("c".into());
    }
    let mut binding = AgentAccount::default();
    binding.evolve(&events[0]);
    assert_eq!(binding.account(), Some(account(1)));
    assert_eq!(binding.binding().unwrap().reference(), None);
}
