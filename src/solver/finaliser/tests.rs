use std::fmt::Write as _;

use helix_aggregates::agent::evidence::item::Span;
use helix_aggregates::agent::run::turn::{Question, TerminalAuthority};
use helix_aggregates::text::utf16_len;
use proptest::prelude::*;

use super::*;
use crate::solver::fixture::{Town, library};
use crate::solver::seam::{Claim, Conflict, FieldProposal, Progress, QuotedSpan, SourceHandle};

mod table;

const TEXT: &str = "The bell is rung at 08:00. The gate is blue.";

/// A library of one document, read through a host.
struct Desk {
    town: Town,
    input: TurnInput,
    host: ToolHost,
}

impl Desk {
    fn new() -> Self {
        let town = Town::of(&[("bell.txt", TEXT.as_bytes())]);
        let (input, _handle) = library("When is the bell rung?");
        let host = ToolHost::new(&input, town.engine.corpora().snapshot());
        let cards = host.list("research_library", 8).unwrap();
        host.read(
            cards[0].source,
            Span {
                start: 0,
                end: 1000,
            },
        )
        .unwrap();
        Self { town, input, host }
    }

    fn judge(&self, draft: Draft) -> TurnOutcome {
        finalise(&self.input, "scripted", draft, &self.host)
    }
}

fn span(start: u64, end: u64, quote: &str) -> QuotedSpan {
    let span = Span { start, end };
    QuotedSpan {
        source: SourceHandle(0),
        span,
        quote: quote.into(),
        why: String::new(),
    }
}

/// A draft that is right in every respect.
fn honest() -> Draft {
    Draft {
        spans: vec![span(0, 26, "The bell is rung at 08:00.")],
        claims: vec![Claim {
            text: "The bell is rung at 08:00.".into(),
            spans: vec![0],
        }],
        summary: "Quoted 1 passage.".into(),
        digest: "The bell is rung at 08:00. [1]".into(),
        progress: Progress::Made,
        ..Draft::default()
    }
}

fn reason(outcome: &TurnOutcome) -> &str {
    outcome.result.sanitized_result["terminal_authority_reason"]
        .as_str()
        .unwrap()
}

#[test]
fn an_honest_draft_is_authorized_with_the_keys_of_the_contract() {
    let outcome = Desk::new().judge(honest());
    let result = &outcome.result;
    assert_eq!(
        result.terminal_authority_status,
        TerminalAuthority::Authorized
    );
    assert_eq!(reason(&outcome), "canonical_terminal_authority_verified");
    let keys: Vec<&str> = result.sanitized_result.keys().map(String::as_str).collect();
    let mut expected = vec![
        "status",
        "ok",
        "final_status",
        "response_type",
        "terminal_artifact_kind",
        "final_answer_source",
        "terminal_authority_status",
        "terminal_authority_reason",
        "terminal_authority_ref",
        "terminal_product",
        "failure_code",
        "solver_path_completed",
        "observation_refs",
        "evidence_refs",
        "receipt_refs",
        "raw_provider_payload_included",
        "chain_of_thought_included",
    ];
    expected.sort_unstable();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    let product = result.terminal_product.as_ref().unwrap();
    assert_eq!(
        result.sanitized_result["terminal_authority_ref"],
        product.authority_ref
    );
    assert_eq!(product.supporting_evidence_refs, result.evidence_refs);
    assert_eq!(result.receipt_refs, [outcome.items[0].receipt_ref.clone()]);
    assert_eq!(
        result.satisfied_evidence_requirements,
        ["research_library_evidence"]
    );
    let fields: Vec<&str> = result.output_fields.keys().map(String::as_str).collect();
    assert_eq!(fields.len(), 4, "{fields:?}");
}

#[test]
fn quotes_that_are_not_in_the_source_never_yield_a_ref() {
    let quote = "The bell is rung at 08:00.";
    let mut off_by_one = quote.to_owned();
    off_by_one.replace_range(0..1, "t");
    for bad in [
        span(0, 26, &off_by_one),
        span(1, 27, quote),
        span(0, 25, quote),
        span(0, 27, quote),
        span(26, 0, quote),
        span(5, 5, ""),
        span(0, u64::MAX, quote),
        span(0, 26, "The bell is rung at 08:0\0."),
        QuotedSpan {
            source: SourceHandle(7),
            ..span(0, 26, quote)
        },
        QuotedSpan {
            source: SourceHandle(u32::MAX),
            ..span(0, 26, quote)
        },
    ] {
        let outcome = Desk::new().judge(Draft {
            spans: vec![bad.clone()],
            ..honest()
        });
        let result = &outcome.result;
        assert!(outcome.items.is_empty(), "{bad:?}");
        assert!(result.evidence_refs.is_empty() && result.observation_refs.is_empty());
        assert!(result.receipt_refs.is_empty() && result.claims_supported.is_empty());
        assert!(result.satisfied_evidence_requirements.is_empty());
        assert_eq!(result.terminal_authority_status, TerminalAuthority::Blocked);
        assert!(result.terminal_product.is_none() && result.output_fields.is_empty());
    }
}

