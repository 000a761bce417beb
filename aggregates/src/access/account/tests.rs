//! Given events, when a command, then events or a refusal.

use super::command::{AccountCommand, AccountType, NewAccount, ProviderSubject};
use super::error::AccountError;
use super::{Account, decide::LINKS_LIMIT};
use crate::decider::{Decider, WireEvent};
use crate::sealed::Sealed;
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn create() -> AccountCommand {
    AccountCommand::Create(NewAccount {
        email: Text::parse("ada@harbour.example").unwrap(),
        name: Text::parse("Ada").unwrap(),
        account_type: AccountType::User,
    })
}

fn subject(name: &str) -> ProviderSubject {
    ProviderSubject {
        provider: Text::parse("harbour-id").unwrap(),
        subject: Text::parse(name).unwrap(),
    }
}

fn link(name: &str) -> AccountCommand {
    AccountCommand::LinkProvider(subject(name))
}

fn unlink(name: &str) -> AccountCommand {
    AccountCommand::UnlinkProvider(subject(name))
}

fn after(commands: &[AccountCommand]) -> Account {
    let mut account = Account::default();
    for command in commands {
        for event in account.decide(command, at(0)).unwrap() {
            account.evolve(&event);
        }
    }
    account
}

fn refused(account: &Account, command: &AccountCommand) -> AccountError {
    account.decide(command, at(1)).unwrap_err()
}

#[test]
fn an_account_is_created_once() {
    let account = after(&[create()]);
    let profile = account.profile().unwrap();
    assert_eq!(profile.email.open().unwrap(), "ada@harbour.example");
    assert_eq!(profile.account_type, AccountType::User);
    assert_eq!(refused(&account, &create()), AccountError::AlreadyExists);
}

#[test]
fn an_account_that_does_not_exist_takes_only_its_creation() {
    for command in [link("ada"), unlink("ada"), AccountCommand::Delete] {
        assert_eq!(
            refused(&Account::default(), &command),
            AccountError::NotFound
        );
    }
}

#[test]
fn a_control_character_is_refused_with_its_field() {
    let name = Text::parse("A\u{1f}da").unwrap();
    let email = Text::parse("ada@harbour.example").unwrap();
    let new = NewAccount {
        email,
        name,
        account_type: AccountType::Developer,
    };
    let refusal = refused(&Account::default(), &AccountCommand::Create(new));
    assert_eq!(refusal, AccountError::Control { field: "name" });
    assert_eq!(
        refused(&after(&[create()]), &link("a\u{7f}b")),
        AccountError::Control { field: "subject" }
    );
}

#[test]
fn a_subject_is_linked_once_and_can_be_linked_again_after_it_was_unlinked() {
    let account = after(&[create(), link("ada")]);
    assert_eq!(refused(&account, &link("ada")), AccountError::AlreadyLinked);
    let account = after(&[create(), link("ada"), unlink("ada"), link("ada")]);
    let links: Vec<u32> = account
        .profile()
        .unwrap()
        .providers
        .keys()
        .copied()
        .collect();
    assert_eq!(links, [2]);
}

#[test]
fn only_a_linked_subject_is_unlinked() {
    let account = after(&[create(), link("ada")]);
    assert_eq!(refused(&account, &unlink("eve")), AccountError::NotLinked);
    let other = ProviderSubject {
        provider: Text::parse("other").unwrap(),
        ..subject("ada")
    };
    let refusal = refused(&account, &AccountCommand::UnlinkProvider(other));
    assert_eq!(refusal, AccountError::NotLinked);
    let account = after(&[create(), link("ada"), link("bo"), unlink("ada")]);
    let profile = account.profile().unwrap();
    assert_eq!(profile.providers.len(), 1);
    assert_eq!(profile.providers[&2].subject.open().unwrap(), "bo");
}

#[test]
fn linked_subjects_are_bounded() {
    let mut commands = vec![create()];
    commands.extend((0..LINKS_LIMIT).map(|n| link(&format!("s{n}"))));
    let full = after(&commands);
    let refusal = AccountError::TooManyLinks { limit: LINKS_LIMIT };
    assert_eq!(refused(&full, &link("one more")), refusal);
}

#[test]
fn a_deleted_account_stays_deleted() {
    let account = after(&[create(), AccountCommand::Delete]);
    assert!(account.profile().is_none());
    for command in [create(), link("ada"), unlink("ada"), AccountCommand::Delete] {
        assert_eq!(refused(&account, &command), AccountError::Deleted);
    }
}

#[test]
fn a_link_can_be_undone_by_its_number_when_its_text_is_gone() {
    let mut account = after(&[create(), link("ada")]);
    let unlinking = account.decide(&unlink("ada"), at(1)).unwrap();
    if let Account::Active(profile) = &mut account {
        profile
            .providers
            .values_mut()
            .for_each(|link| link.subject = Sealed::Closed("c".into()));
    }
    assert_eq!(unlinking[0].name(), "account_provider_unlinked");
    account.evolve(&unlinking[0]);
    assert!(account.profile().unwrap().providers.is_empty());
}
