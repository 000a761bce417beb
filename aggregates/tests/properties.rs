//! What holds for any sequence of commands.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use cqrs_es::test::TestFramework;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::command::{
    AdmittedPolicy, Answer, Budget, ClaimHolder, ClaimTurn, CompletionContract, FinishTurn,
    RunBrief, RunCommand,
};
use helix_aggregates::agent::run::event::RunEvent;
use helix_aggregates::agent::run::turn::{
    Question, TerminalAuthority, TerminalProduct, TurnFailure, TurnResult,
};
use helix_aggregates::canonical;
use helix_aggregates::decider::{Decider, WireEvent};
use helix_aggregates::ids::{EventId, OperationId, OwnerTuple, RunId};
use helix_aggregates::sourced::{Recorded, Sourced, Stamped};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Stands in every text a person or a solver wrote.
const CANARY: &str = "canary-kestrel";
const FAMILY: &str = "research_library_evidence";
const START: i64 = 1_796_040_000_000;

fn said(what: &str) -> String {
    format!("{CANARY} {what}")
}

fn policy(tools: &[&str], families: &[&str]) -> AdmittedPolicy {
    AdmittedPolicy {
        allowed_tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        required_evidence: families.iter().map(|&family| family.to_owned()).collect(),
        policy_hash: "sha256:policy".to_owned(),
    }
}

/// One attempt, relative to the state it meets.
#[derive(Debug, Clone)]
enum Attempt {
    Start,
    Claim {
        ahead: u64,
        operation: u128,
        answered: usize,
        holder: ClaimHolder,
    },
    Finish {
        wrong: bool,
        result: Box<TurnResult>,
    },
    Cancel {
        ahead: u64,
    },
    Recover,
    Lapse,
}

fn questions() -> impl Strategy<Value = Vec<Question>> {
    vec(0_u8..4, 0..3).prop_map(|ids| {
        ids.into_iter()
            .map(|id| Question {
                question_id: format!("{CANARY}-{id}"),
                prompt: said("which?"),
                required_fields: vec![said("field")],
                options: Vec::new(),
            })
            .collect()
    })
}

fn words(prefix: &'static str) -> impl Strategy<Value = Vec<String>> {
    vec(0_u8..3, 0..3)
        .prop_map(move |ids| ids.into_iter().map(|id| format!("{prefix}{id}")).collect())
}

fn texts(prefix: &'static str) -> impl Strategy<Value = Vec<String>> {
    words(prefix).prop_map(|all| all.iter().map(|text| said(text)).collect())
}

fn authority() -> impl Strategy<Value = TerminalAuthority> {
    prop_oneof![
        Just(TerminalAuthority::NotEvaluated),
        Just(TerminalAuthority::Authorized),
        Just(TerminalAuthority::Blocked),
    ]
}

fn product() -> TerminalProduct {
    TerminalProduct {
        authority_ref: "authority:1".to_owned(),
        artifact_kind: "digest".to_owned(),
        text: said("product"),
        supporting_evidence_refs: Vec::new(),
    }
}

prop_compose! {
    fn finished()(
        ok in any::<bool>(),
        status_code in prop_oneof![4 => Just(200_u16), 1 => Just(424), 1 => Just(500)],
        evidence_refs in words("e:"),
        receipt_refs in words("r:"),
        unresolved in texts("need "),
        resolved in texts("need "),
        proved in prop_oneof![Just(Vec::new()), Just(vec![FAMILY.to_owned()])],
        contradictions in texts("clash "),
        resolved_contradictions in texts("clash "),
        pending_questions in questions(),
        authority in authority(),
        number in any::<f64>(),
    ) -> TurnResult {
        // The marks themselves, as a hostile result might hold them.
        let marks = json!({ "$open": said("open"), "$sealed": "x" });
        let stored = json!({ "text": marks, "n": number, "nul": "a\u{0}b" });
        TurnResult {
            ok,
            status_code,
            summary: said("summary"),
            observation_refs: Vec::new(),
            evidence_refs,
            receipt_refs,
            claims_supported: vec![said("claim")],
            claims_contradicted: vec![said("no claim")],
            unresolved_requirements: unresolved,
            resolved_requirements: resolved,
            satisfied_evidence_requirements: proved,
            contradictions,
            resolved_contradictions,
            pending_questions,
            terminal_authority_status: authority,
            terminal_product: Some(product()),
            output_fields: Map::from_iter([("text".to_owned(), json!(said("field")))]),
            failure_code: (!ok).then(|| "solver_failed".to_owned()),
            needs_input: false,
            sanitized_result: Map::from_iter([("latest".to_owned(), stored)]),
        }
    }
}

