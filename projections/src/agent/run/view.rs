//! The run object and its evidence bundle (`agent-api` 2.6, 4.1).
//!
//! Pure: a view is a function of the folded run, so an answer given from the state just appended
//! equals one rebuilt from the log. Erased texts show as [`ERASED`], erased lists as empty.

use helix_aggregates::agent::run::command::CompletionContract;
use helix_aggregates::agent::run::status::{Completion, Lifecycle};
use helix_aggregates::agent::run::turn::{Question, TerminalAuthority};
use helix_aggregates::agent::run::{Body, Run};
use helix_aggregates::canonical;
use helix_aggregates::ids::{Ownership, RunId};
use helix_aggregates::sealed::Sealed;
use helix_aggregates::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::agent::{ERASED, Flags};

/// `helix.agent_run.v1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunView {
    pub schema: &'static str,
    pub api_version: &'static str,
    pub run_id: RunId,
    pub ownership: Ownership,
    pub objective: String,
    pub objective_hash: String,
    pub runtime_provider: &'static str,
    pub lifecycle_status: Lifecycle,
    pub completion_status: Completion,
    pub terminal_authority_status: TerminalAuthority,
    pub version: u64,
    pub completion_contract: CompletionContract,
    pub constraints: Vec<String>,
    pub database_scope: Vec<String>,
    pub budget: BudgetView,
    pub summary: Option<String>,
    pub unresolved_requirements: Vec<String>,
    pub contradictions: Vec<String>,
    pub pending_questions: Vec<Question>,
    pub evidence: EvidenceBundle,
    pub latest_result: Option<Map<String, Value>>,
    pub recommended_next_action: NextAction,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub cancelled_at: Option<Timestamp>,
    #[serde(flatten)]
    pub flags: Flags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BudgetView {
    pub max_steps: u32,
    pub steps_used: u32,
    pub expires_at: Timestamp,
}

/// `helix.agent_run.evidence_bundle.v1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceBundle {
    pub schema: &'static str,
    pub run_id: RunId,
    pub observation_refs: Vec<String>,
    pub evidence_refs: Vec<String>,
    pub receipt_refs: Vec<String>,
    pub provider_terminal_candidate_ref: Option<String>,
    pub claims_supported: Vec<String>,
    pub claims_contradicted: Vec<String>,
    pub unresolved_requirements: Vec<String>,
    pub terminal_authority_status: TerminalAuthority,
    #[serde(flatten)]
    pub flags: Flags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NextAction {
    pub operation: NextOperation,
    pub reason: &'static str,
}

/// `FetchEvidence` and `Cancel` belong to the contract; no rule of it recommends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NextOperation {
    Continue,
    Inspect,
    FetchEvidence,
    Cancel,
    None,
}

impl RunView {
    /// The view of a started run; `None` before its start.
    pub fn of(run: &Run, run_id: RunId) -> Option<Self> {
        let body = run.body()?;
        let (lifecycle, completion) = (run.lifecycle()?, run.completion()?);
        Some(Self {
            schema: "helix.agent_run.v1",
            api_version: "v1",
            run_id,
            ownership: ownership(body),
            objective: text(&body.objective),
            objective_hash: body
                .objective
                .open()
                .map_or_else(|| ERASED.to_owned(), |text| objective_hash(text)),
            runtime_provider: "helix-ask",
            lifecycle_status: lifecycle,
            completion_status: completion,
            terminal_authority_status: body.terminal_authority,
            version: body.version,
            completion_contract: body.completion_contract.clone(),
            constraints: list(&body.constraints),
            database_scope: body.database_scope.clone(),
            budget: BudgetView {
                max_steps: body.max_steps,
                steps_used: body.steps_used,
                expires_at: body.expires_at,
            },
            summary: Some(text(&body.summary)),
            unresolved_requirements: list(&body.unresolved_requirements),
            contradictions: list(&body.contradictions),
            pending_questions: list(&body.questions),
            evidence: EvidenceBundle::of(body, run_id),
            latest_result: body.latest_result.as_ref().and_then(Sealed::open).cloned(),
            recommended_next_action: next_action(lifecycle, completion),
            created_at: body.created_at,
            updated_at: body.updated_at,
            completed_at: run.completed_at(),
            cancelled_at: run.cancelled_at(),
            flags: Flags::default(),
        })
    }
}

impl EvidenceBundle {
    /// The bundle of a started run.
    pub fn of(body: &Body, run_id: RunId) -> Self {
        let bundle = &body.evidence;
        Self {
            schema: "helix.agent_run.evidence_bundle.v1",
            run_id,
            observation_refs: bundle.observation_refs.clone(),
            evidence_refs: bundle.evidence_refs.clone(),
            receipt_refs: bundle.receipt_refs.clone(),
            provider_terminal_candidate_ref: bundle.provider_terminal_candidate_ref.clone(),
            claims_supported: list(&bundle.claims_supported),
            claims_contradicted: list(&bundle.claims_contradicted),
            unresolved_requirements: list(&body.unresolved_requirements),
            terminal_authority_status: bundle.terminal_authority,
            flags: Flags::default(),
        }
    }
}

pub(super) fn text(sealed: &Sealed<String>) -> String {
    sealed.open().map_or(ERASED, String::as_str).to_owned()
}

pub(super) fn list<T: Clone>(sealed: &Sealed<Vec<T>>) -> Vec<T> {
    sealed.open().cloned().unwrap_or_default()
}

fn ownership(body: &Body) -> Ownership {
    body.owner.open().map_or_else(
        || Ownership {
            tenant_ref: ERASED.to_owned(),
            principal_ref: ERASED.to_owned(),
            account_profile_ref: ERASED.to_owned(),
        },
        helix_aggregates::ids::OwnerTuple::ownership,
    )
}

/// Over the JSON string literal, quotes included. Never stored: it is a guessable hash.
fn objective_hash(objective: &str) -> String {
    let literal = canonical::to_vec(&Value::from(objective));
    format!("sha256:{}", hex::encode(Sha256::digest(literal)))
}

fn next_action(lifecycle: Lifecycle, completion: Completion) -> NextAction {
    let (operation, reason) = match (lifecycle, completion) {
        (Lifecycle::Completed, _) => (NextOperation::None, "run_completed"),
        (Lifecycle::Failed, _) => (NextOperation::None, "run_failed"),
        (Lifecycle::Cancelled, _) => (NextOperation::None, "run_cancelled"),
        (_, Completion::NeedsInput) => (NextOperation::Continue, "answer_pending_questions"),
        (_, Completion::NeedsMoreEvidence) => (NextOperation::Continue, "needs_more_evidence"),
        (_, Completion::ConflictDetected) => (NextOperation::Continue, "conflict_detected"),
        (_, Completion::Blocked) => (NextOperation::Continue, "blocked"),
        (
            _,
            Completion::Pending
            | Completion::Completed
            | Completion::Failed
            | Completion::BudgetExhausted
            | Completion::Cancelled,
        ) => (NextOperation::Inspect, "turn_in_progress"),
    };
    NextAction { operation, reason }
}
