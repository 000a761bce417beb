//! Every stored shape, read as it was once written.
//!
//! A file is written when its event version is first released and never edited. A new event breaks
//! the build here until it has a line, and the test until it has a file.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeSet;
use std::path::Path;

use helix_aggregates::access::account::event::AccountEvent;
use helix_aggregates::access::agent_account::event::AgentAccountEvent;
use helix_aggregates::access::webhook::event::WebhookEvent;
use helix_aggregates::access::webhook::kind::{TURNING_POINTS, ends_step};
use helix_aggregates::access::worker_token::event::WorkerTokenEvent;
use helix_aggregates::agent::evidence::event::EvidenceEvent;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::event::{BudgetExhausted, RunEvent, RunFailed};
use helix_aggregates::decider::{Decider, WireEvent};
use serde_json::Value;

/// The golden file of each shape of an event type, from one list.
macro_rules! shapes {
    ($files:ident, $file_of:ident, $event:ty; $($shape:pat => $file:literal),+ $(,)?) => {
        const $files: &[&str] = &[$($file),+];

        fn $file_of(event: &$event) -> &'static str {
            match event {
                $($shape => $file),+
            }
        }
    };
}

shapes!(RUN, run_file, RunEvent;
    RunEvent::RunStarted(_) => "run_started.1",
    RunEvent::RuntimeRecovered(_) => "runtime_recovered.1",
    RunEvent::ContinuationReceived(_) => "continuation_received.1",
    RunEvent::EvidenceReentered(_) => "evidence_reentered.1",
    RunEvent::IssuesResolved(_) => "issues_resolved.1",
    RunEvent::InputRequested(_) => "input_requested.1",
    RunEvent::TerminalAuthorityEvaluated(_) => "terminal_authority_evaluated.1",
    RunEvent::RunWaiting(_) => "run_waiting.1",
    RunEvent::RunCompleted(_) => "run_completed.1",
    RunEvent::RunBlocked(_) => "run_blocked.1",
    RunEvent::RunFailed(RunFailed::AfterTurn(_)) => "run_failed.1.after_turn",
    RunEvent::RunFailed(RunFailed::Expired(_)) => "run_failed.1.expired",
    RunEvent::BudgetExhausted(BudgetExhausted::AfterTurn(_)) => "budget_exhausted.1.after_turn",
    RunEvent::BudgetExhausted(BudgetExhausted::BeforeTurn(_)) => "budget_exhausted.1.before_turn",
    RunEvent::RunCancelled(_) => "run_cancelled.1",
);

shapes!(EVIDENCE, evidence_file, EvidenceEvent;
    EvidenceEvent::ToolReceiptRecorded(_) => "tool_receipt_recorded.1",
    EvidenceEvent::EvidenceAdmitted(_) => "evidence_admitted.1",
);

shapes!(ACCOUNT, account_file, AccountEvent;
    AccountEvent::Created(_) => "account_created.1",
    AccountEvent::ProviderLinked(_) => "account_provider_linked.1",
    AccountEvent::ProviderUnlinked(_) => "account_provider_unlinked.1",
    AccountEvent::Deleted(_) => "account_deleted.1",
);

shapes!(BINDING, binding_file, AgentAccountEvent;
    AgentAccountEvent::Linked(_) => "agent_account_linked.1",
    AgentAccountEvent::Revoked(_) => "agent_account_revoked.1",
);

shapes!(WEBHOOK, webhook_file, WebhookEvent;
    WebhookEvent::Created(_) => "webhook_created.1",
    WebhookEvent::SecretRotated(_) => "webhook_secret_rotated.1",
    WebhookEvent::Disabled(_) => "webhook_disabled.1",
    WebhookEvent::Enabled(_) => "webhook_enabled.1",
    WebhookEvent::Deleted(_) => "webhook_deleted.1",
);

