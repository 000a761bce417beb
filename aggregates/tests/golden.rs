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

use helix_aggregates::access::account::Account;
use helix_aggregates::access::account::command::Address;
use helix_aggregates::access::account::event::{AccountCreated, AccountEvent, PassphraseSet};
use helix_aggregates::access::agent_account::event::AgentAccountEvent;
use helix_aggregates::access::audit::event::AuditEvent;
use helix_aggregates::access::brief::Brief;
use helix_aggregates::access::brief::event::{BriefEvent, BriefReverted, ProposalDecided};
use helix_aggregates::access::grant::command::Door;
use helix_aggregates::access::grant::event::GrantEvent;
use helix_aggregates::access::reach::Reach;
use helix_aggregates::access::review::Review;
use helix_aggregates::access::review::event::{ClaimEnd, ClaimEnded, GateDecided, ReviewEvent};
use helix_aggregates::access::token::event::TokenEvent;
use helix_aggregates::access::webhook::event::WebhookEvent;
use helix_aggregates::access::webhook::kind::{TURNING_POINTS, ends_step};
use helix_aggregates::access::worker_token::event::WorkerTokenEvent;
use helix_aggregates::access::workspace::Workspace;
use helix_aggregates::access::workspace::event::WorkspaceEvent;
use helix_aggregates::agent::evidence::event::EvidenceEvent;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::event::{BudgetExhausted, RunEvent, RunFailed};
use helix_aggregates::decider::{Decider, WireEvent};
use serde_json::Value;

