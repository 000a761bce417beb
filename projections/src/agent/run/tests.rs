//! Given a run, the JSON a client reads.

use std::time::Duration;

use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::command::{
    AdmittedPolicy, Answer, Budget, ClaimHolder, ClaimTurn, CompletionContract, FinishTurn,
    RunBrief, RunCommand,
};
use helix_aggregates::agent::run::event::RunEvent;
use helix_aggregates::agent::run::turn::{
    Question, QuestionOption, TerminalAuthority, TerminalProduct, TurnResult,
};
use helix_aggregates::decider::{Decider, WireEvent};
use helix_aggregates::ids::{OperationId, OwnerTuple, RunId};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::event::{EventView, EventsPage};
use super::list::{OBJECTIVE_LENGTH, RunList, RunListEntry};
use super::view::RunView;

const RUN_ID: &str = "run_00000000-0000-0000-0000-00000000002a";
const OPERATION: &str = "op_00000000-0000-0000-0000-000000000001";

fn run_id() -> RunId {
    RunId::new(Uuid::from_u128(42))
}

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(1_796_040_000_000 + seconds * 1000),
    }
}

fn policy() -> AdmittedPolicy {
    AdmittedPolicy {
        allowed_tools: vec!["research-library.read_document".to_owned()],
        required_evidence: Vec::new(),
        policy_hash: "sha256:5f".to_owned(),
    }
}

fn start() -> RunCommand {
    RunCommand::Start(Box::new(RunBrief {
        owner: OwnerTuple {
            tenant: "harbour".to_owned(),
            issuer: "https://id.example".to_owned(),
            subject: "ada".to_owned(),
            profile: "acct_1".to_owned(),
        },
        objective: Text::parse("Say \"Vík\"").unwrap(),
        constraints: vec!["only summer".to_owned()],
        database_scope: vec!["research_library".to_owned()],
        completion_contract: CompletionContract::default(),
        budget: Budget {
            max_steps: 3,
            expires_in_seconds: 600,
        },
        policy: policy(),
    }))
}

fn claim(expected: u64, answers: Vec<Answer>) -> RunCommand {
    RunCommand::Claim(Box::new(ClaimTurn {
        expected,
        operation: OperationId::new(Uuid::from_u128(1)),
        credential: None,
        instruction: None,
        answers,
        policy: policy(),
        abandon_after: Duration::from_secs(61),
        holder: ClaimHolder::Live,
    }))
}

fn finish(claimed_version: u64, result: TurnResult) -> RunCommand {
    let operation = OperationId::new(Uuid::from_u128(1));
    RunCommand::Finish(Box::new(FinishTurn {
        operation,
        claimed_version,
        result,
    }))
}

fn cancel(expected: u64) -> RunCommand {
    let reason = Some(Text::parse("no longer needed").unwrap());
    RunCommand::Cancel { expected, reason }
}

