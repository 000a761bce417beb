//! Given events, when a command, then events or a refusal.

mod recovery;
mod sessions;

use super::command::{AccountCommand, AccountType, Address, NewAccount, ProviderSubject};
use super::error::AccountError;
use super::event::AccountEvent;
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

fn new(address: Address) -> AccountCommand {
    AccountCommand::Create(NewAccount {
        email: Text::parse("ada@harbour.example").unwrap(),
        name: Text::parse("Ada").unwrap(),
        account_type: AccountType::User,
        address,
    })
}

fn create() -> AccountCommand {
    new(Address::Verified)
}

fn email(address: &str) -> AccountCommand {
    AccountCommand::ChangeEmail(Text::parse(address).unwrap())
}

fn rename(name: &str) -> AccountCommand {
    AccountCommand::Rename(Text::parse(name).unwrap())
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

fn all_but_creation() -> Vec<AccountCommand> {
    vec![
        AccountCommand::Verify,
        sessions::passphrase(None),
        sessions::start(1),
        sessions::end(1),
        email("bo@harbour.example"),
        rename("Bo"),
        AccountCommand::IssueRecoverySheet,
        recovery::code(1, 0),
        link("ada"),
        unlink("ada"),
        AccountCommand::Delete,
    ]
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
    for command in all_but_creation() {
        assert_eq!(
            refused(&Account::default(), &command),
            AccountError::NotFound
        );
    }
}

#[test]
fn a_control_character_is_refused_with_its_field() {
    let name = Text::parse("A\u{1f}da").unwrap();
    let new = NewAccount {
        email: Text::parse("ada@harbour.example").unwrap(),
        name,
        account_type: AccountType::Developer,
        address: Address::Verified,
    };
    let refusal = refused(&Account::default(), &AccountCommand::Create(new));
    assert_eq!(refusal, AccountError::Control { field: "name" });
    let account = after(&[create()]);
    for (command, field) in [
        (link("a\u{7f}b"), "subject"),
        (email("a\u{1}@harbour.example"), "email"),
        (rename("A\tda"), "name"),
    ] {
        assert_eq!(refused(&account, &command), AccountError::Control { field });
    }
}

#[test]
fn an_account_is_verified_by_its_owner_once_and_by_the_operator_from_the_start() {
    let account = after(&[new(Address::Unverified)]);
    assert_eq!(account.profile().unwrap().address, Address::Unverified);
    let verified = after(&[new(Address::Unverified), AccountCommand::Verify]);
    assert_eq!(verified.profile().unwrap().address, Address::Verified);
    for account in [verified, after(&[create()])] {
        let again = account.decide(&AccountCommand::Verify, at(1));
        assert_eq!(again, Ok(Vec::new()));
    }
}

#[test]
fn an_account_from_before_there_were_unverified_ones_is_verified() {
    let old = serde_json::json!({ "account_created": {
        "at": "2026-11-30T12:00:00.000Z",
        "account_type": "user",
        "email": { "$open": "ada@harbour.example" },
        "name": { "$open": "Ada" },
    }});
    let event: AccountEvent = serde_json::from_value(old.clone()).unwrap();
    assert_eq!(serde_json::to_value(&event).unwrap(), old);
    let mut account = Account::default();
    account.evolve(&event);
    assert_eq!(account, after(&[create()]));
}

#[test]
fn a_new_address_and_a_new_name_take_the_place_of_the_old() {
    let commands = [
        new(Address::Unverified),
        email("bo@harbour.example"),
        rename("Bo"),
    ];
    let account = after(&commands);
    let profile = account.profile().unwrap();
    assert_eq!(profile.email.open().unwrap(), "bo@harbour.example");
    assert_eq!(profile.name.open().unwrap(), "Bo");
    assert_eq!(profile.address, Address::Verified);
    for same in &commands[1..] {
        assert_eq!(account.decide(same, at(1)), Ok(Vec::new()));
    }
}

#[test]
fn confirming_the_address_it_already_has_verifies_an_account() {
    let account = after(&[new(Address::Unverified), email("ada@harbour.example")]);
    assert_eq!(account.profile().unwrap().address, Address::Verified);
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
    for command in [vec![create()], all_but_creation()].concat() {
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
