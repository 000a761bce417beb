//! Sessions start, end, and end together by a new passphrase.

use uuid::Uuid;

use super::super::command::{AccountCommand, Address, NewSession, PassphraseCause, SignOff};
use super::super::error::AccountError;
use super::super::event::{AccountEvent, SessionEnded, SessionEnding};
use super::super::{Account, SESSIONS_LIMIT};
use super::{at, create, new};
use crate::decider::Decider;
use crate::ids::SessionId;
use crate::text::Text;

const LIFE: i64 = 1_000;

pub fn session(number: u128) -> SessionId {
    SessionId::new(Uuid::from_u128(number))
}

fn until(number: u128, ends: i64) -> AccountCommand {
    AccountCommand::StartSession(NewSession {
        session: session(number),
        device: Text::parse("Firefox on Linux").unwrap(),
        expires_at: at(ends).at,
    })
}

pub fn start(number: u128) -> AccountCommand {
    until(number, LIFE)
}

pub fn end(number: u128) -> AccountCommand {
    AccountCommand::EndSession {
        session: session(number),
        cause: SignOff::SignOut,
    }
}

pub fn passphrase(kept: Option<u128>) -> AccountCommand {
    AccountCommand::SetPassphrase {
        cause: PassphraseCause::Change,
        kept: kept.map(session),
    }
}

/// The first command at second 0, each later one a second on.
fn after(commands: &[AccountCommand]) -> Account {
    let mut account = Account::default();
    for (second, command) in (0..).zip(commands) {
        for event in account.decide(command, at(second)).unwrap() {
            account.evolve(&event);
        }
    }
    account
}

fn open_sessions(account: &Account) -> Vec<SessionId> {
    account
        .profile()
        .unwrap()
        .sessions
        .keys()
        .copied()
        .collect()
}

#[test]
fn a_session_lives_from_its_start_to_its_expiry() {
    let account = after(&[create(), start(1)]);
    let profile = account.profile().unwrap();
    let known = &profile.sessions[&session(1)];
    assert_eq!(known.device.open().unwrap(), "Firefox on Linux");
    assert_eq!(
        (known.started_at, known.expires_at),
        (at(1).at, at(LIFE).at)
    );
    assert_eq!(profile.live(at(LIFE - 1).at).count(), 1);
    assert_eq!(profile.live(at(LIFE).at).count(), 0);
}

#[test]
fn an_account_whose_address_is_not_confirmed_starts_no_session() {
    let unverified = after(&[new(Address::Unverified)]);
    let refusal = unverified.decide(&start(1), at(1)).unwrap_err();
    assert_eq!(refusal, AccountError::Unverified);
    let verified = after(&[new(Address::Unverified), AccountCommand::Verify, start(1)]);
    assert_eq!(open_sessions(&verified), [session(1)]);
}

#[test]
fn a_session_is_started_once_for_some_time_and_by_a_printable_device() {
    let account = after(&[create(), start(1)]);
    let refused = |command| account.decide(&command, at(5)).unwrap_err();
    assert_eq!(refused(start(1)), AccountError::SessionExists);
    assert_eq!(refused(until(2, 5)), AccountError::SessionOver);
    let forged = AccountCommand::StartSession(NewSession {
        session: session(2),
        device: Text::parse("Fire\u{1f}fox").unwrap(),
        expires_at: at(LIFE).at,
    });
    assert_eq!(refused(forged), AccountError::Control { field: "device" });
}

