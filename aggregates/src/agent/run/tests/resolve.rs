//! The merge of a result into the run (`agent-api` 2.8, steps 1 to 10).

use super::*;

const REQUIRED: &str = "required_evidence:research_library_evidence";

fn proving() -> TurnResult {
    TurnResult {
        satisfied_evidence_requirements: texts(&[FAMILY]),
        ..good()
    }
}

#[test]
fn a_family_proved_by_a_reference_of_this_turn_is_resolved() {
    let mut tried = Tried::started(library_brief());
    let events = tried.turn(proving(), 1);
    let expected = [
        "evidence_reentered",
        "issues_resolved",
        "terminal_authority_evaluated",
        "run_completed",
    ];
    assert_eq!(names(&events), expected);
    assert_eq!(
        public(&events[1]),
        json!({
            "version": 3,
            "resolved_requirements": { "$open": [REQUIRED] },
            "resolved_contradictions": { "$open": [] },
            "resolution_support_refs": ["e:1", "authority:1"],
        })
    );
}

#[test]
fn a_family_is_not_proved_by_assertion() {
    let mut tried = Tried::started(RunBrief {
        completion_contract: CompletionContract {
            max_unresolved_requirements: 128,
            ..CompletionContract::default()
        },
        ..library_brief()
    });
    let events = tried.turn(
        TurnResult {
            evidence_refs: Vec::new(),
            resolved_requirements: texts(&[REQUIRED]),
            sanitized_result: object(json!({ "terminal_product": { "text": "so" } })),
            output_fields: object(json!({ "text": "so" })),
            ..proving()
        },
        1,
    );
    assert_eq!(
        names(&events),
        ["terminal_authority_evaluated", "run_waiting"]
    );
    assert_eq!(
        public(&events[0]),
        json!({
            "version": 3,
            "terminal_authority_status": "blocked",
            "terminal_product_projected": false,
        })
    );
    assert_eq!(
        tried.statuses(),
        ("waiting", "needs_more_evidence", TerminalAuthority::Blocked)
    );
    assert_eq!(tried.unresolved(), [REQUIRED]);
    assert_eq!(
        tried.latest_result(),
        json!({
            "terminal_authority_status": "blocked",
            "terminal_authority_reason": "required_current_turn_evidence_missing",
            "terminal_product": null,
        })
    );
    assert_eq!(tried.body().evidence.provider_terminal_candidate_ref, None);
}

#[test]
fn evidence_of_an_earlier_turn_does_not_prove_a_family_again() {
    let mut tried = Tried::started(library_brief());
    tried.turn(
        TurnResult {
            ok: false,
            ..proving()
        },
        1,
    );
    assert!(tried.unresolved().is_empty());
    tried.turn(
        TurnResult {
            terminal_product: None,
            ..result()
        },
        5,
    );
    assert_eq!(tried.unresolved(), [REQUIRED]);
    assert_eq!(tried.body().evidence.evidence_refs, ["e:1"]);
}

#[test]
fn a_family_nobody_requires_is_not_resolved_by_its_proof() {
    let mut tried = Tried::started(brief());
    let events = tried.turn(proving(), 1);
    assert!(!names(&events).contains(&"issues_resolved"));
}

#[test]
fn a_family_required_only_today_counts() {
    let mut tried = Tried::started(brief());
    tried.claim(
        ClaimTurn {
            policy: policy(&[], &[FAMILY]),
            ..claim(1, 1)
        },
        at(1),
    );
    tried.finish(good(), at(2));
    assert_eq!(tried.unresolved(), [REQUIRED]);
}

#[test]
fn nothing_is_resolved_without_support() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            unresolved_requirements: texts(&["name the port"]),
            contradictions: texts(&["two times"]),
            ..result()
        },
        1,
    );
    let resolving = TurnResult {
        resolved_requirements: texts(&["name the port"]),
        resolved_contradictions: texts(&["two times"]),
        ..result()
    };
    tried.turn(resolving.clone(), 5);
    assert_eq!(tried.unresolved(), ["name the port"]);
    let events = tried.turn(
        TurnResult {
            receipt_refs: texts(&["r:1"]),
            ..resolving
        },
        9,
    );
    assert!(names(&events).contains(&"issues_resolved"));
    assert!(tried.unresolved().is_empty());
    assert!(tried.body().contradictions.open().unwrap().is_empty());
}

#[test]
fn a_product_supports_a_resolution_only_when_no_family_is_missing() {
    let resolving = TurnResult {
        evidence_refs: Vec::new(),
        unresolved_requirements: texts(&["name the port"]),
        resolved_requirements: texts(&["name the port"]),
        ..good()
    };
    let mut free = Tried::started(brief());
    let events = free.turn(resolving.clone(), 1);
    assert_eq!(
        public(&events[0])["resolution_support_refs"],
        json!(["authority:1"])
    );
    let mut bound = Tried::started(library_brief());
    bound.turn(resolving.clone(), 1);
    assert_eq!(bound.unresolved(), ["name the port", REQUIRED]);
    let mut claimed = Tried::started(brief());
    let missing = texts(&["name the port", "required_evidence:x"]);
    claimed.turn(
        TurnResult {
            unresolved_requirements: missing.clone(),
            ..resolving
        },
        1,
    );
    assert_eq!(claimed.unresolved(), missing);
}