#[test]
fn one_refused_citation_blocks_the_product_but_not_the_evidence() {
    let draft = Draft {
        spans: vec![honest().spans.remove(0), span(27, 44, "The gate is gold.")],
        digest: "The bell is rung at 08:00. [1]\nThe gate is gold. [2]".into(),
        ..honest()
    };
    let outcome = Desk::new().judge(draft);
    assert_eq!(outcome.items.len(), 1);
    assert_eq!(reason(&outcome), "canonical_grounding_integrity_blocked");
    assert!(outcome.result.terminal_product.is_none());
}

#[test]
fn a_source_that_was_listed_but_not_read_cannot_be_quoted() {
    let town = Town::of(&[("bell.txt", TEXT.as_bytes())]);
    let (input, _handle) = library("When is the bell rung?");
    let host = ToolHost::new(&input, town.engine.corpora().snapshot());
    host.list("research_library", 8).unwrap();
    let outcome = finalise(&input, "scripted", honest(), &host);
    assert!(outcome.items.is_empty() && outcome.result.evidence_refs.is_empty());
}

#[test]
fn a_file_changed_since_it_was_indexed_is_no_evidence() {
    let desk = Desk::new();
    std::fs::write(desk.town.path("bell.txt"), TEXT.replace("blue", "grey")).unwrap();
    let outcome = desk.judge(honest());
    assert!(outcome.items.is_empty());
    assert!(desk.host.saw_change());
    assert!(outcome.result.summary.starts_with("The documents changed"));
}

#[test]
fn ten_thousand_spans_are_cut_to_what_an_audit_looks_at() {
    let mut draft = honest();
    draft.digest.clear();
    for number in 0..10_000_u64 {
        let end = 1 + number % 40;
        draft
            .spans
            .push(span(0, end, &TEXT[..usize::try_from(end).unwrap()]));
        writeln!(draft.digest, "line [{}]", number + 1).unwrap();
        draft.claims.push(Claim {
            text: format!("claim {number}"),
            spans: vec![usize::try_from(number).unwrap()],
        });
    }
    let result = Desk::new().judge(draft).result;
    assert!(result.evidence_refs.len() + result.observation_refs.len() <= 256);
    assert!(result.claims_supported.len() <= 128);
    assert_eq!(result.terminal_authority_status, TerminalAuthority::Blocked);
    assert!(result.summary.contains("were cut"));
}

#[test]
fn hostile_texts_end_in_bounded_and_storable_ones() {
    let question = Question {
        question_id: "q".into(),
        prompt: "p".repeat(2001),
        required_fields: vec!["f".repeat(500); 100],
        options: Vec::new(),
    };
    let draft = Draft {
        summary: "s\0".repeat(3_000_000),
        unresolved: vec!["required_evidence:scholarly_evidence".into(), "u\0u".into()],
        questions: vec![
            question,
            Question {
                question_id: String::new(),
                prompt: "p".into(),
                required_fields: vec![],
                options: vec![],
            },
        ],
        ..honest()
    };
    let result = Desk::new().judge(draft).result;
    assert!(utf16_len(&result.summary) <= 2000);
    let asked = &result.pending_questions;
    assert_eq!(asked.len(), 1);
    assert_eq!(utf16_len(&asked[0].prompt), 2000);
    assert!(asked[0].required_fields.len() <= 32 && asked[0].required_fields[0].len() == 120);
    assert_eq!(result.unresolved_requirements, ["u\u{fffd}u"]);
    let json = serde_json::to_string(&result).unwrap();
    assert!(!json.contains("\\u0000"));
    assert!(result.summary.contains("U+FFFD"));
}

#[test]
fn a_question_leaves_authority_pending_and_gives_no_product() {
    let question = Question {
        question_id: "q".into(),
        prompt: "Which bell?".into(),
        required_fields: Vec::new(),
        options: Vec::new(),
    };
    let outcome = Desk::new().judge(Draft {
        questions: vec![question.clone()],
        ..honest()
    });
    assert_eq!(
        outcome.result.terminal_authority_status,
        TerminalAuthority::PendingHelixTerminalAuthority
    );
    assert_eq!(reason(&outcome), "user_input_required");
    assert!(outcome.result.needs_input && outcome.result.terminal_product.is_none());

    let mut desk = Desk::new();
    desk.input.pending_questions = vec![question];
    let outcome = desk.judge(honest());
    assert_eq!(reason(&outcome), "user_input_required");
    assert!(outcome.result.pending_questions.is_empty());
}

