use super::*;
use crate::solver::fixture::{Town, library, turn};
use crate::solver::seam::Answer;

/// Solves one turn over documents of one text each.
fn draft_of(documents: &[(&str, &str)], input: &TurnInput) -> Draft {
    let files: Vec<(&str, &[u8])> = documents
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let town = Town::of(&files);
    let host = ToolHost::new(input, town.engine.corpora().snapshot());
    solve(input, &host).unwrap()
}

fn draft(documents: &[(&str, &str)], objective: &str) -> Draft {
    draft_of(documents, &library(objective).0)
}

fn pair<'a>(a: &'a str, b: &'a str) -> [(&'a str, &'a str); 2] {
    [("a.txt", a), ("b.txt", b)]
}

#[test]
fn other_values_for_the_same_attribute_are_contradictions() {
    for (objective, a, b) in [
        (
            "When does the ferry to Nes depart?",
            "The ferry to Nes departs at 08:15.",
            "The ferry to Nes leaves at 09:00.",
        ),
        (
            "When does the ferry to Nes depart?",
            "The ferry to Nes departs at 08:15 daily.",
            "Departure of the daily ferry to Nes is at 8:45.",
        ),
        (
            "How tall is the Skarholm tower?",
            "The Skarholm tower is 32 metres tall.",
            "The Skarholm tower is 32 feet tall.",
        ),
        (
            "What does the town pass cost?",
            "The town pass costs 40 kr.",
            "The price of the town pass is 40 euros.",
        ),
        (
            "When was the old bridge opened?",
            "The old bridge was opened on 3 May 1931.",
            "The old bridge was opened on 13 May 1931.",
        ),
        (
            "When was the customs house built?",
            "The customs house was built in 1874.",
            "The customs house was built in 1878.",
        ),
        (
            "How many steps has the tower?",
            "The tower has 148 steps to the lantern.",
            "The tower has 152 steps to the lantern.",
        ),
    ] {
        let found = draft(&pair(a, b), objective);
        assert_eq!(found.conflicts.len(), 1, "{a} / {b}: {found:?}");
        assert_eq!(found.contradicted_claims.len(), 2);
        assert!(found.questions.is_empty());
        assert!(
            found.conflicts[0].text.contains("a.txt") && found.conflicts[0].text.contains("b.txt")
        );
    }
}

#[test]
fn other_circumstances_are_no_contradictions() {
    let (a, b) = (
        "The ferry to Nes departs at 08:00.",
        "The ferry to Nes departs at 09:00.",
    );
    assert_eq!(
        draft(&pair(a, b), "All about the ferry to Nes")
            .conflicts
            .len(),
        1
    );
    for (a, b) in [
        (
            "The first ferry to Nes departs at 06:40.",
            "The last ferry to Nes departs at 21:15.",
        ),
        (
            "On weekdays the ferry to Nes departs at 06:40.",
            "On Sundays the ferry to Nes departs at 09:30.",
        ),
        (
            "The ferry from Vik to Nes departs at 08:00.",
            "The ferry from Nes to Vik departs at 09:00.",
        ),
        (
            "The ferry Solveig to Nes departs at 08:00.",
            "The ferry Havorn to Nes departs at 09:00.",
        ),
        (
            "The ferry to Nes departs at 08:00.",
            "The ferry to Nes departs at 8 am.",
        ),
        (
            "The ferry to Nes departs at 08:00.",
            "The ferry to Nes takes 35 minutes.",
        ),
        (
            "A ferry ticket to Nes costs 62 kr for an adult.",
            "A ferry ticket to Nes costs 31 kr for a child.",
        ),
        (
            "In summer the ferry to Nes departs at 08:00.",
            "In winter the ferry to Nes departs at 09:00.",
        ),
        (
            "From 1 May 2026 the ferry ticket to Nes costs 62 kr.",
            "Until 30 April 2026 the ferry ticket to Nes costs 58 kr.",
        ),
        (
            "The ferry to Nes departs at 08:00.\n\nThe ferry to Nes departs at 09:00.",
            "The ferry to Nes departs at 09:00.",
        ),
    ] {
        let found = draft(&pair(a, b), "All about the ferry to Nes");
        assert!(!found.spans.is_empty(), "{a} / {b}");
        assert!(
            found.conflicts.is_empty(),
            "{a} / {b}: {:?}",
            found.conflicts
        );
    }
}

