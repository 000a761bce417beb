use super::*;
use crate::solver::fixture::{Town, library, turn};
use crate::solver::seam::{AbortReason, QuotedSpan};

const ALL: Span = Span {
    start: 0,
    end: u64::MAX,
};

fn terms(stems: &[&str]) -> Vec<WeightedTerm> {
    stems
        .iter()
        .map(|stem| WeightedTerm {
            stem: (*stem).to_owned(),
            weight: 1.0,
        })
        .collect()
}

#[test]
fn a_capability_outside_the_runs_list_is_refused_with_a_receipt() {
    let town = Town::new();
    let (mut input, _handle) = library("anything");
    input.allowed_tools = vec![
        "repo.search".into(),
        "room.environment.probe".into(),
        "shell.run".into(),
    ];
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    assert_eq!(
        host.search("research_library", &terms(&["ferry"]), 8),
        Err(ToolError::NotAdmitted)
    );
    let receipt = &host.record().receipts[0];
    assert_eq!(receipt.outcome, ToolOutcome::Refused);
    assert_eq!(
        (receipt.bytes, receipt.capability.as_str()),
        (0, "research-library.read_document")
    );
}

#[test]
fn a_scope_the_run_did_not_ask_for_is_refused() {
    let town = Town::new();
    let (mut input, _handle) = turn("anything", &["repository_evidence"]);
    input
        .allowed_tools
        .push("research-library.read_document".into());
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    assert_eq!(
        host.list("research_library", 8),
        Err(ToolError::NotAdmitted)
    );
    assert_eq!(
        host.list("repository_evidence", 8),
        Err(ToolError::NoProvider)
    );
    assert_eq!(host.list("no_such_scope", 8), Err(ToolError::NotAdmitted));
    let outcomes: Vec<ToolOutcome> = host.record().receipts.iter().map(|r| r.outcome).collect();
    assert_eq!(
        outcomes,
        [
            ToolOutcome::Refused,
            ToolOutcome::Failed,
            ToolOutcome::Refused
        ]
    );
}

#[test]
fn the_ceiling_holds_reading_capabilities_only() {
    assert!(is_read_only("repo.search") && is_read_only("room.environment.probe"));
    assert!(!is_read_only("room.write") && !is_read_only(helix_aggregates::agent::scope::NO_TOOLS));
}

#[test]
fn calls_and_bytes_are_counted_against_the_allowance() {
    let town = Town::new();
    let (mut input, _handle) = library("anything");
    input.allowance.tool_calls = 3;
    input.allowance.bytes = 300;
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let cards = host.list("research_library", 2).unwrap();
    assert_eq!(
        host.read(cards[0].source, Span { start: 0, end: 100 })
            .unwrap()
            .window
            .end,
        100
    );
    assert!(matches!(
        host.read(cards[1].source, ALL),
        Err(ToolError::Exhausted)
    ));
    assert!(matches!(
        host.list("research_library", 1),
        Err(ToolError::Exhausted)
    ));
    let record = host.record();
    assert_eq!(record.receipts.len(), 3);
    assert!(
        record
            .receipts
            .iter()
            .map(|receipt| receipt.bytes)
            .sum::<u64>()
            <= 300
    );
    assert_eq!(record.receipts[2].outcome, ToolOutcome::Exhausted);
}

#[test]
fn a_withheld_answer_cannot_be_quoted() {
    let town = Town::new();
    let (mut input, _handle) = library("anything");
    input.allowance.bytes = 100;
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let source = host.list("research_library", 1).unwrap()[0].source;
    assert!(host.read(source, ALL).is_err());
    let quoted = QuotedSpan {
        source,
        span: Span { start: 0, end: 5 },
        quote: "Fares".into(),
        why: String::new(),
    };
    assert_eq!(host.admit(&quoted), Err(Refusal::NotRead));
}

#[test]
fn a_receipt_is_the_hash_of_what_was_handed_over() {
    let town = Town::new();
    let (input, _handle) = library("anything");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let source = host.list("research_library", 1).unwrap()[0].source;
    let read = host.read(source, Span { start: 0, end: 20 }).unwrap();
    let handed = slice(&read.document.text, read.window).unwrap();
    let receipt = host.record().receipts.pop().unwrap();
    assert_eq!(
        receipt.answer_sha256,
        hex::encode(<sha2::Sha256 as sha2::Digest>::digest(handed))
    );
    assert_eq!(receipt.bytes, handed.len() as u64);
    assert!(receipt.receipt_ref.len() <= 500);
}

#[test]
fn a_stopped_turn_reads_no_more() {
    let town = Town::new();
    let (input, handle) = library("anything");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let source = host.list("research_library", 1).unwrap()[0].source;
    handle.raise(AbortReason::Cancelled);
    let stopped = ToolError::Stopped(SolverError::Aborted(AbortReason::Cancelled));
    assert_eq!(host.read(source, ALL).unwrap_err(), stopped);
    assert_eq!(host.record().receipts.len(), 1);
}

#[test]
fn a_window_is_widened_to_whole_characters() {
    let town = Town::of(&[("a.txt", "aéz\u{1f98a}".as_bytes())]);
    let (input, _handle) = library("anything");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    let source = host.list("research_library", 1).unwrap()[0].source;
    for (asked, given) in [
        ((2, 3), "é"),
        ((2, 5), "éz\u{1f98a}"),
        ((9, 3), ""),
        ((0, 1), "a"),
    ] {
        let read = host
            .read(
                source,
                Span {
                    start: asked.0,
                    end: asked.1,
                },
            )
            .unwrap();
        assert_eq!(
            slice(&read.document.text, read.window),
            Some(given),
            "{asked:?}"
        );
    }
}