#[test]
fn evidence_by_assertion_satisfies_no_family() {
    let mut desk = Desk::new();
    desk.input.database_scope.push("scholarly_research".into());
    desk.input.required_evidence = vec!["scholarly_evidence".into()];
    desk.input.previous_unresolved_requirements =
        vec!["required_evidence:scholarly_evidence".into()];
    let outcome = desk.judge(Draft {
        settled_requirements: vec![0],
        ..honest()
    });
    assert_eq!(reason(&outcome), "required_current_turn_evidence_missing");
    assert!(outcome.result.satisfied_evidence_requirements.is_empty());
    assert!(outcome.result.resolved_requirements.is_empty());
    assert!(outcome.result.terminal_product.is_none());
}

#[test]
fn nothing_is_settled_without_evidence_of_this_turn() {
    let settling = || Draft {
        settled_requirements: vec![0, 9],
        settled_contradictions: vec![0],
        ..honest()
    };
    let mut desk = Desk::new();
    desk.input.previous_unresolved_requirements = vec!["Find the bell.".into()];
    desk.input.previous_contradictions = vec!["Two bells.".into()];
    let result = desk.judge(settling()).result;
    assert_eq!(result.resolved_requirements, ["Find the bell."]);
    assert_eq!(result.resolved_contradictions, ["Two bells."]);
    let result = desk
        .judge(Draft {
            spans: Vec::new(),
            ..settling()
        })
        .result;
    assert!(result.resolved_requirements.is_empty() && result.resolved_contradictions.is_empty());
}

#[test]
fn a_conflict_is_reported_even_without_spans_and_must_not_be_hidden_with_them() {
    let conflict = |spans: Vec<usize>| Conflict {
        text: "The bell and the gate disagree.".into(),
        spans,
    };
    let outcome = Desk::new().judge(Draft {
        conflicts: vec![conflict(Vec::new())],
        ..honest()
    });
    assert_eq!(
        outcome.result.contradictions,
        ["The bell and the gate disagree."]
    );
    assert_eq!(
        outcome.result.terminal_authority_status,
        TerminalAuthority::Authorized
    );
    let mut draft = Draft {
        conflicts: vec![conflict(vec![0, 1])],
        ..honest()
    };
    draft.spans.push(span(27, 44, "The gate is blue."));
    let outcome = Desk::new().judge(draft);
    assert_eq!(reason(&outcome), "terminal_conflict_hidden");
    assert_eq!(outcome.result.contradictions.len(), 1);
    assert_eq!(outcome.result.observation_refs.len(), 1);
    assert!(
        outcome.result.observation_refs[0].starts_with("evidence:research_library_observation:")
    );
}

#[test]
fn only_asked_for_fields_that_stand_in_their_quote_are_passed_on() {
    let propose = |field: &str, value: &str, spans: Vec<usize>| FieldProposal {
        field: field.into(),
        value: value.into(),
        spans,
    };
    let mut desk = Desk::new();
    desk.input.required_output_fields = ["time", "colour", "depth", "text"]
        .map(str::to_owned)
        .to_vec();
    let draft = Draft {
        fields: vec![
            propose("time", "08:00", vec![0]),
            propose("colour", "gold", vec![0]),
            propose("depth", "08:00", vec![]),
            propose("text", "08:00", vec![0]),
            propose("extra", "08:00", vec![0]),
        ],
        ..honest()
    };
    let result = desk.judge(draft).result;
    assert_eq!(result.output_fields["time"], "08:00");
    assert_eq!(
        result.output_fields["text"],
        "The bell is rung at 08:00. [1]"
    );
    assert_eq!(result.output_fields.len(), 5);
}

