//! The events of a run, in the permanent shape they are stored in.
//!
//! One stored event is one wire event. `public` is exactly the payload of `agent-api` 3.1 and the
//! doors serve it; `state` is what folds need besides. Whatever a person or a solver wrote is
//! [`Sealed`], in both halves; ids, references, counts, statuses and times stay readable without
//! a key. A new shape is a new version with an upcaster and a golden file.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::bounds::BoundNote;
use super::command::{AdmittedPolicy, Answer, CompletionContract};
use super::status::{Completion, Lifecycle};
use super::turn::{Question, TerminalAuthority};
use crate::decider::WireEvent;
use crate::ids::{OperationId, OwnerTuple};
use crate::sealed::Sealed;
use crate::time::Timestamp;

/// A stored payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact<P, S> {
    pub public: P,
    pub state: S,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RunEvent {
    #[serde(rename = "run_started")]
    RunStarted(Box<RunStarted>),
    #[serde(rename = "runtime_recovered")]
    RuntimeRecovered(RuntimeRecovered),
    #[serde(rename = "continuation_received")]
    ContinuationReceived(Box<ContinuationReceived>),
    #[serde(rename = "evidence_reentered")]
    EvidenceReentered(Box<EvidenceReentered>),
    #[serde(rename = "issues_resolved")]
    IssuesResolved(Box<IssuesResolved>),
    #[serde(rename = "input_requested")]
    InputRequested(InputRequested),
    #[serde(rename = "terminal_authority_evaluated")]
    TerminalAuthorityEvaluated(TerminalAuthorityEvaluated),
    #[serde(rename = "run_waiting")]
    RunWaiting(Box<TurnEnded>),
    #[serde(rename = "run_completed")]
    RunCompleted(Box<TurnEnded>),
    #[serde(rename = "run_blocked")]
    RunBlocked(Box<TurnEnded>),
    #[serde(rename = "run_failed")]
    RunFailed(RunFailed),
    #[serde(rename = "budget_exhausted")]
    BudgetExhausted(BudgetExhausted),
    #[serde(rename = "run_cancelled")]
    RunCancelled(RunCancelled),
}

impl WireEvent for RunEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run_started",
            Self::RuntimeRecovered(_) => "runtime_recovered",
            Self::ContinuationReceived(_) => "continuation_received",
            Self::EvidenceReentered(_) => "evidence_reentered",
            Self::IssuesResolved(_) => "issues_resolved",
            Self::InputRequested(_) => "input_requested",
            Self::TerminalAuthorityEvaluated(_) => "terminal_authority_evaluated",
            Self::RunWaiting(_) => "run_waiting",
            Self::RunCompleted(_) => "run_completed",
            Self::RunBlocked(_) => "run_blocked",
            Self::RunFailed(_) => "run_failed",
            Self::BudgetExhausted(_) => "budget_exhausted",
            Self::RunCancelled(_) => "run_cancelled",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

/// Whether nothing follows an event of this name.
pub fn ends_run(name: &str) -> bool {
    matches!(
        name,
        "run_completed" | "run_failed" | "budget_exhausted" | "run_cancelled"
    )
}

/// The state of events that add nothing but their moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub at: Timestamp,
}

pub type RunStarted = Fact<StartedPublic, StartedState>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedPublic {
    pub version: u64,
    pub lifecycle_status: Lifecycle,
    pub completion_status: Completion,
    pub terminal_authority_status: TerminalAuthority,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartedState {
    pub at: Timestamp,
    pub owner: Sealed<OwnerTuple>,
    pub profile: String,
    pub objective: Sealed<String>,
    pub constraints: Sealed<Vec<String>>,
    pub database_scope: Vec<String>,
    pub completion_contract: StoredContract,
    pub max_steps: u32,
    pub expires_at: Timestamp,
    pub policy: AdmittedPolicy,
    /// A fixed sentence of the server.
    pub summary: String,
}

/// A contract as it is stored: the field names are the client's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredContract {
    pub min_evidence_refs: u32,
    pub require_terminal_authority: bool,
    pub required_output_fields: Sealed<Vec<String>>,
    pub max_unresolved_requirements: u32,
    pub allow_conflicts: bool,
}

impl From<&CompletionContract> for StoredContract {
    fn from(contract: &CompletionContract) -> Self {
        Self {
            min_evidence_refs: contract.min_evidence_refs,
            require_terminal_authority: contract.require_terminal_authority,
            required_output_fields: contract.required_output_fields.clone().into(),
            max_unresolved_requirements: contract.max_unresolved_requirements,
            allow_conflicts: contract.allow_conflicts,
        }
    }
}

