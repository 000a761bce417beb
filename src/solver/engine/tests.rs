use std::time::Duration;

use helix_aggregates::agent::run::turn::TerminalAuthority;

use super::*;
use crate::solver::corpora::CorporaConfig;
use crate::solver::fixture::{Town, library, turn};
use crate::solver::seam::{Answer, Draft, Solving};

#[tokio::test]
async fn a_clear_question_is_answered_with_a_quoted_sentence() {
    let town = Town::new();
    let (mut input, _handle) = library("How much will the renovation of the lighthouse cost?");
    input.required_output_fields = vec!["text".into(), "cost".into()];
    let outcome = town.engine.execute(input).await;
    let result = &outcome.result;
    assert_eq!(
        result.terminal_authority_status,
        TerminalAuthority::Authorized,
        "{result:?}"
    );
    assert!(result.ok && !result.needs_input && result.pending_questions.is_empty());
    let product = result.terminal_product.as_ref().unwrap();
    assert!(
        product
            .text
            .starts_with("The renovation of Skarholm lighthouse will cost 2.4 million kroner. [1]"),
        "{}",
        product.text
    );
    assert_eq!(result.output_fields["cost"], "2.4 million kroner");
    assert_eq!(
        result.satisfied_evidence_requirements,
        ["research_library_evidence"]
    );
    assert!(
        result.contradictions.is_empty(),
        "{:?}",
        result.contradictions
    );
    assert!(
        result.unresolved_requirements.is_empty(),
        "{:?}",
        result.unresolved_requirements
    );
    assert_eq!(
        outcome.items[0].locator.open().unwrap(),
        "lighthouse-renovation.md"
    );
    assert_eq!(
        product.supporting_evidence_refs[0],
        outcome.items[0].item_ref
    );
}

#[tokio::test]
async fn every_item_can_be_found_in_its_file_by_its_span() {
    let town = Town::new();
    let (input, _handle) =
        library("When does the first ferry from Saltvik to Nes depart on weekdays?");
    let outcome = town.engine.execute(input).await;
    assert!(outcome.items.len() >= 2);
    for item in &outcome.items {
        let path = town.path(item.locator.open().unwrap());
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(
            hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&bytes)),
            item.snapshot_sha256
        );
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            crate::solver::host::slice(&text, item.span),
            item.quote.open().map(String::as_str)
        );
        assert!(
            outcome
                .receipts
                .iter()
                .any(|receipt| receipt.receipt_ref == item.receipt_ref)
        );
    }
}

#[tokio::test]
async fn two_documents_that_disagree_are_a_contradiction_and_no_question() {
    let town = Town::new();
    let (input, _handle) =
        library("When does the first ferry from Saltvik to Nes depart on weekdays?");
    let result = town.engine.execute(input).await.result;
    assert_eq!(
        result.contradictions.len(),
        1,
        "{:?}",
        result.contradictions
    );
    assert!(
        result.contradictions[0].contains("06:40") && result.contradictions[0].contains("07:10")
    );
    assert_eq!(result.claims_contradicted.len(), 2);
    assert!(result.pending_questions.is_empty());
    assert_eq!(
        result.terminal_authority_status,
        TerminalAuthority::Authorized
    );
    let text = &result.terminal_product.unwrap().text;
    assert!(text.contains("06:40") && text.contains("07:10"), "{text}");
}

#[tokio::test]
async fn naming_one_side_settles_a_contradiction() {
    let town = Town::new();
    let objective = "When does the first ferry from Saltvik to Nes depart on weekdays?";
    let (input, _handle) = library(objective);
    let first = town.engine.execute(input).await.result;
    let (mut input, _handle) = library(objective);
    input.turn = 2;
    input.instruction = "Rely on ferry-timetable.md only.".into();
    input.previous_contradictions = first.contradictions.clone();
    let second = town.engine.execute(input).await.result;
    assert_eq!(second.resolved_contradictions, first.contradictions);
    assert!(second.contradictions.is_empty());
    let text = second.terminal_product.unwrap().text;
    assert!(text.contains("06:40") && !text.contains("07:10"), "{text}");
}

