//! The outcome table (`agent-api` 2.8), row by row.

use super::*;
use crate::agent::run::turn::{ModelFailure, TurnFailure};

fn contract(change: impl FnOnce(&mut CompletionContract)) -> RunBrief {
    let mut start = brief();
    change(&mut start.completion_contract);
    start
}

/// Statuses after one turn with this result.
fn after(start: RunBrief, result: TurnResult) -> (&'static str, &'static str) {
    let mut tried = Tried::started(start);
    tried.turn(result, 1);
    let (lifecycle, completion, _) = tried.statuses();
    (lifecycle, completion)
}

#[test]
fn a_turn_that_fulfils_the_contract_completes_the_run() {
    let mut tried = Tried::started(brief());
    let events = tried.turn(good(), 1);
    let expected = [
        "evidence_reentered",
        "terminal_authority_evaluated",
        "run_completed",
    ];
    assert_eq!(names(&events), expected);
    assert_eq!(
        public(&events[0]),
        json!({
            "version": 3,
            "observation_refs": [],
            "evidence_refs": ["e:1"],
            "receipt_refs": [],
            "evidence_is_terminal_answer": false,
        })
    );
    assert_eq!(
        public(&events[2]),
        json!({
            "version": 3,
            "lifecycle_status": "completed",
            "completion_status": "completed",
            "failure_code": null,
        })
    );
    assert_eq!(tried.run.completed_at(), Some(at(3).at));
    assert_eq!(
        (tried.run.version(), tried.body().updated_at),
        (3, at(3).at)
    );
}

#[test]
fn the_events_of_a_turn_share_their_version_and_moment() {
    let mut tried = Tried::started(library_brief());
    let full = TurnResult {
        satisfied_evidence_requirements: texts(&[FAMILY]),
        pending_questions: vec![question("q")],
        ..good()
    };
    let events = tried.turn(full, 1);
    let order = [
        "evidence_reentered",
        "issues_resolved",
        "input_requested",
        "terminal_authority_evaluated",
        "run_waiting",
    ];
    assert_eq!(names(&events), order);
    for event in &events {
        let stored = serde_json::to_value(event).unwrap()[event.name()].clone();
        assert_eq!(stored["public"]["version"], json!(3));
        assert_eq!(stored["state"]["at"], json!(at(3).at));
    }
}

#[test]
fn authority_is_needed_unless_the_contract_waives_it() {
    let unauthorized = TurnResult {
        terminal_authority_status: TerminalAuthority::NotTerminalAuthority,
        terminal_product: None,
        ..good()
    };
    assert_eq!(
        after(brief(), unauthorized.clone()),
        ("waiting", "needs_more_evidence")
    );
    let waived = contract(|contract| contract.require_terminal_authority = false);
    assert_eq!(after(waived, unauthorized), ("completed", "completed"));
}

#[test]
fn references_are_counted_over_all_turns_and_buckets_once_each() {
    let mut tried = Tried::started(contract(|contract| contract.min_evidence_refs = 3));
    let doubled = TurnResult {
        receipt_refs: texts(&["e:1"]),
        observation_refs: texts(&["o:1"]),
        ..good()
    };
    tried.turn(doubled, 1);
    assert_eq!(tried.statuses().1, "needs_more_evidence");
    tried.turn(
        TurnResult {
            evidence_refs: texts(&["e:3"]),
            ..good()
        },
        5,
    );
    assert_eq!(tried.statuses().1, "completed");
}

#[test]
fn unresolved_requirements_are_allowed_up_to_the_contract() {
    let with = |count: usize| TurnResult {
        unresolved_requirements: (0..count).map(|n| format!("issue {n}")).collect(),
        ..good()
    };
    let two = || contract(|contract| contract.max_unresolved_requirements = 2);
    assert_eq!(after(two(), with(2)).0, "completed");
    assert_eq!(after(two(), with(3)), ("waiting", "needs_more_evidence"));
}