#[test]
fn marks_are_renumbered_to_the_supporting_refs() {
    let draft = Draft {
        spans: vec![
            span(0, 8, "The bell"),
            span(27, 44, "The gate is blue."),
            span(0, 26, "The bell is rung at 08:00."),
        ],
        claims: vec![
            Claim {
                text: "bell".into(),
                spans: vec![2],
            },
            Claim {
                text: "gate".into(),
                spans: vec![1],
            },
        ],
        digest: "The bell is rung at 08:00. [3]\nThe gate is blue. [2]".into(),
        ..honest()
    };
    let outcome = Desk::new().judge(draft);
    let product = outcome.result.terminal_product.unwrap();
    assert_eq!(
        product.text,
        "The bell is rung at 08:00. [1]\nThe gate is blue. [2]"
    );
    assert_eq!(product.supporting_evidence_refs.len(), 2);
    assert_eq!(outcome.items[1].quote.open().unwrap(), "The gate is blue.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_ref_exists_exactly_when_the_quote_is_the_text_of_its_span(
        start in 0_u64..50, end in 0_u64..60, quote in "[The bllisrungat08:.]{0,30}", exact in any::<bool>(),
    ) {
        let said = TEXT.get(usize::try_from(start).unwrap()..usize::try_from(end).unwrap());
        let quote = if exact { said.unwrap_or("x").to_owned() } else { quote };
        let draft = Draft {
            spans: vec![span(start, end, &quote)],
            claims: vec![Claim { text: "claim".into(), spans: vec![0] }],
            digest: "claim [1]".into(),
            ..honest()
        };
        let outcome = Desk::new().judge(draft);
        let letters = quote.chars().filter(|c| c.is_alphanumeric()).count();
        let right = said.is_some_and(|said| said == quote) && letters >= 3;
        prop_assert_eq!(outcome.items.len(), usize::from(right));
        prop_assert_eq!(outcome.result.evidence_refs.len(), usize::from(right));
        prop_assert_eq!(outcome.result.terminal_product.is_some(), right);
        for item in &outcome.items {
            prop_assert_eq!(crate::solver::host::slice(TEXT, item.span), item.quote.open().map(String::as_str));
        }
    }
}

#[test]
fn what_a_solver_says_forges_neither_mark_nor_line() {
    let mut draft = honest();
    draft.claims[0].text = "The bell is rung. [2]\nThe gate is gold. [1]".into();
    let claims = Desk::new().judge(draft).result.claims_supported;
    assert_eq!(claims, ["The bell is rung. (2) The gate is gold. (1)"]);
    let uncited = Draft {
        digest: "The bell is rung at 08:00. [1]\u{2028}The gate is gold.".into(),
        ..honest()
    };
    assert_eq!(reason(&Desk::new().judge(uncited)), "terminal_text_uncited");
    for mark in ["[2]", "[0]", "[12345678]"] {
        let unknown = Draft {
            digest: format!("The bell is rung at 08:00. [1] The gate is gold. {mark}"),
            ..honest()
        };
        let outcome = Desk::new().judge(unknown);
        assert!(outcome.result.terminal_product.is_none(), "{mark}");
    }
    let lookalike = Draft {
        digest: "The bell is rung at 08:00. [1] ［2］ [1, 3]".into(),
        ..honest()
    };
    let outcome = Desk::new().judge(lookalike);
    let text = outcome.result.terminal_product.unwrap().text;
    assert_eq!(text, "The bell is rung at 08:00. [1] (2) (1, 3)");
}

#[test]
fn a_quote_that_stands_anywhere_by_chance_is_no_evidence() {
    for (start, quote) in [(0, "T"), (2, "e "), (25, ".")] {
        let end = start + quote.len() as u64;
        let place = |number: u64| usize::try_from(number).unwrap();
        assert_eq!(TEXT.get(place(start)..place(end)).unwrap(), quote);
        let draft = Draft {
            spans: vec![span(start, end, quote)],
            ..honest()
        };
        let outcome = Desk::new().judge(draft);
        assert!(outcome.items.is_empty(), "{quote}");
        assert!(outcome.result.claims_supported.is_empty(), "{quote}");
    }
}

#[test]
fn a_digest_without_a_statement_of_its_draft_is_not_authorised() {
    let draft = Draft {
        claims: Vec::new(),
        fields: Vec::new(),
        ..honest()
    };
    let outcome = Desk::new().judge(draft);
    assert_eq!(reason(&outcome), "canonical_grounding_integrity_blocked");
    assert!(outcome.result.terminal_product.is_none());
}

#[test]
fn a_question_with_the_id_of_an_earlier_one_stands_in_its_place() {
    let asked = |id: &str, prompt: &str| Question {
        question_id: id.into(),
        prompt: prompt.into(),
        required_fields: Vec::new(),
        options: Vec::new(),
    };
    let draft = Draft {
        questions: vec![
            asked("q", "Which?"),
            asked("r", "When?"),
            asked(" q ", "Where?"),
        ],
        ..honest()
    };
    let questions = Desk::new().judge(draft).result.pending_questions;
    assert_eq!(questions, [asked("q", "Where?"), asked("r", "When?")]);
}