#[tokio::test]
async fn an_objective_that_fits_two_documents_is_asked_about_and_the_answer_narrows() {
    let town = Town::new();
    let objective = "When does the harbour office open?";
    let (input, _handle) = library(objective);
    let first = town.engine.execute(input).await.result;
    assert!(first.needs_input, "{first:?}");
    assert_eq!(
        first.terminal_authority_status,
        TerminalAuthority::PendingHelixTerminalAuthority
    );
    let question = &first.pending_questions[0];
    let values: Vec<&str> = question
        .options
        .iter()
        .map(|option| option.value.as_str())
        .collect();
    assert_eq!(
        values,
        ["harbour-office-north.txt", "harbour-office-south.txt"]
    );

    let (mut input, _handle) = library(objective);
    input.turn = 2;
    input.instruction = String::new();
    input.pending_questions = first.pending_questions.clone();
    input.answers = vec![Answer {
        question_id: question.question_id.clone(),
        value: "\"harbour-office-south.txt\"".into(),
    }];
    let second = town.engine.execute(input).await.result;
    assert_eq!(
        second.terminal_authority_status,
        TerminalAuthority::Authorized,
        "{second:?}"
    );
    let text = second.terminal_product.unwrap().text;
    assert!(text.contains("10:00") && !text.contains("08:00"), "{text}");
}

#[tokio::test]
async fn nothing_that_matches_is_asked_about_once_and_then_blocks() {
    let town = Town::new();
    let objective = "What is the boiling point of tungsten?";
    let (input, _handle) = library(objective);
    let first = town.engine.execute(input).await.result;
    assert!(
        first.needs_input && !first.pending_questions.is_empty(),
        "{first:?}"
    );
    assert!(first.evidence_refs.is_empty() && first.terminal_product.is_none());

    let (mut input, _handle) = library(objective);
    input.turn = 2;
    input.pending_questions = first.pending_questions.clone();
    input.answers = vec![Answer {
        question_id: first.pending_questions[0].question_id.clone(),
        value: "\"melting of metals\"".into(),
    }];
    let second = town.engine.execute(input).await.result;
    assert!(!second.ok && !second.needs_input, "{second:?}");
    assert!(second.status_code < 500);
    assert_eq!(second.terminal_authority_status, TerminalAuthority::Blocked);
    assert_eq!(second.failure_code.as_deref(), Some("no_progress"));
    assert_eq!(second.unresolved_requirements.len(), 1);
}

#[tokio::test]
async fn the_same_turn_makes_the_same_bytes_and_another_turn_other_refs() {
    let town = Town::new();
    let other_town = Town::new();
    let objective = "What does the lighthouse renovation cost, and when is it open again?";
    let (input, _handle) = library(objective);
    let once = town.engine.execute(input.clone()).await;
    let again = other_town.engine.execute(input.clone()).await;
    assert_eq!(once, again);
    let later = town.engine.execute(TurnInput { turn: 2, ..input }).await;
    assert_eq!(
        later.result.terminal_authority_status,
        TerminalAuthority::Authorized
    );
    assert!(
        later
            .result
            .evidence_refs
            .iter()
            .all(|item| !once.result.evidence_refs.contains(item))
    );
}

#[tokio::test]
async fn pdf_and_html_documents_are_quoted_too() {
    let town = Town::new();
    for (objective, locator, part) in [
        (
            "How many steel gates does the storm barrier have?",
            "storm-barrier.pdf",
            "four steel gates",
        ),
        (
            "How tall is the tower of Skarholm lighthouse?",
            "lighthouse-history.html",
            "32 metres",
        ),
        (
            "What does a single ticket for an adult cost?",
            "fares.html",
            "62 kroner",
        ),
    ] {
        let (input, _handle) = library(objective);
        let outcome = town.engine.execute(input).await;
        let text = outcome
            .result
            .terminal_product
            .map(|product| product.text)
            .unwrap_or_default();
        assert!(
            text.lines().next().unwrap_or_default().contains(part),
            "{objective}: {text}"
        );
        assert_eq!(outcome.items[0].locator.open().unwrap(), locator);
    }
}

#[tokio::test]
async fn scopes_without_a_provider_are_named_and_prove_nothing() {
    let town = Town::new();
    let (input, _handle) = turn(
        "How tall is the lighthouse tower?",
        &["scholarly_research", "research_library"],
    );
    let result = town.engine.execute(input).await.result;
    assert!(
        result
            .unresolved_requirements
            .iter()
            .any(|text| text.contains("no provider for the scope scholarly_research"))
    );
    assert_eq!(
        result.satisfied_evidence_requirements,
        ["research_library_evidence"]
    );
    assert_eq!(result.terminal_authority_status, TerminalAuthority::Blocked);
    assert_eq!(
        result.sanitized_result["terminal_authority_reason"],
        "required_current_turn_evidence_missing"
    );
    assert!(result.terminal_product.is_none() && result.output_fields.is_empty());
}