#[test]
fn a_required_output_field_must_be_there_and_not_null() {
    let needs = || contract(|contract| contract.required_output_fields = texts(&["port"]));
    for (fields, lifecycle) in [
        (json!({}), "waiting"),
        (json!({ "port": null }), "waiting"),
        (json!({ "port": "" }), "completed"),
    ] {
        let result = TurnResult {
            output_fields: object(fields),
            ..good()
        };
        assert_eq!(after(needs(), result).0, lifecycle);
    }
}

#[test]
fn a_contradiction_blocks_completion_unless_allowed_and_is_never_hidden() {
    let conflicting = TurnResult {
        contradictions: texts(&["two times"]),
        ..good()
    };
    assert_eq!(
        after(brief(), conflicting.clone()),
        ("waiting", "conflict_detected")
    );
    let mut allowed = Tried::started(contract(|contract| contract.allow_conflicts = true));
    allowed.turn(conflicting, 1);
    assert_eq!(allowed.statuses().0, "completed");
    assert_eq!(
        allowed.body().contradictions.open().unwrap(),
        &["two times"]
    );
}

#[test]
fn an_expired_turn_fails_the_run_even_on_its_last_step() {
    let last = RunBrief {
        budget: Budget {
            max_steps: 1,
            expires_in_seconds: 600,
        },
        ..brief()
    };
    let mut tried = Tried::running(last);
    // The result itself is perfect, but it comes at the second of expiry.
    let events = tried.finish(good(), at(600));
    assert_eq!(
        names(&events),
        ["terminal_authority_evaluated", "run_failed"]
    );
    let closing = closing(&events);
    assert_eq!(closing.failure_code.as_deref(), Some("run_expired"));
    assert_eq!(
        tried.statuses(),
        ("failed", "failed", TerminalAuthority::Blocked)
    );
    assert_eq!(tried.run.completed_at(), None);
    assert_eq!(tried.unresolved(), ["executor_result_unavailable"]);
    assert!(tried.body().evidence.evidence_refs.is_empty());
}

#[test]
fn the_last_step_ends_the_run_unless_it_completes_it() {
    let last = || RunBrief {
        budget: Budget {
            max_steps: 1,
            expires_in_seconds: 600,
        },
        ..brief()
    };
    let mut tried = Tried::started(last());
    let events = tried.turn(result(), 1);
    assert_eq!(
        names(&events),
        ["terminal_authority_evaluated", "budget_exhausted"]
    );
    assert_eq!(
        public(&events[1]),
        json!({
            "version": 3,
            "lifecycle_status": "failed",
            "completion_status": "budget_exhausted",
            "failure_code": null,
        })
    );
    assert_eq!(
        tried.refuse_claim(claim(3, 2), at(9)),
        RunError::NotResumable
    );
    assert_eq!(after(last(), good()).0, "completed");
    assert_eq!(
        after(last(), TurnFailure::Timeout.into_result()).1,
        "budget_exhausted"
    );
}

#[test]
fn a_turn_that_timed_out_or_crashed_fails_the_run() {
    for failure in [TurnFailure::Timeout, TurnFailure::ExecutorFailed] {
        let mut tried = Tried::started(brief());
        let events = tried.turn(failure.into_result(), 1);
        assert_eq!(
            tried.statuses(),
            ("failed", "failed", TerminalAuthority::Blocked)
        );
        assert_eq!(
            closing(&events).failure_code.as_deref(),
            Some(failure.code())
        );
        assert_eq!(tried.latest_result()["status"], json!(500));
    }
}

#[test]
fn a_status_below_500_leaves_the_run_resumable() {
    let failed = TurnResult {
        ok: false,
        status_code: 499,
        ..result()
    };
    let mut tried = Tried::started(brief());
    assert_eq!(names(&tried.turn(failed, 1)).last(), Some(&"run_blocked"));
    assert_eq!(tried.statuses().1, "blocked");
    let fatal = TurnResult {
        ok: false,
        status_code: 500,
        ..result()
    };
    assert_eq!(after(brief(), fatal), ("failed", "failed"));
}

