//! The other ends of a turn: lost claims, cancels and the sweeper.

use super::*;

#[test]
fn a_result_without_its_claim_changes_nothing() {
    let running = Tried::running(brief());
    let right = running.finishing(good());
    let lost = RunError::ClaimLost { claimed_version: 2 };

    let mut cancelled = running.clone();
    cancelled.accept(
        &RunCommand::Cancel {
            expected: 2,
            reason: None,
        },
        at(2),
    );
    assert_eq!(cancelled.refuse(&right, at(3)), lost);

    let mut taken = running.clone();
    taken.claim(claim(2, 2), at(63));
    assert_eq!(taken.refuse(&right, at(64)), lost);

    let mut recovered = running.clone();
    recovered.accept(
        &RunCommand::Recover {
            abandon_after_sweep: ABANDON,
        },
        at(63),
    );
    assert_eq!(recovered.refuse(&right, at(64)), lost);

    let mut finished = running;
    finished.finish(result(), at(2));
    assert_eq!(finished.refuse(&right, at(3)), lost);
}

#[test]
fn a_result_must_name_both_operation_and_version() {
    let tried = Tried::running(brief());
    for (number, claimed_version) in [(1, 3), (2, 2)] {
        let command = RunCommand::Finish(Box::new(FinishTurn {
            operation: operation(number),
            claimed_version,
            result: good(),
        }));
        assert_eq!(
            tried.refuse(&command, at(2)),
            RunError::ClaimLost { claimed_version }
        );
    }
}

#[test]
fn cancelling_ends_a_waiting_run_with_the_reason_as_its_summary() {
    let mut tried = Tried::started(brief());
    let reason = Some(Text::parse(" no longer needed ").unwrap());
    let events = tried.accept(
        &RunCommand::Cancel {
            expected: 1,
            reason,
        },
        at(5),
    );
    assert_eq!(names(&events), ["run_cancelled"]);
    assert_eq!(
        public(&events[0]),
        json!({ "version": 2, "reason": { "$open": "no longer needed" } })
    );
    assert_eq!(
        tried.statuses(),
        ("cancelled", "cancelled", TerminalAuthority::Blocked)
    );
    assert_eq!(tried.body().summary.open().unwrap(), "no longer needed");
    assert_eq!(tried.run.cancelled_at(), Some(at(5).at));
    assert_eq!(tried.run.completed_at(), None);
    let bundle = &tried.body().evidence;
    assert_eq!(bundle.terminal_authority, TerminalAuthority::NotEvaluated);
}

#[test]
fn cancelling_without_a_reason_names_the_client() {
    let mut tried = Tried::running(brief());
    let events = tried.accept(
        &RunCommand::Cancel {
            expected: 2,
            reason: None,
        },
        at(5),
    );
    assert_eq!(
        public(&events[0])["reason"],
        json!({ "$open": "cancelled_by_client" })
    );
    assert!(tried.run.claim().is_none());
}

#[test]
fn cancelling_needs_the_present_version_and_a_run_that_has_not_ended() {
    let mut tried = Tried::started(brief());
    let cancel = |expected| RunCommand::Cancel {
        expected,
        reason: None,
    };
    assert_eq!(
        tried.refuse(&cancel(2), at(1)),
        RunError::VersionConflict { current: 1 }
    );
    tried.turn(good(), 1);
    assert_eq!(
        tried.refuse(&cancel(1), at(9)),
        RunError::VersionConflict { current: 3 }
    );
    assert_eq!(tried.refuse(&cancel(3), at(9)), RunError::NotResumable);
}

#[test]
fn the_sweeper_makes_an_abandoned_run_resumable_in_a_step_of_its_own() {
    let mut tried = Tried::started(brief());
    tried.turn(
        TurnResult {
            ok: false,
            ..good()
        },
        1,
    );
    tried.claim(claim(3, 2), at(10));
    let sweep = RunCommand::Recover {
        abandon_after_sweep: ABANDON,
    };
    assert_eq!(tried.refuse(&sweep, at(71)), RunError::NothingToRecover);
    let events = tried.accept(&sweep, at(72));
    assert_eq!(names(&events), ["runtime_recovered"]);
    assert_eq!(
        public(&events[0]),
        json!({
            "version": 5,
            "lifecycle_status": "waiting",
            "completion_status": "needs_more_evidence",
        })
    );
    let authorized = TerminalAuthority::Authorized;
    assert_eq!(
        tried.statuses(),
        ("waiting", "needs_more_evidence", authorized)
    );
    assert_eq!(tried.body().steps_used, 2);
    assert_eq!(
        names(&tried.claim(claim(5, 3), at(80))),
        ["continuation_received"]
    );
}

#[test]
fn only_an_abandoned_turn_is_recovered() {
    let sweep = RunCommand::Recover {
        abandon_after_sweep: ABANDON,
    };
    let mut tried = Tried::started(brief());
    assert_eq!(tried.refuse(&sweep, at(500)), RunError::NothingToRecover);
    tried.accept(
        &RunCommand::Cancel {
            expected: 1,
            reason: None,
        },
        at(1),
    );
    assert_eq!(tried.refuse(&sweep, at(500)), RunError::NothingToRecover);
}

#[test]
fn the_sweeper_ends_an_expired_run_as_a_continue_would() {
    let mut tried = Tried::started(brief());
    assert_eq!(
        tried.refuse(&RunCommand::Lapse, at(599)),
        RunError::NothingToRecover
    );
    let mut continued = tried.clone();
    let by_sweeper = tried.accept(&RunCommand::Lapse, at(600));
    assert_eq!(by_sweeper, continued.claim(claim(1, 1), at(600)));
    assert_eq!(tried.run, continued.run);
}

#[test]
fn the_sweeper_ends_a_run_that_lost_its_last_step() {
    let budget = Budget {
        max_steps: 1,
        expires_in_seconds: 600,
    };
    let mut tried = Tried::running(RunBrief { budget, ..brief() });
    tried.accept(
        &RunCommand::Recover {
            abandon_after_sweep: ABANDON,
        },
        at(100),
    );
    let events = tried.accept(&RunCommand::Lapse, at(101));
    assert_eq!(names(&events), ["budget_exhausted"]);
    assert_eq!(tried.statuses().1, "budget_exhausted");
}

#[test]
fn the_sweeper_leaves_a_claimed_or_ended_run_alone() {
    let mut tried = Tried::running(brief());
    assert_eq!(
        tried.refuse(&RunCommand::Lapse, at(700)),
        RunError::NothingToRecover
    );
    tried.accept(
        &RunCommand::Cancel {
            expected: 2,
            reason: None,
        },
        at(701),
    );
    assert_eq!(
        tried.refuse(&RunCommand::Lapse, at(702)),
        RunError::NothingToRecover
    );
}