impl StoredContract {
    /// As clients see it; without the key the field names are gone.
    pub fn opened(&self) -> CompletionContract {
        CompletionContract {
            min_evidence_refs: self.min_evidence_refs,
            require_terminal_authority: self.require_terminal_authority,
            required_output_fields: self
                .required_output_fields
                .open()
                .cloned()
                .unwrap_or_default(),
            max_unresolved_requirements: self.max_unresolved_requirements,
            allow_conflicts: self.allow_conflicts,
        }
    }
}

pub type RuntimeRecovered = Fact<RecoveredPublic, RecoveredState>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredPublic {
    pub version: u64,
    pub lifecycle_status: Lifecycle,
    pub completion_status: Completion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredState {
    pub at: Timestamp,
    /// The operation whose claim was given up.
    pub abandoned_operation: OperationId,
}

pub type ContinuationReceived = Fact<ContinuationPublic, ContinuationState>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuationPublic {
    pub operation_ref: OperationId,
    /// The claimed version.
    pub version: u64,
    /// This turn included.
    pub steps_used: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContinuationState {
    pub at: Timestamp,
    pub credential: Option<Uuid>,
    pub instruction: Sealed<Option<String>>,
    pub answers: Sealed<Vec<Answer>>,
    /// What this turn may use and must prove.
    pub policy: AdmittedPolicy,
}

pub type EvidenceReentered = Fact<ReenteredPublic, Moment>;

/// References of this turn only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReenteredPublic {
    pub version: u64,
    pub observation_refs: Vec<String>,
    pub evidence_refs: Vec<String>,
    pub receipt_refs: Vec<String>,
    /// Always false.
    pub evidence_is_terminal_answer: bool,
}

pub type IssuesResolved = Fact<ResolvedPublic, Moment>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedPublic {
    pub version: u64,
    pub resolved_requirements: Sealed<Vec<String>>,
    pub resolved_contradictions: Sealed<Vec<String>>,
    pub resolution_support_refs: Vec<String>,
}

pub type InputRequested = Fact<InputPublic, Moment>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputPublic {
    pub version: u64,
    /// All that are outstanding, not only the new ones.
    pub questions: Sealed<Vec<Question>>,
}

pub type TerminalAuthorityEvaluated = Fact<AuthorityPublic, AuthorityState>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityPublic {
    pub version: u64,
    pub terminal_authority_status: TerminalAuthority,
    pub terminal_product_projected: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityState {
    pub at: Timestamp,
    /// The bundle's value after this turn.
    pub provider_terminal_candidate_ref: Option<String>,
}

/// The closing event of a finished turn.
pub type TurnEnded = Fact<ClosingPublic, TurnClosed>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosingPublic {
    pub version: u64,
    pub lifecycle_status: Lifecycle,
    pub completion_status: Completion,
    pub failure_code: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnClosed {
    pub at: Timestamp,
    pub operation: OperationId,
    pub summary: Sealed<String>,
    /// The run's list after this turn.
    pub unresolved_requirements: Sealed<Vec<String>>,
    /// The run's list after this turn.
    pub contradictions: Sealed<Vec<String>>,
    /// This turn's only.
    pub claims_supported: Sealed<Vec<String>>,
    /// This turn's only.
    pub claims_contradicted: Sealed<Vec<String>>,
    /// How many the `input_requested` event of this step names; 0 when there is none.
    pub open_questions: u32,
    pub latest_result: Sealed<Map<String, Value>>,
    /// What had to be changed before the result could be stored.
    pub notes: Vec<BoundNote>,
}

/// One name, two wire payloads (`agent-api` 3.1): told apart by their fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunFailed {
    AfterTurn(Box<TurnEnded>),
    /// Found past its expiry, outside a turn.
    Expired(Fact<ExpiredPublic, Lapsed>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpiredPublic {
    pub version: u64,
    /// Always `run_expired`.
    pub failure_code: String,
    pub expires_at: Timestamp,
}

/// One name, two wire payloads, as [`RunFailed`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BudgetExhausted {
    AfterTurn(Box<TurnEnded>),
    /// Found without a step left, outside a turn.
    BeforeTurn(Fact<ExhaustedPublic, Lapsed>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExhaustedPublic {
    pub version: u64,
    pub steps_used: u32,
    pub max_steps: u32,
}

/// The end of a run that no turn brought about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lapsed {
    pub at: Timestamp,
    /// A fixed sentence of the server.
    pub summary: String,
}

pub type RunCancelled = Fact<CancelledPublic, Moment>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelledPublic {
    pub version: u64,
    pub reason: Sealed<String>,
}