fn result() -> impl Strategy<Value = TurnResult> {
    prop_oneof![
        6 => finished(),
        1 => Just(TurnFailure::Timeout.into_result()),
        1 => Just(TurnFailure::ProtectedContent.into_result()),
    ]
}

fn holder() -> impl Strategy<Value = ClaimHolder> {
    prop_oneof![4 => Just(ClaimHolder::Live), 1 => Just(ClaimHolder::Revoked)]
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let ahead = || prop_oneof![8 => Just(0_u64), 1 => Just(1)];
    prop_oneof![
        1 => Just(Attempt::Start),
        6 => (ahead(), any::<u128>(), 0_usize..3, holder()).prop_map(
            |(ahead, operation, answered, holder)| {
                Attempt::Claim { ahead, operation, answered, holder }
            }
        ),
        6 => (prop::bool::weighted(0.1), result()).prop_map(|(wrong, result)| {
            Attempt::Finish { wrong, result: Box::new(result) }
        }),
        1 => ahead().prop_map(|ahead| Attempt::Cancel { ahead }),
        2 => Just(Attempt::Recover),
        1 => Just(Attempt::Lapse),
    ]
}

fn brief(max_steps: u32, families: &[&str]) -> RunBrief {
    RunBrief {
        owner: OwnerTuple {
            tenant: said("tenant"),
            issuer: said("issuer"),
            subject: said("subject"),
            profile: "acct_1".to_owned(),
        },
        objective: Text::parse(&said("objective")).unwrap(),
        constraints: vec![said("constraint")],
        database_scope: vec!["research_library".to_owned()],
        completion_contract: CompletionContract::default(),
        budget: Budget {
            max_steps,
            expires_in_seconds: 600,
        },
        policy: policy(&["research-library.read_document"], families),
    }
}

/// What the attempt means against this run.
fn command(run: &Run, attempt: &Attempt, start: &RunBrief) -> RunCommand {
    match attempt {
        Attempt::Start => RunCommand::Start(Box::new(start.clone())),
        Attempt::Claim {
            ahead,
            operation,
            answered,
            holder,
        } => {
            let open = run.body().and_then(|body| body.questions.open()).cloned();
            let answers = open.unwrap_or_default().into_iter().take(*answered);
            RunCommand::Claim(Box::new(ClaimTurn {
                expected: run.version() + ahead,
                operation: OperationId::new(Uuid::from_u128(*operation)),
                credential: None,
                instruction: Some(said("instruction")),
                answers: answers
                    .map(|asked| Answer {
                        question_id: asked.question_id,
                        value: json!({ CANARY: [said("answer"), 2.0] }),
                    })
                    .collect(),
                policy: start.policy.clone(),
                abandon_after: Duration::from_secs(61),
                holder: *holder,
            }))
        }
        Attempt::Finish { wrong, result } => {
            let claim = run.claim();
            RunCommand::Finish(Box::new(FinishTurn {
                operation: claim.map_or(OperationId::new(Uuid::nil()), |claim| claim.operation),
                claimed_version: run.version() + u64::from(*wrong),
                result: (**result).clone(),
            }))
        }
        Attempt::Cancel { ahead } => RunCommand::Cancel {
            expected: run.version() + ahead,
            reason: Some(Text::parse(&said("reason")).unwrap()),
        },
        Attempt::Recover => RunCommand::Recover {
            abandon_after_sweep: Duration::from_secs(91),
        },
        Attempt::Lapse => RunCommand::Lapse,
    }
}

/// The stored bytes, read again.
fn reread(event: &RunEvent) -> RunEvent {
    serde_json::from_slice(&canonical::of(event).unwrap()).unwrap()
}

fn is_closing(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::RunWaiting(_)
            | RunEvent::RunCompleted(_)
            | RunEvent::RunBlocked(_)
            | RunEvent::RunFailed(_)
            | RunEvent::BudgetExhausted(_)
            | RunEvent::RunCancelled(_)
    )
}

fn public_version(event: &RunEvent) -> u64 {
    let stored = serde_json::to_value(event).unwrap();
    stored[event.name()]["public"]["version"].as_u64().unwrap()
}

