//! Hostile results become storable ones.

use super::*;
use crate::agent::run::bounds::{
    BoundNote, JSON_BYTES, JSON_DEPTH, QUESTIONS_LIMIT, REFS_LIMIT, Storable, TURN_LIST_LIMIT,
    storable,
};
use crate::agent::run::turn::QuestionOption;
use crate::canonical;

fn bounded(result: TurnResult) -> Storable {
    storable(result)
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!("core"), |inner, _| json!([inner]))
}

#[test]
fn an_honest_result_is_stored_verbatim() {
    let Storable { result, notes } = bounded(good());
    assert_eq!(result, good());
    assert!(notes.is_empty());
}

#[test]
fn nul_becomes_the_replacement_character_and_leaves_a_note() {
    let sanitized_result = object(json!({ "a\u{0}": ["x\u{0}y"] }));
    let hostile = TurnResult {
        summary: "a\u{0}b".to_owned(),
        sanitized_result,
        ..result()
    };
    let Storable { result, notes } = bounded(hostile);
    assert_eq!(result.summary, "a\u{fffd}b");
    assert_eq!(notes, [BoundNote::TextRepaired]);
    assert_eq!(
        Value::Object(result.sanitized_result),
        json!({ "a\u{fffd}": ["x\u{fffd}y"], "host_notes": ["text_repaired"] })
    );
}

#[test]
fn a_summary_is_cut_at_2000_units_without_splitting_a_character() {
    let summary = format!("{}\u{1f98a}", "a".repeat(1999));
    let Storable { result, notes } = bounded(TurnResult {
        summary,
        ..result()
    });
    assert_eq!(result.summary, "a".repeat(1999));
    assert_eq!(notes, [BoundNote::TextShortened]);
}

#[test]
fn references_are_dropped_rather_than_mended() {
    let long = "r".repeat(501);
    let refs = texts(&["good", "", "two\nlines", &long, &"r".repeat(500)]);
    let Storable { result, notes } = bounded(TurnResult {
        evidence_refs: refs,
        ..result()
    });
    assert_eq!(result.evidence_refs, texts(&["good", &"r".repeat(500)]));
    assert_eq!(notes, [BoundNote::RefDropped]);
}

#[test]
fn lists_keep_their_first_entries() {
    let many = |count: usize| (0..count).map(|n| format!("x{n}")).collect::<Vec<_>>();
    let hostile = TurnResult {
        receipt_refs: many(300),
        claims_supported: many(300),
        pending_questions: many(300).iter().map(|id| question(id)).collect(),
        ..result()
    };
    let Storable { result, notes } = bounded(hostile);
    assert_eq!(result.receipt_refs, many(REFS_LIMIT));
    assert_eq!(result.claims_supported, many(TURN_LIST_LIMIT));
    assert_eq!(result.pending_questions.len(), QUESTIONS_LIMIT);
    assert_eq!(notes, [BoundNote::ListShortened]);
}

#[test]
fn questions_are_brought_into_their_bounds_or_dropped() {
    let option = |value: &str, label: &str| QuestionOption {
        value: value.to_owned(),
        label: label.to_owned(),
    };
    let good = Question {
        prompt: " p ".repeat(1000),
        required_fields: vec!["f".repeat(130); 40],
        options: vec![
            option("v", ""),
            option("", ""),
            option(&"v".repeat(501), "l"),
        ],
        ..question(" q ")
    };
    let silent = Question {
        prompt: " ".to_owned(),
        ..question("q2")
    };
    let asked = vec![
        good,
        silent,
        question("a\nb"),
        question(&"q".repeat(241)),
        question(" "),
    ];
    let Storable { result, notes } = bounded(TurnResult {
        pending_questions: asked,
        ..result()
    });
    let [kept] = result.pending_questions.as_slice() else {
        panic!("one question is good");
    };
    assert_eq!((kept.question_id.as_str(), kept.prompt.len()), ("q", 2000));
    assert_eq!(kept.required_fields, ["f".repeat(120)]);
    let options = [
        option("v", "v"),
        option("", "-"),
        option(&"v".repeat(500), "l"),
    ];
    assert_eq!(kept.options, options);
    assert!(notes.contains(&BoundNote::QuestionDropped));
}

