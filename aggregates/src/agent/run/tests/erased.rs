//! Runs whose texts can no longer be read.

use super::*;
use crate::sealed::Sealed;

/// Replaces every open mark in a stored event, as the codec without a key would leave it.
fn close(value: &mut Value) {
    match value {
        Value::Object(members) if members.contains_key("$open") => {
            *value = json!({ "$sealed": "c2VhbGVk" });
        }
        Value::Object(members) => members.values_mut().for_each(close),
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn erased(event: &RunEvent) -> RunEvent {
    let mut stored = serde_json::to_value(event).unwrap();
    close(&mut stored);
    serde_json::from_value(stored).unwrap()
}

/// A run that has asked, been answered, read evidence, conflicted and is in its third turn.
fn eventful() -> Tried {
    let mut tried = Tried::started(library_brief());
    let asking = TurnResult {
        pending_questions: vec![question("q")],
        contradictions: texts(&["two times"]),
        claims_supported: texts(&["it stops"]),
        ..good()
    };
    tried.turn(asking, 1);
    let answers = vec![answer("q", json!("Vik"))];
    tried.claim(
        ClaimTurn {
            answers,
            ..claim(3, 2)
        },
        at(5),
    );
    tried.finish(
        TurnResult {
            satisfied_evidence_requirements: texts(&[FAMILY]),
            ..good()
        },
        at(6),
    );
    tried.claim(claim(5, 3), at(9));
    tried
}

fn without_text(tried: &Tried) -> Tried {
    let mut folded = Tried::default();
    for event in &tried.log {
        folded.run.evolve(&erased(event));
    }
    folded
}

#[test]
fn the_structure_of_a_run_outlives_its_text() {
    let mut tried = eventful();
    for stage in 0..2 {
        let folded = without_text(&tried);
        assert_eq!(folded.statuses(), tried.statuses());
        let (was, is) = (tried.body(), folded.body());
        assert_eq!(is.version, was.version);
        assert_eq!(is.steps_used, was.steps_used);
        assert_eq!(is.expires_at, was.expires_at);
        assert_eq!(is.updated_at, was.updated_at);
        assert_eq!(is.policy, was.policy);
        assert_eq!(is.evidence.evidence_refs, was.evidence.evidence_refs);
        assert!(is.objective.is_closed() && is.owner.is_closed());
        if stage == 0 {
            tried.accept(
                &RunCommand::Cancel {
                    expected: 6,
                    reason: None,
                },
                at(10),
            );
        }
    }
}

#[test]
fn an_erased_run_can_still_be_ended_but_works_no_more() {
    let mut folded = without_text(&eventful());
    assert!(folded.run.claim_input().is_none());
    assert_eq!(
        names(&folded.finish(result(), at(10))).last(),
        Some(&"budget_exhausted")
    );
    assert_eq!(folded.statuses().0, "failed");
}

#[test]
fn an_answer_to_an_erased_question_is_unknown() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            pending_questions: vec![question("q")],
            ..result()
        },
        1,
    );
    let folded = without_text(&tried);
    assert!(matches!(folded.body().questions, Sealed::Closed(_)));
    let turn = ClaimTurn {
        answers: vec![answer("q", json!(1))],
        ..claim(3, 2)
    };
    assert_eq!(
        folded.refuse_claim(turn, at(5)),
        RunError::UnknownQuestions(texts(&["q"]))
    );
}

#[test]
fn an_erased_event_is_written_back_unchanged() {
    for event in &eventful().log {
        let closed = erased(event);
        let stored = serde_json::to_value(&closed).unwrap();
        assert_eq!(serde_json::from_value::<RunEvent>(stored).unwrap(), closed);
    }
}