shapes!(WORKER_TOKEN, worker_token_file, WorkerTokenEvent;
    WorkerTokenEvent::Issued(_) => "worker_token_issued.1",
    WorkerTokenEvent::Revoked(_) => "worker_token_revoked.1",
);

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn golden(file: &str) -> Value {
    let path = folder().join(format!("{file}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no golden file {file}"));
    serde_json::from_str(&text).unwrap()
}

/// Reads every file of one event type and writes it back: nothing may be lost, added or renamed.
fn reads_back<E: WireEvent>(files: &[&str], file_of: fn(&E) -> &'static str) {
    for file in files {
        let stored = golden(file);
        let event: E = serde_json::from_value(stored.clone())
            .unwrap_or_else(|error| panic!("{file} no longer decodes: {error}"));
        assert_eq!(file_of(&event), *file);
        assert!(
            file.starts_with(&format!("{}.{}", event.name(), event.version())),
            "{file}"
        );
        assert!(
            stored.get(event.name()).is_some(),
            "{file} is not tagged by its name"
        );
        assert_eq!(serde_json::to_value(&event).unwrap(), stored, "{file}");
    }
}

#[test]
fn every_run_event_reads_back() {
    reads_back(RUN, run_file);
}

#[test]
fn every_evidence_event_reads_back() {
    reads_back(EVIDENCE, evidence_file);
}

#[test]
fn every_account_event_reads_back() {
    reads_back(ACCOUNT, account_file);
}

#[test]
fn every_binding_event_reads_back() {
    reads_back(BINDING, binding_file);
}

#[test]
fn every_webhook_event_reads_back() {
    reads_back(WEBHOOK, webhook_file);
}

#[test]
fn every_worker_token_event_reads_back() {
    reads_back(WORKER_TOKEN, worker_token_file);
}

#[test]
fn no_golden_file_is_without_its_event() {
    let known: BTreeSet<String> = [RUN, EVIDENCE, ACCOUNT, BINDING, WEBHOOK, WORKER_TOKEN]
        .concat()
        .into_iter()
        .map(|file| format!("{file}.json"))
        .collect();
    let present: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(present, known);
}

#[test]
fn the_turning_points_are_the_events_that_can_end_a_step() {
    for file in RUN {
        let event: RunEvent = serde_json::from_value(golden(file)).unwrap();
        let listed = TURNING_POINTS.contains(&event.name());
        assert!(listed || !ends_step(&event), "{file}");
        // A recovery ends a step only when the sweeper made it.
        let recovery = event.name() == "runtime_recovered";
        assert!(!listed || recovery || ends_step(&event), "{file}");
    }
}

#[test]
fn an_old_log_folds_to_the_state_it_meant() {
    let mut run = Run::default();
    let mut fold = |file: &str| {
        run.evolve(&serde_json::from_value::<RunEvent>(golden(file)).unwrap());
        run.clone()
    };
    fold("run_started.1");
    let running = fold("continuation_received.1");
    assert_eq!(running.lifecycle().unwrap().as_str(), "running");
    fold("evidence_reentered.1");
    fold("issues_resolved.1");
    fold("input_requested.1");
    fold("terminal_authority_evaluated.1");
    let waiting = fold("run_waiting.1");
    let body = waiting.body().unwrap();
    assert_eq!(waiting.completion().unwrap().as_str(), "needs_input");
    assert_eq!((body.version, body.steps_used), (3, 1));
    assert_eq!(body.evidence.evidence_refs, ["evidence:1"]);
    assert_eq!(body.questions.open().unwrap()[0].question_id, "q-port");
    assert_eq!(body.summary.open().unwrap(), "Two piers are called Vik");
    let cancelled = fold("run_cancelled.1");
    assert_eq!(cancelled.lifecycle().unwrap().as_str(), "cancelled");
    assert_eq!(
        cancelled.cancelled_at().unwrap().to_string(),
        "2026-11-30T12:01:00.000Z"
    );
}