#[test]
fn a_run_never_holds_more_questions_than_one_request_may_answer() {
    let ask = |prefix: &str| TurnResult {
        pending_questions: (0..QUESTIONS_LIMIT)
            .map(|n| question(&format!("{prefix}{n}")))
            .collect(),
        ..result()
    };
    let mut tried = Tried::started(brief());
    tried.turn(ask("a"), 1);
    tried.turn(ask("b"), 5);
    assert_eq!(tried.questions().len(), QUESTIONS_LIMIT);
    assert!(tried.questions().iter().all(|id| id.starts_with('a')));
}

#[test]
fn a_product_without_authority_is_not_stored() {
    let hostile = TurnResult {
        terminal_authority_status: TerminalAuthority::NotEvaluated,
        sanitized_result: object(json!({ "terminal_product": { "text": "so" } })),
        ..good()
    };
    let Storable { result, notes } = bounded(hostile);
    assert_eq!(result.terminal_product, None);
    assert_eq!(result.sanitized_result["terminal_product"], Value::Null);
    assert_eq!(notes, [BoundNote::ProductDropped]);
}

#[test]
fn a_failure_code_that_is_prose_is_replaced() {
    let hostile = TurnResult {
        failure_code: Some("Ada said no".to_owned()),
        ..result()
    };
    let Storable { result, notes } = bounded(hostile);
    assert_eq!(result.failure_code.as_deref(), Some("unspecified_failure"));
    assert_eq!(notes, [BoundNote::FailureCodeReplaced]);
}

#[test]
fn json_deeper_than_the_bound_ends_in_null() {
    let sanitized_result = object(json!({ "deep": nested(1000), "flat": nested(3) }));
    let Storable { result, notes } = bounded(TurnResult {
        sanitized_result,
        ..result()
    });
    assert_eq!(result.sanitized_result["flat"], nested(3));
    let mut level = &result.sanitized_result["deep"];
    let mut depth = 0;
    while let Value::Array(items) = level {
        level = &items[0];
        depth += 1;
    }
    assert_eq!((level, depth), (&Value::Null, JSON_DEPTH - 1));
    assert_eq!(notes, [BoundNote::JsonFlattened]);
}

#[test]
fn a_result_too_large_keeps_its_short_keys_only() {
    let huge = "x".repeat(JSON_BYTES);
    let hostile = TurnResult {
        sanitized_result: object(json!({ "ok": true, "text": huge, "list": [1] })),
        output_fields: object(json!({ "text": huge })),
        ..result()
    };
    let Storable { result, notes } = bounded(hostile);
    assert_eq!(
        notes,
        [BoundNote::OutputFieldsDropped, BoundNote::ResultReduced]
    );
    assert_eq!(
        Value::Object(result.sanitized_result),
        json!({ "ok": true, "host_notes": ["output_fields_dropped", "result_reduced"] })
    );
    assert!(result.output_fields.is_empty());
}

#[test]
fn numbers_read_back_from_the_log_as_they_are_held() {
    let sanitized_result = object(json!({
        "float": 20.0, "negative_zero": -0.0, "large": u64::MAX, "tenth": 0.1, "tiny": 5e-324,
    }));
    let Storable { result, .. } = bounded(TurnResult {
        sanitized_result,
        ..result()
    });
    let held = Value::Object(result.sanitized_result);
    let read: Value = serde_json::from_slice(&canonical::to_vec(&held)).unwrap();
    assert_eq!(read, held);
    assert_eq!(held["float"], json!(20));
}

#[test]
fn answers_are_held_as_they_read_back() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            pending_questions: vec![question("q")],
            ..result()
        },
        1,
    );
    let answers = vec![answer("q", json!(2.0))];
    tried.claim(
        ClaimTurn {
            answers,
            ..claim(3, 2)
        },
        at(5),
    );
    assert_eq!(
        tried.run.claim().unwrap().answers.open().unwrap()[0].value,
        json!(2)
    );
}

#[test]
fn bounds_applied_twice_change_nothing_more() {
    let hostile = TurnResult {
        summary: "\u{0}".repeat(3000),
        evidence_refs: texts(&["a\u{7}", "b"]),
        sanitized_result: object(json!({ "deep": nested(100), "n": 1e300 })),
        ..good()
    };
    let once = bounded(hostile).result;
    let twice = bounded(once.clone());
    assert_eq!(twice.result, once);
}