#[test]
fn a_contradiction_reads_the_same_whichever_document_matches_better() {
    let (a, b) = (
        "The ferry to Nes departs at 08:15.",
        "The ferry to Nes departs at 09:00 from the quay.",
    );
    let one = draft(&pair(a, b), "When does the ferry to Nes depart?");
    let other = draft(
        &pair(a, b),
        "When does the ferry to Nes depart from the quay?",
    );
    assert_eq!(one.conflicts[0].text, other.conflicts[0].text);
    assert_eq!(contradictions::titles_of(&one.conflicts[0].text).len(), 2);
}

#[test]
fn documents_that_agree_are_no_reason_to_ask() {
    let text = "The ferry to Nes departs at 08:15.";
    let found = draft(&pair(text, text), "When does the ferry to Nes depart?");
    assert!(found.questions.is_empty() && found.conflicts.is_empty());
    assert_eq!(found.claims.len(), 1, "{:?}", found.claims);
}

#[test]
fn an_objective_that_asks_for_all_is_not_asked_back() {
    let found = draft(
        &pair(
            "The ferry Solveig stops at Vik.",
            "The ferry Havorn stops at Vik.",
        ),
        "List the ferries that stop at Vik",
    );
    assert!(found.questions.is_empty(), "{:?}", found.questions);
    assert_eq!(found.claims.len(), 2);
}

#[test]
fn an_empty_library_is_a_limitation_and_no_question() {
    let found = draft(&[], "Anything at all");
    assert!(found.questions.is_empty());
    assert!(
        found
            .unresolved
            .iter()
            .any(|text| text.contains("holds no readable document"))
    );
    assert_eq!(found.progress, Progress::None);
}

#[test]
fn an_answer_in_other_words_is_searched_for() {
    let documents = [
        ("a.txt", "The warden locks the gate at dusk."),
        ("b.txt", "Cod is sold on Thursdays."),
    ];
    let (mut input, _handle) = library("When is the portcullis lowered?");
    assert_eq!(
        draft_of(&documents, &input).questions[0].question_id,
        ambiguity::NO_MATCH
    );
    input.answers = vec![Answer {
        question_id: ambiguity::NO_MATCH.into(),
        value: "{\"words\":\"gate lock\"}".into(),
    }];
    let found = draft_of(&documents, &input);
    assert_eq!(found.claims[0].text, "The warden locks the gate at dusk.");
}

#[test]
fn a_document_picked_after_no_match_is_quoted_where_it_says_something_of_it() {
    let documents = [
        ("a.txt", "The warden locks the gate at dusk."),
        (
            "b.txt",
            "Cod is sold on Thursdays. The watch goes home when the harbour closes.",
        ),
    ];
    let (mut input, _handle) =
        library("When is the portcullis of the northern harbour fortress lowered?");
    let asked = draft_of(&documents, &input);
    assert_eq!(asked.questions[0].question_id, ambiguity::NO_MATCH);
    let picked = |document: &str| Answer {
        question_id: ambiguity::NO_MATCH.into(),
        value: format!("\"{document}\""),
    };
    input.answers = vec![picked("b.txt")];
    let found = draft_of(&documents, &input);
    let claims: Vec<&str> = found
        .claims
        .iter()
        .map(|claim| claim.text.as_str())
        .collect();
    assert_eq!(claims, ["The watch goes home when the harbour closes."]);
    input.answers = vec![picked("a.txt")];
    let nothing = draft_of(&documents, &input);
    assert!(nothing.claims.is_empty() && !nothing.unresolved.is_empty());
}

#[test]
fn a_row_of_a_table_answers_and_its_head_does_not() {
    let documents = [(
        "bakery.md",
        "# Bakery\n\n| bread | price |\n|---|---|\n| rye | 3.10 |\n| oat | 2.80 |\n",
    )];
    let (input, _handle) = library("What is the price of rye bread?");
    let found = draft_of(&documents, &input);
    assert_eq!(found.claims[0].text, "rye 3.10");
}