#[test]
fn needed_input_comes_before_a_conflict() {
    let asking = TurnResult {
        needs_input: true,
        contradictions: texts(&["two times"]),
        ..good()
    };
    assert_eq!(after(brief(), asking), ("waiting", "needs_input"));
}

#[test]
fn a_conflict_comes_before_missing_evidence() {
    let conflicting = TurnResult {
        contradictions: texts(&["two times"]),
        ..good()
    };
    assert_eq!(
        after(library_brief(), conflicting),
        ("waiting", "conflict_detected")
    );
}

#[test]
fn missing_evidence_comes_before_a_block() {
    let failed = TurnResult {
        ok: false,
        ..good()
    };
    assert_eq!(
        after(library_brief(), failed),
        ("waiting", "needs_more_evidence")
    );
}

#[test]
fn no_contract_is_lax_enough_to_complete_without_required_evidence() {
    let mut lax = library_brief();
    lax.completion_contract = CompletionContract {
        min_evidence_refs: 0,
        require_terminal_authority: false,
        max_unresolved_requirements: 128,
        allow_conflicts: true,
        ..CompletionContract::default()
    };
    assert_eq!(after(lax, good()), ("waiting", "needs_more_evidence"));
}

#[test]
fn a_turn_without_authority_blocks_the_run_until_the_next() {
    let blocked = TurnResult {
        terminal_authority_status: TerminalAuthority::Blocked,
        terminal_product: None,
        ..good()
    };
    let mut tried = Tried::started(brief());
    assert_eq!(names(&tried.turn(blocked, 1)).last(), Some(&"run_blocked"));
    tried.turn(good(), 5);
    assert_eq!(tried.statuses().0, "completed");
}

#[test]
fn protected_content_blocks_and_does_not_end_the_run() {
    let protected = TurnFailure::ProtectedContent.into_result();
    let mut tried = Tried::started(brief());
    let events = tried.turn(protected, 1);
    assert_eq!(
        tried.statuses(),
        ("waiting", "blocked", TerminalAuthority::Blocked)
    );
    let code = closing(&events).failure_code;
    assert_eq!(
        code.as_deref(),
        Some("protected_sensitive_content_rejected")
    );
}

#[test]
fn a_model_that_gives_nothing_blocks_the_run_and_leaves_nothing_to_settle() {
    for failure in ModelFailure::ALL {
        let mut tried = Tried::started(brief());
        let events = tried.turn(TurnFailure::Model(failure).into_result(), 1);
        assert_eq!(
            tried.statuses(),
            ("waiting", "blocked", TerminalAuthority::Blocked)
        );
        assert_eq!(
            closing(&events).failure_code.as_deref(),
            Some(failure.code())
        );
        tried.turn(good(), 5);
        assert_eq!(tried.statuses().0, "completed");
    }
}

#[test]
fn a_turn_that_no_worker_took_blocks_the_run_and_leaves_nothing_behind() {
    let mut tried = Tried::started(brief());
    let events = tried.turn(TurnFailure::WorkerUnavailable.into_result(), 1);
    let (lifecycle, completion, authority) = tried.statuses();
    assert_eq!((lifecycle, completion), ("waiting", "blocked"));
    assert_eq!(authority, TerminalAuthority::Blocked);
    assert_eq!(closing(&events).failure_code.unwrap(), "worker_unavailable");
    let result = TurnFailure::WorkerUnavailable.into_result();
    assert_eq!(result.sanitized_result["status"], 424);
    assert!(result.unresolved_requirements.is_empty());
    // What it lacked was a worker, and the next turn may complete the run.
    tried.turn(good(), 2);
    assert_eq!(tried.statuses().1, "completed");
}