#[test]
fn lists_are_trimmed_and_keep_first_seen_order() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            unresolved_requirements: texts(&[" b ", "", "a", "b"]),
            claims_supported: texts(&["c2", "c1 ", "c2"]),
            evidence_refs: texts(&["e:2 ", "e:1", "e:2"]),
            ..result()
        },
        1,
    );
    tried.turn(
        TurnResult {
            unresolved_requirements: texts(&["c", "a"]),
            claims_supported: texts(&["c3", "c1"]),
            evidence_refs: texts(&["e:3", "e:1"]),
            ..result()
        },
        5,
    );
    assert_eq!(tried.unresolved(), ["b", "a", "c"]);
    let bundle = &tried.body().evidence;
    assert_eq!(bundle.claims_supported.open().unwrap(), &["c2", "c1", "c3"]);
    assert_eq!(bundle.evidence_refs, ["e:2", "e:1", "e:3"]);
}

#[test]
fn the_candidate_stays_until_a_product_replaces_it_or_evidence_is_missing() {
    let mut tried = Tried::started(brief());
    let candidate = |tried: &Tried| {
        tried
            .body()
            .evidence
            .provider_terminal_candidate_ref
            .clone()
    };
    tried.turn(
        TurnResult {
            ok: false,
            ..good()
        },
        1,
    );
    assert_eq!(candidate(&tried).as_deref(), Some("authority:1"));
    tried.turn(result(), 5);
    assert_eq!(candidate(&tried).as_deref(), Some("authority:1"));
    tried.claim(claim(5, 3), at(9));
    let missing = TurnResult {
        unresolved_requirements: texts(&["required_evidence:x"]),
        ..good()
    };
    tried.finish(missing, at(10));
    assert_eq!(candidate(&tried), None);
}

#[test]
fn an_unanswered_question_stays_and_one_asked_again_takes_its_old_place() {
    let mut tried = Tried::started(brief());
    let asked = vec![question("q-port"), question("q-date"), question("q-time")];
    tried.turn(
        TurnResult {
            pending_questions: asked,
            ..result()
        },
        1,
    );
    let answers = vec![answer("q-port", json!("Vik"))];
    tried.claim(
        ClaimTurn {
            answers,
            ..claim(3, 2)
        },
        at(5),
    );
    let again = Question {
        prompt: "Which day?".to_owned(),
        ..question("q-date")
    };
    let events = tried.finish(
        TurnResult {
            pending_questions: vec![question("q-new"), again],
            ..good()
        },
        at(6),
    );
    assert_eq!(tried.questions(), ["q-date", "q-time", "q-new"]);
    assert_eq!(
        tried.body().questions.open().unwrap()[0].prompt,
        "Which day?"
    );
    let input = events
        .iter()
        .find(|event| event.name() == "input_requested")
        .unwrap();
    let named = public(input)["questions"]["$open"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(named, 3);
}

#[test]
fn some_of_the_answers_do_not_complete_a_run() {
    let mut tried = Tried::started(brief());
    let asked = vec![question("q-port"), question("q-date")];
    tried.turn(
        TurnResult {
            pending_questions: asked,
            ..result()
        },
        1,
    );
    let answers = vec![answer("q-date", Value::Null)];
    tried.claim(
        ClaimTurn {
            answers,
            ..claim(3, 2)
        },
        at(5),
    );
    let events = tried.finish(good(), at(6));
    assert_eq!(tried.statuses().1, "needs_input");
    assert_eq!(tried.questions(), ["q-port"]);
    assert!(names(&events).contains(&"input_requested"));
}

#[test]
fn all_answers_given_the_run_completes_and_asks_no_more() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            pending_questions: vec![question("q-port")],
            ..result()
        },
        1,
    );
    let answers = vec![answer("q-port", json!("Vik"))];
    tried.claim(
        ClaimTurn {
            answers,
            ..claim(3, 2)
        },
        at(5),
    );
    let events = tried.finish(good(), at(6));
    assert!(!names(&events).contains(&"input_requested"));
    assert_eq!(tried.statuses().0, "completed");
    assert!(tried.questions().is_empty());
}

#[test]
fn a_question_answered_and_asked_again_stands_again() {
    let mut tried = Tried::started(brief());
    let asking = TurnResult {
        pending_questions: vec![question("q-port")],
        ..result()
    };
    tried.turn(asking.clone(), 1);
    let answers = vec![answer("q-port", json!("?"))];
    tried.claim(
        ClaimTurn {
            answers,
            ..claim(3, 2)
        },
        at(5),
    );
    tried.finish(asking, at(6));
    assert_eq!(tried.questions(), ["q-port"]);
}