#[test]
fn what_an_earlier_turn_missed_is_settled_when_it_is_found() {
    let documents = [("a.txt", "The ferry to Nes departs at 08:15.")];
    let (mut input, _handle) = library("When does the ferry to Nes depart?");
    input.previous_unresolved_requirements = vec!["No passage matches.".into()];
    input.previous_contradictions =
        vec!["\u{201c}x\u{201d} says: 1 but \u{201c}y\u{201d} says: 2".into()];
    let found = draft_of(&documents, &input);
    assert_eq!(found.settled_requirements, [0]);
    // Nobody has chosen a side of it.
    assert!(found.settled_contradictions.is_empty());
}

#[test]
fn fields_without_a_value_are_named() {
    let documents = [(
        "a.txt",
        "The ferry to Nes departs at 08:15 and costs 62 kr.",
    )];
    let (mut input, _handle) = library("When does the ferry to Nes depart?");
    input.required_output_fields = ["departure_time", "price", "height", "answer", "text"]
        .map(str::to_owned)
        .to_vec();
    let found = draft_of(&documents, &input);
    let proposed: Vec<(&str, &str)> = found
        .fields
        .iter()
        .map(|field| (field.field.as_str(), field.value.as_str()))
        .collect();
    assert_eq!(
        proposed,
        [
            ("departure_time", "08:15"),
            ("price", "62 kr"),
            (
                "answer",
                "The ferry to Nes departs at 08:15 and costs 62 kr."
            ),
        ]
    );
    assert_eq!(
        found.unresolved,
        ["No quoted passage settles the output field height."]
    );
}

#[test]
fn brackets_of_a_source_are_never_marks() {
    let found = draft(
        &[("a.txt", "The ferry to Nes [3] departs at 08:15 [2].")],
        "When does the ferry to Nes depart?",
    );
    assert_eq!(
        found.digest,
        "The ferry to Nes (3) departs at 08:15 (2). [1]"
    );
}

#[test]
fn a_long_document_is_read_around_its_hits() {
    let filler = "Nothing of note happened on the quay that day.\n\n".repeat(8000);
    let text = format!("{filler}The ferry to Nes departs at 08:15.\n\n{filler}");
    let found = draft(&[("a.txt", &text)], "When does the ferry to Nes depart?");
    assert_eq!(found.claims[0].text, "The ferry to Nes departs at 08:15.");
    assert_eq!(found.spans[0].span.start, filler.len() as u64);
}

#[test]
fn each_scope_of_the_run_is_quoted() {
    let town = Town::of(&[("a.txt", b"The ferry to Nes departs at 08:15.")]);
    std::fs::write(
        town.path("lib.rs"),
        "/// The ferry to Nes departs when it is full.\nfn depart() {}\n",
    )
    .unwrap();
    let done = std::process::Command::new("git")
        .arg("-C")
        .arg(town.path(""))
        .args(["init", "-q"])
        .status();
    assert!(done.unwrap().success());
    let config = crate::solver::corpora::CorporaConfig {
        libraries: vec![town.path("")],
        repository: Some(town.path("")),
        ..Default::default()
    };
    let corpora =
        crate::solver::corpora::Corpora::open(config, &|_: crate::solver::corpora::LoadStep| {});
    let (input, _handle) = turn(
        "When does the ferry to Nes depart?",
        &["research_library", "repository_evidence"],
    );
    let host = ToolHost::new(&input, corpora.snapshot());
    let found = solve(&input, &host).unwrap();
    let scopes: std::collections::BTreeSet<&str> = found
        .spans
        .iter()
        .filter_map(|span| host.card(span.source))
        .map(|card| card.scope)
        .collect();
    assert_eq!(scopes.len(), 2, "{found:?}");
}

#[test]
fn circumstances_the_objective_rules_out_are_neither_quoted_nor_compared() {
    let documents = pair(
        "The first ferry to Nes departs at 06:40.\n\nThe last ferry to Nes departs at 21:15.",
        "The first ferry to Nes departs at 07:10.",
    );
    let found = draft(&documents, "When does the last ferry to Nes depart?");
    assert_eq!(found.digest, "The last ferry to Nes departs at 21:15. [1]");
    assert!(found.conflicts.is_empty());
}
