//! Start and the beginning of a turn.

use super::*;

#[test]
fn a_started_run_waits_for_its_first_continuation_at_version_one() {
    let mut tried = Tried::default();
    let events = tried.accept(&RunCommand::Start(Box::new(brief())), at(0));
    assert_eq!(names(&events), ["run_started"]);
    assert_eq!(
        public(&events[0]),
        json!({
            "version": 1,
            "lifecycle_status": "waiting",
            "completion_status": "needs_more_evidence",
            "terminal_authority_status": "not_evaluated",
        })
    );
    let body = tried.body();
    assert_eq!((body.steps_used, body.latest_result.is_none()), (0, true));
    assert_eq!(body.constraints.open().unwrap(), &["only summer"]);
    assert_eq!(body.expires_at, at(600).at);
    assert!(!body.summary.open().unwrap().is_empty());
}

#[test]
fn a_run_is_started_once() {
    let tried = Tried::started(brief());
    let again = RunCommand::Start(Box::new(brief()));
    assert_eq!(tried.refuse(&again, at(1)), RunError::AlreadyStarted);
}

#[test]
fn nothing_but_a_start_reaches_a_run_that_does_not_exist() {
    let absent = Tried::default();
    let finish = FinishTurn {
        operation: operation(1),
        claimed_version: 2,
        result: result(),
    };
    for command in [
        RunCommand::Claim(Box::new(claim(1, 1))),
        RunCommand::Finish(Box::new(finish)),
        RunCommand::Cancel {
            expected: 1,
            reason: None,
        },
        RunCommand::Recover {
            abandon_after_sweep: ABANDON,
        },
        RunCommand::Lapse,
    ] {
        assert_eq!(
            absent.refuse(&command, at(0)),
            RunError::NotFound,
            "{command:?}"
        );
    }
}

#[test]
fn a_claim_spends_one_step_and_one_version() {
    let mut tried = Tried::started(brief());
    let events = tried.claim(claim(1, 9), at(1));
    assert_eq!(
        public(&events[0]),
        json!({ "operation_ref": operation(9), "version": 2, "steps_used": 1 })
    );
    assert_eq!(
        tried.statuses(),
        ("running", "pending", TerminalAuthority::NotEvaluated)
    );
    let held = tried.run.claim().unwrap();
    assert_eq!((held.version, held.started_at), (2, at(1).at));
    assert_eq!(held.credential, Some(Uuid::from_u128(77)));
}

#[test]
fn a_stale_version_is_reported_before_anything_else() {
    let mut tried = Tried::running(brief());
    let stale = ClaimTurn {
        answers: vec![answer("q", json!(1)); 2],
        ..claim(1, 2)
    };
    assert_eq!(
        tried.refuse_claim(stale.clone(), at(1)),
        RunError::VersionConflict { current: 2 }
    );
    tried.accept(
        &RunCommand::Cancel {
            expected: 2,
            reason: None,
        },
        at(2),
    );
    assert_eq!(
        tried.refuse_claim(stale, at(2)),
        RunError::VersionConflict { current: 3 }
    );
}

#[test]
fn an_ended_run_is_not_resumed() {
    let mut tried = Tried::started(brief());
    tried.accept(
        &RunCommand::Cancel {
            expected: 1,
            reason: None,
        },
        at(1),
    );
    assert_eq!(
        tried.refuse_claim(claim(2, 2), at(2)),
        RunError::NotResumable
    );
}

#[test]
fn a_question_answered_twice_is_refused_before_unknown_ones() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            pending_questions: vec![question("q-port")],
            ..result()
        },
        1,
    );
    let twice = vec![answer("q-x", json!(0)), answer("q-x", json!(1))];
    let turn = ClaimTurn {
        answers: twice,
        ..claim(3, 2)
    };
    assert_eq!(tried.refuse_claim(turn, at(4)), RunError::DuplicateAnswer);
}

#[test]
fn answers_to_questions_nobody_asked_are_named() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            pending_questions: vec![question("q-port")],
            ..result()
        },
        1,
    );
    let answers = ["q-a", "q-port", "q-b"]
        .map(|id| answer(id, json!(null)))
        .to_vec();
    let turn = ClaimTurn {
        answers,
        ..claim(3, 2)
    };
    let unknown = RunError::UnknownQuestions(texts(&["q-a", "q-b"]));
    assert_eq!(tried.refuse_claim(turn, at(4)), unknown);
    assert_eq!(tried.body().steps_used, 1);
}