/// The clear part of a stored event.
fn without_open(value: &Value) -> Value {
    match value {
        Value::Object(members) if members.contains_key("$open") => Value::Null,
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| (key.clone(), without_open(member)))
            .collect(),
        Value::Array(items) => items.iter().map(without_open).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// One accepted command against the invariants of a step.
fn check_step(before: &Run, after: &Run, command: &RunCommand, events: &[RunEvent]) {
    assert!(!events.is_empty());
    assert_eq!(after.version(), before.version() + 1);
    assert!(
        events
            .iter()
            .all(|event| public_version(event) == after.version())
    );
    let closings = events.iter().filter(|event| is_closing(event)).count();
    if matches!(command, RunCommand::Finish(_)) {
        assert_eq!(closings, 1);
    }
    if closings > 0 {
        assert_eq!(closings, 1);
        assert!(is_closing(events.last().unwrap()));
    }
    let body = after.body().unwrap();
    assert!(body.steps_used <= body.max_steps);
    if let Some(earlier) = before.body() {
        assert!(body.updated_at >= earlier.updated_at);
        assert!(body.steps_used >= earlier.steps_used);
    }
    let bundle = &body.evidence;
    let missing = body.unresolved_requirements.open().unwrap();
    if missing
        .iter()
        .any(|need| need.starts_with("required_evidence:"))
    {
        assert_eq!(bundle.provider_terminal_candidate_ref, None);
        assert_ne!(after.completion().unwrap().as_str(), "completed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_commands_keeps_the_invariants(
        max_steps in 1_u32..5,
        bound in any::<bool>(),
        attempts in vec((attempt(), 0_i64..70), 1..40),
    ) {
        let start = brief(max_steps, if bound { &[FAMILY] } else { &[] });
        let (mut run, mut log, mut now) = (Run::default(), Vec::new(), START);
        let first = std::iter::once((Attempt::Start, 0));
        for (attempt, pause) in first.chain(attempts) {
            now += pause * 1000;
            let command = command(&run, &attempt, &start);
            let stamp = Stamp { at: Timestamp::from_millis(now) };
            let ended = matches!(run, Run::Ended { .. });
            let Ok(events) = run.decide(&command, stamp) else { continue };
            prop_assert!(!ended, "an ended run accepted {command:?}");
            let before = run.clone();
            for event in &events {
                run.evolve(event);
            }
            check_step(&before, &run, &command, &events);
            log.extend(events);
        }

        let mut replayed = Run::default();
        for event in &log {
            replayed.evolve(&reread(event));
        }
        prop_assert_eq!(&replayed, &run);

        let stored: Vec<Value> =
            log.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
        prop_assert!(stored[0].to_string().contains(CANARY));
        for event in &stored {
            prop_assert!(!without_open(event).to_string().contains(CANARY));
        }
        let shown = format!("{run:?}{log:?}");
        prop_assert!(!shown.contains(CANARY));
    }

    #[test]
    fn ids_read_back_as_themselves(id in any::<u128>(), seq in any::<u64>()) {
        let run = RunId::new(Uuid::from_u128(id));
        prop_assert_eq!(RunId::parse(&run.to_string()), Ok(run));
        let event = EventId::of(run.uuid(), seq);
        prop_assert_eq!(EventId::parse(&event.to_string()), Ok(event));
        prop_assert_ne!(EventId::of(run.uuid(), seq.wrapping_add(1)), event);
    }
}

#[test]
fn the_adapter_folds_each_event_once() {
    let start = brief(2, &[]);
    let stamp = Stamp {
        at: Timestamp::from_millis(START),
    };
    let started = Run::default().decide(&RunCommand::Start(Box::new(start.clone())), stamp);
    let claim = Attempt::Claim {
        ahead: 1,
        operation: 7,
        answered: 0,
        holder: ClaimHolder::Live,
    };
    let claiming = command(&Run::default(), &claim, &start);
    let mut run = Run::default();
    run.evolve(&started.as_ref().unwrap()[0]);
    let claimed = run.decide(&claiming, stamp).unwrap();
    TestFramework::<Sourced<Run>>::with(())
        .given(started.unwrap().into_iter().map(Recorded).collect())
        .when(Stamped {
            command: claiming,
            stamp,
        })
        .then_expect_events(claimed.into_iter().map(Recorded).collect());
}