#[test]
fn ending_a_session_names_the_cause_and_ending_it_again_changes_nothing() {
    let account = after(&[create(), start(1), start(2)]);
    for (cause, wire) in [
        (SignOff::SignOut, SessionEnding::SignOut),
        (SignOff::Owner, SessionEnding::Owner),
    ] {
        let ending = AccountCommand::EndSession {
            session: session(1),
            cause,
        };
        let ended = AccountEvent::SessionEnded(SessionEnded {
            at: at(9).at,
            session: session(1),
            cause: wire,
        });
        assert_eq!(account.decide(&ending, at(9)), Ok(vec![ended]));
        assert_eq!(serde_json::to_value(wire).unwrap(), wire.as_str());
    }
    let left = after(&[create(), start(1), start(2), end(1)]);
    assert_eq!(open_sessions(&left), [session(2)]);
    assert_eq!(left.decide(&end(1), at(9)), Ok(Vec::new()));
    assert_eq!(left.decide(&end(7), at(9)), Ok(Vec::new()));
    // It has ended by itself.
    assert_eq!(left.decide(&end(2), at(LIFE)), Ok(Vec::new()));
}

#[test]
fn the_oldest_session_ends_when_there_would_be_too_many() {
    let limit = u128::try_from(SESSIONS_LIMIT).unwrap();
    // The ids fall, so that the oldest is not the first of the map.
    let commands: Vec<_> = std::iter::once(create())
        .chain((1..=limit).rev().map(start))
        .collect();
    let mut account = after(&commands);
    let events = account.decide(&start(limit + 1), at(500)).unwrap();
    let AccountEvent::SessionEnded(ended) = &events[0] else {
        panic!("{events:?}")
    };
    assert_eq!(
        (ended.session, ended.cause),
        (session(limit), SessionEnding::Limit)
    );
    assert_eq!(events.len(), 2);
    for event in &events {
        account.evolve(event);
    }
    assert_eq!(open_sessions(&account).len(), SESSIONS_LIMIT);
}

#[test]
fn expired_sessions_do_not_count_and_are_forgotten_at_the_next_start() {
    let limit = u128::try_from(SESSIONS_LIMIT).unwrap();
    let commands: Vec<_> = std::iter::once(create())
        .chain((1..=limit).map(|number| until(number, 100)))
        .collect();
    let mut account = after(&commands);
    let events = account.decide(&start(limit + 1), at(100)).unwrap();
    assert_eq!(events.len(), 1);
    account.evolve(&events[0]);
    assert_eq!(open_sessions(&account), [session(limit + 1)]);
}

#[test]
fn a_changed_passphrase_ends_every_session_but_the_one_it_was_changed_in() {
    let account = after(&[create(), start(1), start(2), passphrase(Some(2))]);
    assert_eq!(open_sessions(&account), [session(2)]);
    assert_eq!(account.profile().unwrap().passphrase_set_at, Some(at(3).at));
    let none = after(&[create(), start(1), passphrase(None)]);
    assert!(open_sessions(&none).is_empty());
}

#[test]
fn only_a_live_session_is_kept() {
    let account = after(&[create(), until(1, 50)]);
    for (kept, second) in [(1, 50), (7, 10)] {
        let events = account.decide(&passphrase(Some(kept)), at(second)).unwrap();
        let AccountEvent::PassphraseSet(set) = &events[0] else {
            panic!("{events:?}")
        };
        assert_eq!(set.kept, None);
    }
}

#[test]
fn a_passphrase_that_was_not_changed_in_a_session_keeps_none() {
    let account = after(&[create(), start(1)]);
    for cause in [
        PassphraseCause::Setup,
        PassphraseCause::Invitation,
        PassphraseCause::SignUp,
        PassphraseCause::Reset,
        PassphraseCause::Recovery,
    ] {
        let setting = AccountCommand::SetPassphrase {
            cause,
            kept: Some(session(1)),
        };
        let mut account = account.clone();
        for event in account.decide(&setting, at(9)).unwrap() {
            account.evolve(&event);
        }
        assert!(open_sessions(&account).is_empty(), "{cause:?}");
    }
}

#[test]
fn an_unverified_account_has_a_passphrase_and_a_new_one_has_none() {
    let unverified = after(&[new(Address::Unverified), passphrase(None)]);
    let profile = unverified.profile().unwrap();
    assert_eq!(profile.passphrase_set_at, Some(at(1).at));
    assert_eq!(
        after(&[create()]).profile().unwrap().passphrase_set_at,
        None
    );
}