/// The golden file of each shape of an event type, from one list.
macro_rules! shapes {
    ($files:ident, $file_of:ident, $event:ty; $($shape:pat $(if $case:expr)? => $file:literal),+ $(,)?) => {
        const $files: &[&str] = &[$($file),+];

        fn $file_of(event: &$event) -> &'static str {
            match event {
                $($shape $(if $case)? => $file),+
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
    AccountEvent::Created(AccountCreated { address: Address::Verified, .. }) => "account_created.1",
    AccountEvent::Created(AccountCreated { address: Address::Unverified, .. }) =>
        "account_created.1.unverified",
    AccountEvent::Verified(_) => "account_verified.1",
    AccountEvent::PassphraseSet(PassphraseSet { kept: None, .. }) => "account_passphrase_set.1",
    AccountEvent::PassphraseSet(PassphraseSet { kept: Some(_), .. }) =>
        "account_passphrase_set.1.kept",
    AccountEvent::SessionStarted(_) => "session_started.1",
    AccountEvent::SessionEnded(_) => "session_ended.1",
    AccountEvent::EmailChanged(_) => "account_email_changed.1",
    AccountEvent::Renamed(_) => "account_renamed.1",
    AccountEvent::RecoverySheetIssued(_) => "recovery_sheet_issued.1",
    AccountEvent::RecoveryCodeUsed(_) => "recovery_code_used.1",
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

shapes!(BRIEF, brief_file, BriefEvent;
    BriefEvent::Created(_) => "brief_created.1",
    BriefEvent::ProposalMade(_) => "brief_proposal_made.1",
    BriefEvent::ProposalWithdrawn(_) => "brief_proposal_withdrawn.1",
    BriefEvent::ProposalApproved(ProposalDecided { reason: None, .. }) =>
        "brief_proposal_approved.1",
    BriefEvent::ProposalApproved(ProposalDecided { reason: Some(_), .. }) =>
        "brief_proposal_approved.1.reason",
    BriefEvent::ProposalRejected(ProposalDecided { reason: None, .. }) =>
        "brief_proposal_rejected.1",
    BriefEvent::ProposalRejected(ProposalDecided { reason: Some(_), .. }) =>
        "brief_proposal_rejected.1.reason",
    BriefEvent::ProposalRebased(_) => "brief_proposal_rebased.1",
    BriefEvent::ProposalCommitted(_) => "brief_proposal_committed.1",
    BriefEvent::Reverted(BriefReverted { reason: None, .. }) => "brief_reverted.1",
    BriefEvent::Reverted(BriefReverted { reason: Some(_), .. }) => "brief_reverted.1.reason",
);

shapes!(REVIEW, review_file, ReviewEvent;
    ReviewEvent::Opened(_) => "review_opened.1",
    ReviewEvent::StepClaimed(_) => "review_step_claimed.1",
    ReviewEvent::LeaseExtended(_) => "review_lease_extended.1",
    ReviewEvent::FindingsSubmitted(_) => "review_findings_submitted.1",
    ReviewEvent::StepFinished(_) => "review_step_finished.1",
    ReviewEvent::ClaimEnded(ClaimEnded { reason: ClaimEnd::Released, .. }) =>
        "review_claim_ended.1.released",
    ReviewEvent::ClaimEnded(ClaimEnded { reason: ClaimEnd::Expired, .. }) =>
        "review_claim_ended.1.expired",
    ReviewEvent::ClaimEnded(ClaimEnded { reason: ClaimEnd::Revoked, .. }) =>
        "review_claim_ended.1.revoked",
    ReviewEvent::GateDecided(decided) if is_plain(decided) => "review_gate_decided.1",
    ReviewEvent::GateDecided(_) => "review_gate_decided.1.reason",
    // Those of every run have their own files.
    ReviewEvent::Run(_) => "run_started.1",
);

fn is_plain(decided: &GateDecided) -> bool {
    decided.reason.is_none()
}

shapes!(GRANT, grant_file, GrantEvent;
    GrantEvent::Given(given) if given.boundary.door() == Door::Agent => "grant_given.1.agent",
    GrantEvent::Given(given) if given.boundary.door() == Door::Vault => "grant_given.1.vault",
    GrantEvent::Given(_) => "grant_given.1.workspace",
    GrantEvent::Paused(_) => "grant_paused.1",
    GrantEvent::Resumed(_) => "grant_resumed.1",
    GrantEvent::Ended(_) => "grant_ended.1",
);

shapes!(TOKEN, token_file, TokenEvent;
    TokenEvent::Minted(minted) if minted.reach == Reach::All => "token_minted.1.all",
    TokenEvent::Minted(_) => "token_minted.1.listed",
    TokenEvent::Retired(_) => "token_retired.1",
    TokenEvent::Paused(_) => "token_paused.1",
    TokenEvent::Resumed(_) => "token_resumed.1",
    TokenEvent::Exposed(_) => "token_exposed.1",
    TokenEvent::Revoked(_) => "token_revoked.1",
);

shapes!(AUDIT, audit_file, AuditEvent;
    AuditEvent::Recorded(recorded) if recorded.by.is_none() => "operation_recorded.1.operator",
    AuditEvent::Recorded(_) => "operation_recorded.1",
);

shapes!(WORKER_TOKEN, worker_token_file, WorkerTokenEvent;
    WorkerTokenEvent::Issued(_) => "worker_token_issued.1",
    WorkerTokenEvent::Revoked(_) => "worker_token_revoked.1",
);

shapes!(WORKSPACE, workspace_file, WorkspaceEvent;
    WorkspaceEvent::Opened(_) => "workspace_opened.1",
    WorkspaceEvent::MemberAdded(_) => "workspace_member_added.1",
    WorkspaceEvent::MemberInvited(_) => "workspace_member_invited.1",
    WorkspaceEvent::InviteAccepted(_) => "workspace_invite_accepted.1",
    WorkspaceEvent::InviteWithdrawn(_) => "workspace_invite_withdrawn.1",
    WorkspaceEvent::RoleChanged(_) => "workspace_role_changed.1",
    WorkspaceEvent::MemberLeft(_) => "workspace_member_left.1",
    WorkspaceEvent::MemberRemoved(_) => "workspace_member_removed.1",
    WorkspaceEvent::ProjectCreated(_) => "project_created.1",
    WorkspaceEvent::ProjectRenamed(_) => "project_renamed.1",
    WorkspaceEvent::ProjectDescribed(_) => "project_described.1",
    WorkspaceEvent::CodebaseLinked(_) => "project_codebase_linked.1",
    WorkspaceEvent::ProjectArchived(_) => "project_archived.1",
    WorkspaceEvent::RepositoryConnected(_) => "repository_connected.1",
    WorkspaceEvent::RepositoryDisconnected(_) => "repository_disconnected.1",
    WorkspaceEvent::Deleted(_) => "workspace_deleted.1",
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
fn every_brief_event_reads_back() {
    reads_back(BRIEF, brief_file);
}

#[test]
fn every_review_event_reads_back() {
    reads_back(REVIEW, review_file);
}

#[test]
fn a_run_reads_alike_within_a_review() {
    for file in RUN {
        let stored = golden(file);
        let event: ReviewEvent = serde_json::from_value(stored.clone()).unwrap();
        assert!(matches!(event, ReviewEvent::Run(_)), "{file}");
        assert_eq!(serde_json::to_value(&event).unwrap(), stored, "{file}");
    }
}

#[test]
fn every_grant_event_reads_back() {
    reads_back(GRANT, grant_file);
}

#[test]
fn every_token_event_reads_back() {
    reads_back(TOKEN, token_file);
}

#[test]
fn every_audit_event_reads_back() {
    reads_back(AUDIT, audit_file);
}

#[test]
fn every_worker_token_event_reads_back() {
    reads_back(WORKER_TOKEN, worker_token_file);
}

#[test]
fn every_workspace_event_reads_back() {
    reads_back(WORKSPACE, workspace_file);
}

#[test]
fn no_golden_file_is_without_its_event() {
    let known: BTreeSet<String> = [
        RUN,
        EVIDENCE,
        ACCOUNT,
        BINDING,
        BRIEF,
        REVIEW,
        GRANT,
        TOKEN,
        WEBHOOK,
        AUDIT,
        WORKER_TOKEN,
        WORKSPACE,
    ]
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

#[test]
fn an_account_from_before_sessions_folds_and_goes_on() {
    let mut account = Account::default();
    let mut fold = |file: &str| {
        account.evolve(&serde_json::from_value::<AccountEvent>(golden(file)).unwrap());
        account.clone()
    };
    fold("account_created.1");
    fold("account_provider_linked.1");
    let old = fold("account_provider_unlinked.1");
    let profile = old.profile().unwrap();
    assert_eq!(profile.address, Address::Verified);
    assert_eq!((profile.passphrase_set_at, profile.last_link), (None, 1));
    fold("session_started.1");
    fold("account_passphrase_set.1");
    fold("account_renamed.1");
    fold("recovery_sheet_issued.1");
    let present = fold("recovery_code_used.1");
    let profile = present.profile().unwrap();
    assert!(profile.sessions.is_empty());
    assert_eq!(profile.name.open().unwrap(), "Bodil");
    assert!(profile.recovery.as_ref().unwrap().used.contains(&3));
    assert!(fold("account_deleted.1").profile().is_none());
}

#[test]
fn an_old_workspace_folds_to_the_state_it_meant() {
    let mut workspace = Workspace::default();
    let mut fold = |file: &str| {
        workspace.evolve(&serde_json::from_value::<WorkspaceEvent>(golden(file)).unwrap());
        workspace.clone()
    };
    fold("workspace_opened.1");
    fold("workspace_member_added.1");
    fold("workspace_member_invited.1");
    fold("workspace_invite_accepted.1");
    fold("workspace_invite_withdrawn.1");
    fold("workspace_role_changed.1");
    fold("workspace_member_left.1");
    fold("workspace_member_removed.1");
    fold("project_created.1");
    fold("project_renamed.1");
    fold("project_described.1");
    fold("repository_connected.1");
    let linked = fold("project_codebase_linked.1");
    let body = linked.body().unwrap();
    assert_eq!((body.members.len(), body.owners().count()), (1, 1));
    assert!(body.invites.is_empty());
    assert!(
        body.projects
            .values()
            .all(|project| project.codebase.is_some())
    );
    fold("repository_disconnected.1");
    let archived = fold("project_archived.1");
    let project = archived.body().unwrap().projects.values().next().unwrap();
    assert_eq!((project.version, project.codebase), (6, None));
    assert_eq!(project.name.open().unwrap(), "Ebb");
    assert_eq!(project.state.as_str(), "archived");
    assert!(fold("workspace_deleted.1").body().is_none());
}

#[test]
fn an_old_brief_folds_to_the_state_it_meant() {
    let mut brief = Brief::default();
    let mut fold = |file: &str| {
        brief.evolve(&serde_json::from_value::<BriefEvent>(golden(file)).unwrap());
        brief.clone()
    };
    fold("brief_created.1");
    fold("brief_proposal_made.1");
    fold("brief_proposal_approved.1.reason");
    fold("brief_proposal_rebased.1");
    fold("brief_proposal_committed.1");
    let reverted = fold("brief_reverted.1");
    let body = reverted.body().unwrap();
    assert_eq!((body.version(), body.seq), (2, 6));
    let places: Vec<u64> = body
        .versions
        .iter()
        .map(|version| version.text_at)
        .collect();
    assert_eq!(places, [4, 4]);
    let proposal = body.proposals.values().next().unwrap();
    assert_eq!(
        (proposal.version, proposal.state.as_str()),
        (4, "committed")
    );
}

#[test]
fn a_review_folds_to_the_state_it_meant() {
    let mut review = Review::default();
    let mut fold = |file: &str| {
        review.evolve(&serde_json::from_value::<ReviewEvent>(golden(file)).unwrap());
        review.clone()
    };
    fold("review_opened.1");
    fold("run_started.1");
    fold("continuation_received.1");
    let claimed = fold("review_step_claimed.1");
    assert_eq!(claimed.body().unwrap().state().as_str(), "claimed");
    let extended = fold("review_lease_extended.1");
    let lease = extended.body().unwrap().claim.unwrap().lease_expires_at;
    assert_eq!(lease.to_string(), "2026-12-01T12:15:00.000Z");
    fold("review_findings_submitted.1");
    let finished = fold("review_step_finished.1");
    let body = finished.body().unwrap();
    assert_eq!(body.state().as_str(), "awaiting_gate");
    assert_eq!(body.findings[0].text_at, 6);
    let decided = fold("review_gate_decided.1.reason");
    assert_eq!(decided.body().unwrap().gate(), 2);
}