#[tokio::test]
async fn a_run_without_scopes_or_tools_is_blocked_with_a_sentence() {
    let town = Town::new();
    for (scopes, tools) in [
        (&[][..], &["__helix_external_agent_no_tools__"][..]),
        (&["research_library"], &[]),
    ] {
        let (mut input, _handle) = turn("How tall is the lighthouse?", scopes);
        input.allowed_tools = tools.iter().map(|id| (*id).to_owned()).collect();
        let outcome = town.engine.execute(input).await;
        assert!(
            !outcome.result.ok && outcome.items.is_empty(),
            "{:?}",
            outcome.result
        );
        assert!(!outcome.result.unresolved_requirements.is_empty());
        assert!(outcome.result.receipt_refs.is_empty());
    }
}

#[tokio::test]
async fn an_edited_file_is_read_again_before_the_next_turn_that_quotes_it() {
    let town = Town::new();
    let objective = "How much will the renovation of the lighthouse cost?";
    let (input, _handle) = library(objective);
    town.engine.execute(input.clone()).await;
    let path = town.path("lighthouse-renovation.md");
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace("2.4 million", "3.1 million");
    std::fs::write(&path, text).unwrap();
    let stale = town
        .engine
        .execute(TurnInput {
            turn: 2,
            ..input.clone()
        })
        .await;
    let fresh = town.engine.execute(TurnInput { turn: 3, ..input }).await;
    // Whether or not the change was noticed before the second turn, the old text was not quoted.
    assert!(
        stale
            .items
            .iter()
            .all(|item| !item.quote.open().unwrap().contains("2.4 million"))
    );
    assert!(
        fresh
            .result
            .terminal_product
            .unwrap()
            .text
            .contains("3.1 million")
    );
}

#[tokio::test]
async fn stopped_and_late_turns_end_in_the_failures_of_the_contract() {
    let town = Town::new();
    for (reason, code, status) in [
        (AbortReason::Timeout, "helix_ask_timeout", 500),
        (AbortReason::Cancelled, "helix_ask_executor_failed", 500),
        (AbortReason::Expired, "run_expired", 408),
    ] {
        let (input, handle) = library("How tall is the lighthouse?");
        handle.raise(reason);
        let outcome = town.engine.execute(input).await;
        assert_eq!(outcome.result.failure_code.as_deref(), Some(code));
        assert_eq!(outcome.result.status_code, status);
        assert!(outcome.items.is_empty());
    }
    let (mut input, _handle) = library("How tall is the lighthouse?");
    input.allowance.deadline = Instant::now();
    let outcome = town.engine.execute(input).await;
    assert_eq!(
        outcome.result.failure_code.as_deref(),
        Some("helix_ask_timeout")
    );
}

#[tokio::test]
async fn a_spent_allowance_is_said_and_recorded() {
    let town = Town::new();
    let (mut input, _handle) = library("How tall is the lighthouse?");
    input.allowance.bytes = 700;
    let outcome = town.engine.execute(input).await;
    assert!(
        outcome
            .result
            .unresolved_requirements
            .iter()
            .any(|text| text.contains("allowance")),
        "{:?}",
        outcome.result
    );
    assert!(
        outcome
            .receipts
            .iter()
            .map(|receipt| receipt.bytes)
            .sum::<u64>()
            <= 700
    );
    let (mut input, _handle) = library("How tall is the lighthouse?");
    input.allowance.tool_calls = 1;
    let outcome = town.engine.execute(input).await;
    assert!(outcome.receipts.len() <= 1);
}

#[derive(Debug)]
struct Hanging;

impl Solver for Hanging {
    fn name(&self) -> &'static str {
        "hanging"
    }

    fn solve<'a>(&'a self, _input: &'a TurnInput, _host: &'a ToolHost) -> Solving<'a> {
        Box::pin(std::future::pending::<Result<Draft, SolverError>>())
    }
}

#[tokio::test]
async fn a_solver_that_never_answers_is_cut_off_at_the_deadline() {
    let corpora = Arc::new(Corpora::open(CorporaConfig::default(), &|_: LoadStep| {}));
    let engine = Engine::with_solver(corpora, Box::new(Hanging));
    let (mut input, _handle) = turn("Anything", &[]);
    input.allowance.deadline = Instant::now() + Duration::from_millis(20);
    let outcome = engine.execute(input).await;
    assert_eq!(
        outcome.result.failure_code.as_deref(),
        Some("helix_ask_timeout")
    );
}