fn one(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

/// A turn that asks a question and resolves a contradiction.
fn asking() -> TurnResult {
    TurnResult {
        ok: true,
        status_code: 200,
        summary: "Two piers are called Vík".to_owned(),
        observation_refs: one("observation:1"),
        evidence_refs: one("evidence:1"),
        receipt_refs: one("receipt:1"),
        claims_supported: one("it stops at Vík"),
        claims_contradicted: one("it stops at Nes"),
        unresolved_requirements: one("name the pier"),
        resolved_requirements: one("name the port"),
        satisfied_evidence_requirements: Vec::new(),
        contradictions: one("two departure times"),
        resolved_contradictions: one("two prices"),
        pending_questions: vec![Question {
            question_id: "q-pier".to_owned(),
            prompt: "Which pier?".to_owned(),
            required_fields: one("pier"),
            options: vec![QuestionOption {
                value: "n".to_owned(),
                label: "North".to_owned(),
            }],
        }],
        terminal_authority_status: TerminalAuthority::Authorized,
        terminal_product: Some(TerminalProduct {
            authority_ref: "authority:1".to_owned(),
            artifact_kind: "digest".to_owned(),
            text: "It stops at Vík [1]".to_owned(),
            supporting_evidence_refs: one("evidence:1"),
        }),
        output_fields: Map::new(),
        failure_code: None,
        needs_input: false,
        sanitized_result: Map::from_iter([("ok".to_owned(), Value::Bool(true))]),
    }
}

/// A turn that leaves nothing open.
fn complete() -> TurnResult {
    TurnResult {
        unresolved_requirements: Vec::new(),
        resolved_requirements: one("name the pier"),
        contradictions: Vec::new(),
        resolved_contradictions: one("two departure times"),
        pending_questions: Vec::new(),
        ..asking()
    }
}

fn failed(status_code: u16, code: &str) -> TurnResult {
    TurnResult {
        ok: false,
        status_code,
        failure_code: Some(code.to_owned()),
        pending_questions: Vec::new(),
        ..asking()
    }
}

/// Folds the commands, each at the given second, and keeps the events.
fn played(commands: &[(i64, RunCommand)]) -> (Run, Vec<RunEvent>) {
    let (mut run, mut log) = (Run::default(), Vec::new());
    for (second, command) in commands {
        for event in run.decide(command, at(*second)).unwrap() {
            run.evolve(&event);
            log.push(event);
        }
    }
    (run, log)
}

fn view(commands: &[(i64, RunCommand)]) -> Value {
    let (run, _) = played(commands);
    serde_json::to_value(RunView::of(&run, run_id()).unwrap()).unwrap()
}

/// Type and payload of every event.
fn payloads(commands: &[(i64, RunCommand)]) -> Vec<(String, Value)> {
    let (_, log) = played(commands);
    (1..)
        .zip(&log)
        .map(|(seq, event)| EventView::of(run_id(), seq, at(0).at, event))
        .map(|shown| {
            (
                shown.event_type.to_owned(),
                serde_json::to_value(shown.payload).unwrap(),
            )
        })
        .collect()
}

/// Replaces every open mark, as the codec without a key leaves it.
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

#[test]
fn a_fresh_run_shows_every_key_of_the_contract() {
    assert_eq!(
        view(&[(0, start())]),
        json!({
            "schema": "helix.agent_run.v1",
            "api_version": "v1",
            "run_id": RUN_ID,
            // SHA-256 of "harbour", "https://id.example\nada" and "acct_1", computed elsewhere.
            "ownership": {
                "tenant_ref": "tenant:sha256:aa74f6fd03bf68be7e0f4bd0",
                "principal_ref": "principal:sha256:bfdca43e8abd5775bf6ff631",
                "account_profile_ref": "account-profile:sha256:47809e466c8e12225ba86e64",
            },
            "objective": "Say \"Vík\"",
            "objective_hash": "sha256:4053f3324befbac3774f0845dfbfe09a65f2cfa4b94afe3c25d830121c139881",
            "runtime_provider": "helix-ask",
            "lifecycle_status": "waiting",
            "completion_status": "needs_more_evidence",
            "terminal_authority_status": "not_evaluated",
            "version": 1,
            "completion_contract": {
                "min_evidence_refs": 1,
                "require_terminal_authority": true,
                "required_output_fields": [],
                "max_unresolved_requirements": 0,
                "allow_conflicts": false,
            },
            "constraints": ["only summer"],
            "database_scope": ["research_library"],
            "budget": {
                "max_steps": 3,
                "steps_used": 0,
                "expires_at": "2026-11-30T12:10:00.000Z",
            },
            "summary": "The run is ready for its first continuation.",
            "unresolved_requirements": [],
            "contradictions": [],
            "pending_questions": [],
            "evidence": {
                "schema": "helix.agent_run.evidence_bundle.v1",
                "run_id": RUN_ID,
                "observation_refs": [],
                "evidence_refs": [],
                "receipt_refs": [],
                "provider_terminal_candidate_ref": null,
                "claims_supported": [],
                "claims_contradicted": [],
                "unresolved_requirements": [],
                "terminal_authority_status": "not_evaluated",
                "answer_authority": false,
                "assistant_answer": false,
                "terminal_eligible": false,
                "raw_content_included": false,
            },
            "latest_result": null,
            "recommended_next_action": {
                "operation": "continue",
                "reason": "needs_more_evidence",
            },
            "created_at": "2026-11-30T12:00:00.000Z",
            "updated_at": "2026-11-30T12:00:00.000Z",
            "completed_at": null,
            "cancelled_at": null,
            "answer_authority": false,
            "assistant_answer": false,
            "terminal_eligible": false,
            "raw_content_included": false,
        })
    );
}

#[test]
fn a_run_that_does_not_exist_has_no_view() {
    assert_eq!(RunView::of(&Run::default(), run_id()), None);
}

#[test]
fn a_run_that_asks_shows_its_question_and_its_evidence() {
    let shown = view(&[
        (0, start()),
        (1, claim(1, Vec::new())),
        (3, finish(2, asking())),
    ]);
    assert_eq!(shown["completion_status"], "needs_input");
    assert_eq!(shown["terminal_authority_status"], "authorized");
    assert_eq!(shown["budget"]["steps_used"], 1);
    assert_eq!(shown["summary"], "Two piers are called Vík");
    assert_eq!(shown["latest_result"], json!({ "ok": true }));
    assert_eq!(
        shown["pending_questions"],
        json!([{
            "question_id": "q-pier",
            "prompt": "Which pier?",
            "required_fields": ["pier"],
            "options": [{ "value": "n", "label": "North" }],
        }])
    );
    assert_eq!(
        shown["evidence"],
        json!({
            "schema": "helix.agent_run.evidence_bundle.v1",
            "run_id": RUN_ID,
            "observation_refs": ["observation:1"],
            "evidence_refs": ["evidence:1"],
            "receipt_refs": ["receipt:1"],
            "provider_terminal_candidate_ref": "authority:1",
            "claims_supported": ["it stops at Vík"],
            "claims_contradicted": ["it stops at Nes"],
            "unresolved_requirements": ["name the pier"],
            "terminal_authority_status": "authorized",
            "answer_authority": false,
            "assistant_answer": false,
            "terminal_eligible": false,
            "raw_content_included": false,
        })
    );
    assert_eq!(shown["recommended_next_action"]["operation"], "continue");
    assert_eq!(shown["updated_at"], "2026-11-30T12:00:03.000Z");
}

#[test]
fn the_next_action_follows_the_statuses() {
    let begun = || vec![(0, start()), (1, claim(1, Vec::new()))];
    let after = |result| [begun(), vec![(3, finish(2, result))]].concat();
    let conflict = TurnResult {
        pending_questions: Vec::new(),
        ..asking()
    };
    for (commands, lifecycle, operation, reason) in [
        (begun(), "running", "inspect", "turn_in_progress"),
        (
            after(asking()),
            "waiting",
            "continue",
            "answer_pending_questions",
        ),
        (after(conflict), "waiting", "continue", "conflict_detected"),
        (after(complete()), "completed", "none", "run_completed"),
        (after(failed(500, "boom")), "failed", "none", "run_failed"),
        (
            vec![(0, start()), (1, cancel(1))],
            "cancelled",
            "none",
            "run_cancelled",
        ),
    ] {
        let shown = view(&commands);
        assert_eq!(shown["lifecycle_status"], lifecycle);
        let expected = json!({ "operation": operation, "reason": reason });
        assert_eq!(shown["recommended_next_action"], expected);
    }
    let mut blocked = failed(424, "worker_unavailable");
    blocked.contradictions.clear();
    let shown = view(&after(blocked));
    let expected = json!({ "operation": "continue", "reason": "blocked" });
    assert_eq!(shown["recommended_next_action"], expected);
}

#[test]
fn the_ends_of_a_run_carry_their_times() {
    let ended = |last: (i64, RunCommand)| view(&[(0, start()), (1, claim(1, Vec::new())), last]);
    let completed = ended((3, finish(2, complete())));
    assert_eq!(completed["completed_at"], "2026-11-30T12:00:03.000Z");
    assert_eq!(completed["cancelled_at"], Value::Null);
    let failed = ended((3, finish(2, failed(500, "boom"))));
    assert_eq!(failed["completed_at"], Value::Null);
    let cancelled = ended((4, cancel(2)));
    assert_eq!(cancelled["cancelled_at"], "2026-11-30T12:00:04.000Z");
    assert_eq!(cancelled["summary"], "no longer needed");
    assert_eq!(
        cancelled["evidence"]["terminal_authority_status"],
        "not_evaluated"
    );
    assert_eq!(cancelled["terminal_authority_status"], "blocked");
    let expired = view(&[(0, start()), (600, RunCommand::Lapse)]);
    assert_eq!(expired["completed_at"], "2026-11-30T12:10:00.000Z");
}

#[test]
fn an_event_is_named_by_its_place_and_carries_the_flags() {
    let (_, log) = played(&[(0, start())]);
    let shown = EventView::of(run_id(), 1, at(0).at, &log[0]);
    let again = EventView::of(run_id(), 1, at(0).at, &log[0]);
    assert_eq!(shown.event_id, again.event_id);
    assert_eq!(
        serde_json::to_value(&shown).unwrap(),
        json!({
            "schema": "helix.agent_run.event.v1",
            "event_id": shown.event_id.to_string(),
            "run_id": RUN_ID,
            "seq": 1,
            "event_type": "run_started",
            "payload": {
                "version": 1,
                "lifecycle_status": "waiting",
                "completion_status": "needs_more_evidence",
                "terminal_authority_status": "not_evaluated",
            },
            "created_at": "2026-11-30T12:00:00.000Z",
            "answer_authority": false,
            "assistant_answer": false,
            "terminal_eligible": false,
            "raw_content_included": false,
        })
    );
}

#[test]
fn the_payloads_of_a_turn_hold_exactly_the_keys_of_the_contract() {
    let commands = [
        (0, start()),
        (1, claim(1, Vec::new())),
        (3, finish(2, asking())),
    ];
    let shown = payloads(&commands);
    let expected = [
        (
            "continuation_received",
            json!({ "operation_ref": OPERATION, "version": 2, "steps_used": 1 }),
        ),
        (
            "evidence_reentered",
            json!({
                "version": 3,
                "observation_refs": ["observation:1"],
                "evidence_refs": ["evidence:1"],
                "receipt_refs": ["receipt:1"],
                "evidence_is_terminal_answer": false,
            }),
        ),
        (
            "issues_resolved",
            json!({
                "version": 3,
                "resolved_requirements": ["name the port"],
                "resolved_contradictions": ["two prices"],
                "resolution_support_refs":
                    ["observation:1", "evidence:1", "receipt:1", "authority:1"],
            }),
        ),
        (
            "input_requested",
            json!({
                "version": 3,
                "questions": [{
                    "question_id": "q-pier",
                    "prompt": "Which pier?",
                    "required_fields": ["pier"],
                    "options": [{ "value": "n", "label": "North" }],
                }],
            }),
        ),
        (
            "terminal_authority_evaluated",
            json!({
                "version": 3,
                "terminal_authority_status": "authorized",
                "terminal_product_projected": true,
            }),
        ),
        (
            "run_waiting",
            json!({
                "version": 3,
                "lifecycle_status": "waiting",
                "completion_status": "needs_input",
                "failure_code": null,
            }),
        ),
    ]
    .map(|(name, payload)| (name.to_owned(), payload));
    assert_eq!(shown[1..], expected);
}

#[test]
fn the_payloads_of_ends_and_recoveries_hold_exactly_the_keys_of_the_contract() {
    let last = |commands: &[(i64, RunCommand)]| payloads(commands).pop().unwrap();
    let begun = [(0, start()), (1, claim(1, Vec::new()))];
    let with = |next: (i64, RunCommand)| [begun.to_vec(), vec![next]].concat();
    let expected = |name: &str, payload: Value| (name.to_owned(), payload);
    assert_eq!(
        last(&with((3, cancel(2)))),
        expected(
            "run_cancelled",
            json!({ "version": 3, "reason": "no longer needed" })
        )
    );
    assert_eq!(
        last(&with((3, finish(2, failed(500, "boom"))))),
        expected(
            "run_failed",
            json!({
                "version": 3,
                "lifecycle_status": "failed",
                "completion_status": "failed",
                "failure_code": "boom",
            })
        )
    );
    assert_eq!(
        last(&[(0, start()), (600, claim(1, Vec::new()))]),
        expected(
            "run_failed",
            json!({
                "version": 2,
                "failure_code": "run_expired",
                "expires_at": "2026-11-30T12:10:00.000Z",
            })
        )
    );
    let recover = RunCommand::Recover {
        abandon_after_sweep: Duration::from_secs(91),
    };
    assert_eq!(
        last(&with((93, recover))),
        expected(
            "runtime_recovered",
            json!({
                "version": 3,
                "lifecycle_status": "waiting",
                "completion_status": "needs_more_evidence",
            })
        )
    );
    let abandoned = [
        (0, start()),
        (1, claim(1, Vec::new())),
        (63, claim(2, Vec::new())),
    ];
    let spent = [(125, claim(3, Vec::new())), (187, claim(4, Vec::new()))];
    assert_eq!(
        last(&[abandoned.to_vec(), spent.to_vec()].concat()),
        expected(
            "budget_exhausted",
            json!({ "version": 5, "steps_used": 3, "max_steps": 3 })
        )
    );
}

#[test]
fn the_closing_events_share_one_payload() {
    let close = |result: TurnResult| {
        payloads(&[
            (0, start()),
            (1, claim(1, Vec::new())),
            (3, finish(2, result)),
        ])
        .pop()
        .unwrap()
    };
    let mut blocked = failed(424, "worker_unavailable");
    blocked.contradictions.clear();
    for (result, name, lifecycle, completion, code) in [
        (
            complete(),
            "run_completed",
            "completed",
            "completed",
            Value::Null,
        ),
        (
            blocked,
            "run_blocked",
            "waiting",
            "blocked",
            json!("worker_unavailable"),
        ),
    ] {
        let payload = json!({
            "version": 3,
            "lifecycle_status": lifecycle,
            "completion_status": completion,
            "failure_code": code,
        });
        assert_eq!(close(result), (name.to_owned(), payload));
    }
}

#[test]
fn a_page_ends_at_its_limit_and_says_whether_more_follow() {
    let (_, log) = played(&[
        (0, start()),
        (1, claim(1, Vec::new())),
        (3, finish(2, asking())),
    ]);
    let shown = |from: u64, count: usize| -> Vec<EventView> {
        (from..)
            .zip(
                log.iter()
                    .skip(usize::try_from(from - 1).unwrap())
                    .take(count),
            )
            .map(|(seq, event)| EventView::of(run_id(), seq, at(0).at, event))
            .collect()
    };
    let first = EventsPage::of(run_id(), 0, 3, shown(1, 4));
    assert_eq!(
        (first.events.len(), first.next_after_seq, first.has_more),
        (3, 3, true)
    );
    let rest = EventsPage::of(run_id(), 3, 4, shown(4, 5));
    assert_eq!(
        (rest.events.len(), rest.next_after_seq, rest.has_more),
        (4, 7, false)
    );
    assert_eq!(
        serde_json::to_value(EventsPage::of(run_id(), 999, 3, Vec::new())).unwrap(),
        json!({
            "schema": "helix.agent_run.events_page.v1",
            "run_id": RUN_ID,
            "events": [],
            "next_after_seq": 999,
            "has_more": false,
        })
    );
}

#[test]
fn a_list_shows_what_the_run_shows() {
    let commands = [(0, start()), (1, cancel(1))];
    let (run, _) = played(&commands);
    let runs = vec![line_of(&run)];
    let list = serde_json::to_value(RunList::of(runs, None)).unwrap();
    assert_eq!(
        list,
        json!({
            "schema": "helix.agent_run.list.v1",
            "runs": [{
                "run_id": RUN_ID,
                "objective": "Say \"Vík\"",
                "lifecycle_status": "cancelled",
                "completion_status": "cancelled",
                "terminal_authority_status": "blocked",
                "version": 2,
                "created_at": "2026-11-30T12:00:00.000Z",
                "updated_at": "2026-11-30T12:00:01.000Z",
            }],
            "next_cursor": null,
        })
    );
    let detail = view(&commands);
    for (key, value) in list["runs"][0].as_object().unwrap() {
        assert_eq!(&detail[key], value, "{key}");
    }
}

#[test]
fn a_list_cuts_a_long_objective() {
    let RunCommand::Start(mut brief) = start() else {
        panic!("a start");
    };
    brief.objective = Text::parse(&"ö".repeat(300)).unwrap();
    let (run, _) = played(&[(0, RunCommand::Start(brief))]);
    let line = line_of(&run);
    assert_eq!(line.objective, "ö".repeat(OBJECTIVE_LENGTH));
}

#[test]
fn an_erased_run_keeps_its_structure_and_shows_no_text() {
    let commands = [
        (0, start()),
        (1, claim(1, Vec::new())),
        (3, finish(2, asking())),
        (4, cancel(3)),
    ];
    let (_, log) = played(&commands);
    let mut run = Run::default();
    let mut events = Vec::new();
    for (seq, event) in (1..).zip(&log) {
        let closed = erased(event);
        run.evolve(&closed);
        events.push(EventView::of(run_id(), seq, at(0).at, &closed));
    }
    let shown = serde_json::to_value(RunView::of(&run, run_id()).unwrap()).unwrap();
    for key in ["objective", "objective_hash", "summary"] {
        assert_eq!(shown[key], "[erased]", "{key}");
    }
    let erased = json!({
        "tenant_ref": "[erased]",
        "principal_ref": "[erased]",
        "account_profile_ref": "[erased]",
    });
    assert_eq!(shown["ownership"], erased);
    for key in [
        "constraints",
        "unresolved_requirements",
        "contradictions",
        "pending_questions",
    ] {
        assert_eq!(shown[key], json!([]), "{key}");
    }
    assert_eq!(shown["latest_result"], Value::Null);
    assert_eq!(shown["evidence"]["evidence_refs"], json!(["evidence:1"]));
    assert_eq!(shown["completion_status"], "cancelled");
    let page = serde_json::to_string(&EventsPage::of(run_id(), 0, 200, events)).unwrap();
    assert!(page.contains("\"reason\":\"[erased]\""));
    assert!(page.contains("\"questions\":[]"));
    assert!(!page.contains("$sealed"));
    assert_eq!(log.last().unwrap().name(), "run_cancelled");
}

fn line_of(run: &Run) -> RunListEntry {
    let view = RunView::of(run, run_id()).unwrap();
    RunListEntry::of_view(&serde_json::to_vec(&view).unwrap()).unwrap()
}
