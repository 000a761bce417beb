//! What holds for any sequence of commands to an account.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use helix_aggregates::access::account::command::{
    AccountCommand, AccountType, Address, NewAccount, NewSession, PassphraseCause, RecoveryCode,
    SignOff,
};
use helix_aggregates::access::account::event::AccountEvent;
use helix_aggregates::access::account::{Account, Profile, SESSIONS_LIMIT};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::SessionId;
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

/// Stands in every text a person wrote.
const CANARY: &str = "canary-kestrel";

fn text<const MAX: usize>(number: u8) -> Text<MAX> {
    Text::parse(&format!("{CANARY} {number}")).unwrap()
}

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn session(number: u16) -> SessionId {
    SessionId::new(Uuid::from_u128(u128::from(number)))
}

fn create(address: Address) -> AccountCommand {
    AccountCommand::Create(NewAccount {
        email: text(0),
        name: text(0),
        account_type: AccountType::User,
        address,
    })
}

fn command() -> impl Strategy<Value = AccountCommand> {
    let cause = prop_oneof![
        2 => Just(PassphraseCause::Change),
        1 => Just(PassphraseCause::Recovery),
        1 => Just(PassphraseCause::Reset),
    ];
    let sign_off = prop_oneof![Just(SignOff::SignOut), Just(SignOff::Owner)];
    prop_oneof![
        2 => Just(AccountCommand::Verify),
        2 => (cause, proptest::option::of(0_u16..90)).prop_map(|(cause, kept)| {
            AccountCommand::SetPassphrase { cause, kept: kept.map(session) }
        }),
        90 => (0_u16..90, 0_i64..400).prop_map(|(number, ends)| {
            AccountCommand::StartSession(NewSession {
                session: session(number),
                device: text(1),
                expires_at: seconds(ends),
            })
        }),
        4 => (0_u16..90, sign_off).prop_map(|(number, cause)| {
            AccountCommand::EndSession { session: session(number), cause }
        }),
        2 => (0_u8..3).prop_map(|number| AccountCommand::ChangeEmail(text(number))),
        2 => (0_u8..3).prop_map(|number| AccountCommand::Rename(text(number))),
        2 => Just(AccountCommand::IssueRecoverySheet),
        8 => (0_u32..4, 0_u8..12).prop_map(|(sheet, code)| {
            AccountCommand::UseRecoveryCode(RecoveryCode { sheet, code })
        }),
    ]
}

fn check(before: &Profile, after: &Profile, command: &AccountCommand, now: Timestamp) {
    assert!(after.live(now).count() <= SESSIONS_LIMIT);
    if after.address == Address::Unverified {
        assert!(after.sessions.is_empty());
        assert_eq!(before.address, Address::Unverified);
    }
    if let AccountCommand::SetPassphrase { kept, .. } = command {
        assert!(after.sessions.keys().all(|id| Some(*id) == *kept));
        assert!(after.sessions.len() <= 1);
    }
    let number = |profile: &Profile| profile.recovery.as_ref().map_or(0, |sheet| sheet.number);
    assert!(number(after) >= number(before));
    if let AccountCommand::UseRecoveryCode(code) = command {
        let used = |profile: &Profile| profile.recovery.as_ref().map(|sheet| sheet.used.clone());
        assert!(!used(before).unwrap().contains(&code.code));
        assert!(used(after).unwrap().contains(&code.code));
        assert_eq!(number(after), code.sheet);
    }
}

proptest! {
    #[test]
    fn any_sequence_of_commands_keeps_the_invariants(
        address in prop_oneof![Just(Address::Unverified), Just(Address::Verified)],
        commands in vec(command(), 1..300),
        deleted in any::<bool>(),
    ) {
        let (mut account, mut log) = (Account::default(), Vec::new());
        let ending = deleted.then_some(AccountCommand::Delete);
        let all: Vec<_> = std::iter::once(create(address)).chain(commands).chain(ending).collect();
        for (second, command) in (0_i64..).zip(&all) {
            let stamp = Stamp { at: seconds(second) };
            let before = account.clone();
            let Ok(events) = account.decide(command, stamp) else { continue };
            for event in &events {
                account.evolve(event);
            }
            log.extend(events.clone());
            if let (false, Some(was), Some(is)) =
                (events.is_empty(), before.profile(), account.profile())
            {
                check(was, is, command, stamp.at);
            }
        }
        prop_assert_eq!(deleted, account.profile().is_none());
        let mut replayed = Account::default();
        for event in &log {
            let stored = serde_json::to_string(event).unwrap();
            replayed.evolve(&serde_json::from_str::<AccountEvent>(&stored).unwrap());
        }
        prop_assert_eq!(&replayed, &account);
        let shown = format!("{account:?}{log:?}{all:?}");
        prop_assert!(!shown.contains(CANARY));
    }

    #[test]
    fn a_session_id_reads_back_as_itself(id in any::<u128>()) {
        let session = SessionId::new(Uuid::from_u128(id));
        prop_assert_eq!(SessionId::parse(&session.to_string()), Ok(session));
    }
}