#[test]
fn wrong_answers_are_refused_even_when_the_run_is_busy_or_expired() {
    let tried = Tried::running(brief());
    let turn = ClaimTurn {
        answers: vec![answer("q", json!(1))],
        ..claim(2, 2)
    };
    for seconds in [2, 700] {
        let error = tried.refuse_claim(turn.clone(), at(seconds));
        assert_eq!(error, RunError::UnknownQuestions(texts(&["q"])));
    }
}

#[test]
fn a_live_turn_makes_the_run_busy() {
    let tried = Tried::running(brief());
    // One second into the run the turn began; at 62 s it is exactly as old as the limit.
    assert_eq!(
        tried.refuse_claim(claim(2, 2), at(62)),
        RunError::Busy { current: 2 }
    );
}

#[test]
fn a_live_turn_on_the_last_step_or_past_the_expiry_is_not_ended_from_outside() {
    let one_step = Budget {
        max_steps: 1,
        expires_in_seconds: 60,
    };
    let tried = Tried::running(RunBrief {
        budget: one_step,
        ..brief()
    });
    for seconds in [2, 61] {
        assert_eq!(
            tried.refuse_claim(claim(2, 2), at(seconds)),
            RunError::Busy { current: 2 }
        );
    }
}

#[test]
fn an_abandoned_turn_is_taken_over_and_costs_another_step() {
    let mut tried = Tried::running(brief());
    let events = tried.claim(claim(2, 2), at(63));
    assert_eq!(
        names(&events),
        ["runtime_recovered", "continuation_received"]
    );
    assert_eq!(
        public(&events[0]),
        json!({ "version": 3, "lifecycle_status": "running", "completion_status": "pending" })
    );
    assert_eq!(
        public(&events[1]),
        json!({ "operation_ref": operation(2), "version": 3, "steps_used": 2 })
    );
    assert_eq!(tried.run.claim().unwrap().operation, operation(2));
}

#[test]
fn a_turn_under_a_revoked_credential_is_taken_over_at_once() {
    let mut tried = Tried::running(brief());
    let turn = ClaimTurn {
        holder: ClaimHolder::Revoked,
        ..claim(2, 2)
    };
    let events = tried.claim(turn, at(2));
    assert_eq!(
        names(&events),
        ["runtime_recovered", "continuation_received"]
    );
}

#[test]
fn questions_survive_a_turn_that_was_taken_over() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            pending_questions: vec![question("q-port")],
            ..result()
        },
        1,
    );
    let turn = ClaimTurn {
        answers: vec![answer("q-port", json!("Vik"))],
        ..claim(3, 2)
    };
    tried.claim(turn.clone(), at(10));
    tried.claim(
        ClaimTurn {
            expected: 4,
            operation: operation(3),
            ..turn
        },
        at(80),
    );
    assert_eq!(tried.questions(), ["q-port"]);
}

#[test]
fn time_runs_out_at_the_expiry_and_not_after_it() {
    let start = RunBrief {
        budget: Budget {
            max_steps: 3,
            expires_in_seconds: 60,
        },
        ..brief()
    };
    let early = Stamp {
        at: Timestamp::from_millis(at(60).at.millis() - 1),
    };
    assert_eq!(
        names(&Tried::started(start.clone()).claim(claim(1, 1), early)),
        ["continuation_received"]
    );
    let mut late = Tried::started(start);
    let events = late.claim(claim(1, 1), at(60));
    assert_eq!(names(&events), ["run_failed"]);
    assert_eq!(
        public(&events[0]),
        json!({ "version": 2, "failure_code": "run_expired", "expires_at": at(60).at })
    );
    assert_eq!(
        late.statuses(),
        ("failed", "failed", TerminalAuthority::Blocked)
    );
    assert_eq!(late.run.completed_at(), Some(at(60).at));
    assert_eq!(late.body().steps_used, 0);
}

#[test]
fn an_abandoned_turn_of_an_expired_run_ends_it_without_a_recovery() {
    let mut tried = Tried::running(brief());
    let events = tried.claim(claim(2, 2), at(600));
    assert_eq!(names(&events), ["run_failed"]);
    assert_eq!((tried.run.version(), tried.body().steps_used), (3, 1));
}

