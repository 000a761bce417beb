//! Given entries, when another is recorded, then it follows the last; and the published vectors.

use uuid::Uuid;

use super::command::{AuditCommand, NewEntry};
use super::error::AuditError;
use super::event::{Action, AuditEvent};
use super::{Audit, Hashed};
use crate::access::author::Author;
use crate::decider::Decider;
use crate::ids::AccountId;
use crate::sealed::Sealed;
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

fn entry(client: &str, detail: &str) -> AuditCommand {
    AuditCommand::Record(Box::new(NewEntry {
        client: Text::parse(client).unwrap(),
        action: Action::Read,
        detail: Text::parse(detail).unwrap(),
        by: Some(Author::Account(AccountId::new(Uuid::from_u128(1)))),
    }))
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

#[test]
fn an_entry_has_the_published_hash() {
    let first = Hashed {
        seq: 1,
        at: at("2026-08-05T08:00:00.000Z"),
        client: "You (web)",
        action: Action::Write,
        detail: "created the vault",
        prev: "",
    };
    let hash = "8497e5debc22d21e4decd6db795eb1f92414441d2abe883ce0ca53850710183a";
    assert_eq!(first.hash(), hash);
    let second = Hashed {
        seq: 2,
        at: at("2026-08-05T08:01:30.250Z"),
        client: "Åsa’s phone → 日本",
        action: Action::Read,
        detail: "identity, work · label café",
        prev: hash,
    };
    let hash = "626eeb4615f5f1491b5cd4e3661f76d2345e5e8c482317b3afe025fdf7e44cc0";
    assert_eq!(second.hash(), hash);
    let third = Hashed {
        seq: 3,
        at: at("2026-08-05T08:02:00.001Z"),
        client: "Meal Planner",
        action: Action::Read,
        detail: "",
        prev: hash,
    };
    let hash = "b1864c5bf37b4069f8cf32a5d0c4f65722bd7bc0e236d8a823d441efd6a6f236";
    assert_eq!(third.hash(), hash);
}

#[test]
fn each_entry_follows_the_one_before_and_the_last_alone_says_where_the_record_stands() {
    let mut audit = Audit::default();
    let mut prev = String::new();
    for seq in 1..=3 {
        let stamp = Stamp {
            at: Timestamp::from_millis(1_796_040_000_000 + seq),
        };
        let events = audit.decide(&entry("Tide", "project_list"), stamp).unwrap();
        let [AuditEvent::Recorded(recorded)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!(recorded.prev.open().unwrap(), &prev);
        prev.clone_from(recorded.hash.open().unwrap());
        audit.evolve(&events[0]);
        let mut fresh = Audit::default();
        fresh.evolve(&events[0]);
        assert_eq!(fresh, audit);
    }
    assert_eq!(audit.seq, 3);
}

#[test]
fn nothing_is_recorded_behind_a_closed_entry_or_with_a_separator_in_a_name() {
    let stamp = Stamp {
        at: Timestamp::from_millis(1_796_040_000_000),
    };
    let closed = Audit {
        seq: 1,
        head: Sealed::Closed("c2VhbA".to_owned()),
    };
    assert_eq!(
        closed.decide(&entry("Tide", "x"), stamp),
        Err(AuditError::Closed)
    );
    assert_eq!(
        Audit::default().decide(&entry("Ti\u{1f}de", "x"), stamp),
        Err(AuditError::Control)
    );
}
