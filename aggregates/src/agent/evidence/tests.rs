//! Given events, when evidence is recorded, then events or a refusal.

use uuid::Uuid;

use super::Evidence;
use super::command::{EvidenceCommand, TurnEvidence};
use super::decide::TURN_LIMIT;
use super::error::EvidenceError;
use super::item::{EvidenceItem, Span, ToolOutcome, ToolReceipt};
use crate::decider::{Decider, WireEvent};
use crate::ids::OperationId;
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

fn stamp() -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000),
    }
}

fn receipt(name: &str) -> ToolReceipt {
    ToolReceipt {
        receipt_ref: name.to_owned(),
        capability: "research-library.read_document".to_owned(),
        scope: "research_library".to_owned(),
        outcome: ToolOutcome::Answered,
        arguments: Sealed::Open("{\"path\":\"ferries.md\"}".to_owned()),
        bytes: 512,
        answer_sha256: "00".repeat(32),
    }
}

fn item(name: &str, receipt_ref: &str) -> EvidenceItem {
    EvidenceItem {
        item_ref: name.to_owned(),
        kind: "research_library_observation".to_owned(),
        scope: "research_library".to_owned(),
        title: Sealed::Open("Ferries".to_owned()),
        locator: Sealed::Open("ferries.md".to_owned()),
        snapshot_sha256: "11".repeat(32),
        span: Span { start: 3, end: 9 },
        quote: Sealed::Open("to Vik".to_owned()),
        receipt_ref: receipt_ref.to_owned(),
    }
}

fn turn(receipts: Vec<ToolReceipt>, items: Vec<EvidenceItem>) -> EvidenceCommand {
    EvidenceCommand::Record(TurnEvidence {
        turn_seq: 1,
        operation: OperationId::new(Uuid::from_u128(1)),
        receipts,
        items,
    })
}

fn after(command: &EvidenceCommand) -> Evidence {
    let mut evidence = Evidence::default();
    for event in evidence.decide(command, stamp()).unwrap() {
        evidence.evolve(&event);
    }
    evidence
}

fn refused(evidence: &Evidence, command: &EvidenceCommand) -> EvidenceError {
    evidence.decide(command, stamp()).unwrap_err()
}

fn malformed(change: impl FnOnce(&mut EvidenceItem)) -> EvidenceError {
    let mut changed = item("e:1", "r:1");
    change(&mut changed);
    refused(
        &Evidence::default(),
        &turn(vec![receipt("r:1")], vec![changed]),
    )
}

#[test]
fn receipts_are_recorded_before_the_items_that_name_them() {
    let command = turn(
        vec![receipt("r:1")],
        vec![item("e:1", "r:1"), item("e:2", "r:1")],
    );
    let events = Evidence::default().decide(&command, stamp()).unwrap();
    let names: Vec<&str> = events.iter().map(WireEvent::name).collect();
    assert_eq!(
        names,
        [
            "tool_receipt_recorded",
            "evidence_admitted",
            "evidence_admitted"
        ]
    );
    let evidence = after(&command);
    assert_eq!(evidence.item("e:2").unwrap().item, item("e:2", "r:1"));
    assert_eq!(evidence.receipt("r:1").unwrap().receipt, receipt("r:1"));
    assert_eq!(
        (evidence.items().count(), evidence.receipts().count()),
        (2, 1)
    );
    assert!(evidence.item("e:3").is_none());
}

#[test]
fn a_turn_that_read_nothing_leaves_no_event() {
    let events = Evidence::default()
        .decide(&turn(Vec::new(), Vec::new()), stamp())
        .unwrap();
    assert!(events.is_empty());
}

#[test]
fn an_item_may_name_the_receipt_of_an_earlier_turn() {
    let evidence = after(&turn(vec![receipt("r:1")], Vec::new()));
    let later = turn(Vec::new(), vec![item("e:1", "r:1")]);
    assert_eq!(evidence.decide(&later, stamp()).unwrap().len(), 1);
}

#[test]
fn a_reference_names_one_thing_for_ever() {
    let evidence = after(&turn(vec![receipt("r:1")], vec![item("e:1", "r:1")]));
    let taken = |name: &str| EvidenceError::DuplicateRef(name.to_owned());
    let again = turn(vec![receipt("r:1")], Vec::new());
    assert_eq!(refused(&evidence, &again), taken("r:1"));
    let again = turn(Vec::new(), vec![item("e:1", "r:1")]);
    assert_eq!(refused(&evidence, &again), taken("e:1"));
    let within = turn(vec![receipt("r:2"), receipt("r:2")], Vec::new());
    assert_eq!(refused(&evidence, &within), taken("r:2"));
    let within = turn(Vec::new(), vec![item("e:2", "r:1"), item("e:2", "r:1")]);
    assert_eq!(refused(&evidence, &within), taken("e:2"));
}

#[test]
fn an_item_without_a_receipt_is_refused() {
    let orphan = turn(vec![receipt("r:1")], vec![item("e:1", "r:2")]);
    let unknown = EvidenceError::UnknownReceipt("r:2".to_owned());
    assert_eq!(refused(&Evidence::default(), &orphan), unknown);
}

#[test]
fn a_turn_is_bounded() {
    let receipts = |count: usize| (0..count).map(|n| receipt(&format!("r:{n}"))).collect();
    let full = turn(receipts(TURN_LIMIT), Vec::new());
    assert_eq!(
        Evidence::default().decide(&full, stamp()).unwrap().len(),
        TURN_LIMIT
    );
    let over = turn(receipts(TURN_LIMIT + 1), Vec::new());
    let refusal = EvidenceError::TooMany {
        what: "receipts",
        limit: TURN_LIMIT,
    };
    assert_eq!(refused(&Evidence::default(), &over), refusal);
    let items = (0..=TURN_LIMIT)
        .map(|n| item(&format!("e:{n}"), "r:0"))
        .collect();
    let refusal = EvidenceError::TooMany {
        what: "items",
        limit: TURN_LIMIT,
    };
    assert_eq!(
        refused(&Evidence::default(), &turn(receipts(1), items)),
        refusal
    );
}

#[test]
fn what_cannot_be_stored_is_refused_with_its_field() {
    let field = |field| EvidenceError::Malformed { field };
    for name in ["", " e:1", "e\n1", &"e".repeat(501)] {
        assert_eq!(
            malformed(|item| item.item_ref = name.to_owned()),
            field("item_ref")
        );
    }
    assert_eq!(malformed(|item| item.kind = String::new()), field("kind"));
    assert_eq!(
        malformed(|item| item.span = Span { start: 9, end: 8 }),
        field("span")
    );
    let long = Sealed::Open("q".repeat(2001));
    assert_eq!(malformed(|item| item.quote = long), field("quote"));
    let nul = Sealed::Open("a\0b".to_owned());
    assert_eq!(malformed(|item| item.title = nul.clone()), field("title"));
    assert_eq!(
        malformed(|item| item.locator = nul.clone()),
        field("locator")
    );
    let bad = ToolReceipt {
        arguments: nul,
        ..receipt("r:1")
    };
    let refusal = refused(&Evidence::default(), &turn(vec![bad], Vec::new()));
    assert_eq!(refusal, field("arguments"));
}
