//! The result of one turn as the run aggregate receives it (`agent-api` 4.5, 5.2).
//!
//! Built by the host's finaliser only. A solver never makes one: it cannot name a ref, a status or
//! an authority.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod model;

pub use model::ModelFailure;

/// `agent-api` 2.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalAuthority {
    #[default]
    NotEvaluated,
    PendingHelixTerminalAuthority,
    Authorized,
    Blocked,
    NotTerminalAuthority,
}

/// An outstanding question (`agent-api` 2.10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub question_id: String,
    pub prompt: String,
    pub required_fields: Vec<String>,
    pub options: Vec<QuestionOption>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    pub value: String,
    pub label: String,
}

/// The terminal product (`agent-api` 4.5), present only when authorized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalProduct {
    pub authority_ref: String,
    pub artifact_kind: String,
    pub text: String,
    pub supporting_evidence_refs: Vec<String>,
}

/// Everything one executed turn reports (`agent-api` 5.2). Refs are of this turn only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnResult {
    pub ok: bool,
    /// HTTP-like; 500 and above ends the run.
    pub status_code: u16,
    pub summary: String,
    pub observation_refs: Vec<String>,
    pub evidence_refs: Vec<String>,
    pub receipt_refs: Vec<String>,
    pub claims_supported: Vec<String>,
    pub claims_contradicted: Vec<String>,
    pub unresolved_requirements: Vec<String>,
    pub resolved_requirements: Vec<String>,
    pub satisfied_evidence_requirements: Vec<String>,
    pub contradictions: Vec<String>,
    pub resolved_contradictions: Vec<String>,
    pub pending_questions: Vec<Question>,
    pub terminal_authority_status: TerminalAuthority,
    pub terminal_product: Option<TerminalProduct>,
    pub output_fields: Map<String, Value>,
    pub failure_code: Option<String>,
    pub needs_input: bool,
    /// Stored verbatim as `latest_result`; holds no provider payload, reasoning text or secret.
    pub sanitized_result: Map<String, Value>,
}

/// Why a turn has no result of its own (`agent-api` 2.7, 5.4; settled question 16). Statuses below
/// 500 leave the run resumable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnFailure {
    RunExpired,
    Timeout,
    ExecutorFailed,
    ProtectedContent,
    Model(ModelFailure),
    /// No external worker took the turn in the time that was set for it.
    WorkerUnavailable,
}

impl TurnFailure {
    pub fn code(self) -> &'static str {
        match self {
            Self::RunExpired => "run_expired",
            Self::Timeout => "helix_ask_timeout",
            Self::ExecutorFailed => "helix_ask_executor_failed",
            Self::ProtectedContent => "protected_sensitive_content_rejected",
            Self::Model(failure) => failure.code(),
            Self::WorkerUnavailable => "worker_unavailable",
        }
    }

    fn status_code(self) -> u16 {
        match self {
            Self::RunExpired => 408,
            Self::ProtectedContent => 400,
            Self::Model(_) | Self::WorkerUnavailable => 424,
            Self::Timeout | Self::ExecutorFailed => 500,
        }
    }

    /// What `latest_result` says: 500 for every turn that has no result (`agent-api` 2.7).
    fn reported_status(self) -> u16 {
        match self {
            Self::ProtectedContent => 400,
            Self::Model(_) | Self::WorkerUnavailable => 424,
            Self::RunExpired | Self::Timeout | Self::ExecutorFailed => 500,
        }
    }

    fn summary(self) -> &'static str {
        match self {
            Self::RunExpired => "The run reached its expiry before the turn finished.",
            Self::Timeout => "The turn did not finish within its time limit.",
            Self::ExecutorFailed => "The turn could not be executed.",
            Self::ProtectedContent => "The turn's result held credential material and was dropped.",
            Self::Model(failure) => failure.summary(),
            Self::WorkerUnavailable => "No worker took the turn in time.",
        }
    }

    /// The synthetic result that stands for the failed turn.
    pub fn into_result(self) -> TurnResult {
        let unresolved = match self {
            Self::ProtectedContent => vec![self.code().to_owned()],
            Self::RunExpired | Self::Timeout | Self::ExecutorFailed => {
                vec!["executor_result_unavailable".to_owned()]
            }
            // A requirement would outlive the outage: nothing that a later turn finds settles it.
            Self::Model(_) | Self::WorkerUnavailable => Vec::new(),
        };
        let mut sanitized = Map::new();
        sanitized.insert("ok".into(), Value::Bool(false));
        sanitized.insert("status".into(), self.reported_status().into());
        sanitized.insert("failure_code".into(), self.code().into());
        sanitized.insert("raw_error_included".into(), Value::Bool(false));
        sanitized.insert("raw_provider_payload_included".into(), Value::Bool(false));
        sanitized.insert("chain_of_thought_included".into(), Value::Bool(false));
        TurnResult {
            ok: false,
            status_code: self.status_code(),
            summary: self.summary().to_owned(),
            observation_refs: Vec::new(),
            evidence_refs: Vec::new(),
            receipt_refs: Vec::new(),
            claims_supported: Vec::new(),
            claims_contradicted: Vec::new(),
            unresolved_requirements: unresolved,
            resolved_requirements: Vec::new(),
            satisfied_evidence_requirements: Vec::new(),
            contradictions: Vec::new(),
            resolved_contradictions: Vec::new(),
            pending_questions: Vec::new(),
            terminal_authority_status: TerminalAuthority::Blocked,
            terminal_product: None,
            output_fields: Map::new(),
            failure_code: Some(self.code().to_owned()),
            needs_input: false,
            sanitized_result: sanitized,
        }
    }
}