#[test]
fn an_abandoned_last_step_ends_the_run_as_exhausted() {
    let budget = Budget {
        max_steps: 1,
        expires_in_seconds: 600,
    };
    let mut tried = Tried::running(RunBrief { budget, ..brief() });
    let events = tried.claim(claim(2, 2), at(63));
    assert_eq!(names(&events), ["budget_exhausted"]);
    assert_eq!(
        public(&events[0]),
        json!({ "version": 3, "steps_used": 1, "max_steps": 1 })
    );
    assert_eq!(
        tried.statuses(),
        ("failed", "budget_exhausted", TerminalAuthority::Blocked)
    );
    assert_eq!(tried.run.completed_at(), None);
}

#[test]
fn expiry_comes_before_budget() {
    let budget = Budget {
        max_steps: 1,
        expires_in_seconds: 60,
    };
    let mut tried = Tried::running(RunBrief { budget, ..brief() });
    assert_eq!(names(&tried.claim(claim(2, 2), at(63))), ["run_failed"]);
}

#[test]
fn a_turn_may_use_less_than_the_start_admitted_and_must_prove_more() {
    let start = RunBrief {
        policy: policy(&["a", "b"], &["f1"]),
        ..brief()
    };
    let mut tried = Tried::started(start);
    let turn = ClaimTurn {
        policy: policy(&["b", "c"], &["f2", "f1"]),
        ..claim(1, 1)
    };
    tried.claim(turn, at(1));
    let effective = &tried.run.claim().unwrap().policy;
    assert_eq!(effective.allowed_tools, ["b"]);
    assert_eq!(effective.required_evidence, ["f1", "f2"]);
    // What the start admitted stays, so a tool that is enabled again works again.
    assert_eq!(tried.body().policy.allowed_tools, ["a", "b"]);
}

#[test]
fn a_turn_left_without_tools_gets_the_sentinel() {
    for now in [policy(&["c"], &[]), policy(&[NO_TOOLS], &[])] {
        let mut tried = Tried::started(RunBrief {
            policy: policy(&["a"], &[]),
            ..brief()
        });
        tried.claim(
            ClaimTurn {
                policy: now,
                ..claim(1, 1)
            },
            at(1),
        );
        assert_eq!(tried.run.claim().unwrap().policy.allowed_tools, [NO_TOOLS]);
    }
}

#[test]
fn answers_are_appended_to_the_instruction_as_a_block() {
    let mut tried = Tried::started(brief());
    let asked = vec![question("q-port"), question("q-date")];
    tried.turn(
        TurnResult {
            pending_questions: asked,
            ..result()
        },
        1,
    );
    let answers = vec![
        answer("q-port", json!("V\"ik")),
        answer("q-date", json!({ "d": [1] })),
    ];
    let block = "Answers to pending questions:\nq-port: \"V\\\"ik\"\nq-date: {\"d\":[1]}";
    let mut with = tried.clone();
    with.claim(
        ClaimTurn {
            answers: answers.clone(),
            ..claim(3, 2)
        },
        at(5),
    );
    let input = with.run.claim_input().unwrap();
    assert_eq!(
        input.instruction,
        format!("Look in the timetable\n\n{block}")
    );
    assert_eq!(input.pending_questions.len(), 2);
    tried.claim(
        ClaimTurn {
            answers,
            instruction: None,
            ..claim(3, 2)
        },
        at(5),
    );
    assert_eq!(tried.run.claim_input().unwrap().instruction, block);
}

#[test]
fn a_turn_is_given_the_last_references_and_the_first_issues() {
    let mut tried = Tried::started(brief());
    let refs: Vec<String> = (0..100).map(|n| format!("e:{n}")).collect();
    let issues: Vec<String> = (0..100).map(|n| format!("issue {n}")).collect();
    let gathered = TurnResult {
        evidence_refs: refs.clone(),
        unresolved_requirements: issues.clone(),
        ..result()
    };
    tried.turn(gathered, 1);
    tried.claim(claim(3, 2), at(9));
    let input = tried.run.claim_input().unwrap();
    assert_eq!(input.previous_evidence_refs, refs[36..]);
    assert_eq!(input.previous_unresolved_requirements, issues[..64]);
    assert_eq!(
        input.previous_summary.as_deref(),
        Some("Read the timetable")
    );
    assert_eq!(
        (input.run_version, input.turn_seq, input.remaining_steps),
        (4, 2, 1)
    );
}

#[test]
fn only_a_turn_under_way_has_an_input() {
    let mut tried = Tried::started(brief());
    assert!(tried.run.claim_input().is_none());
    tried.claim(claim(1, 1), at(1));
    assert!(tried.run.claim_input().is_some());
    tried.finish(good(), at(2));
    assert!(tried.run.claim_input().is_none());
}
