//! What may be asked of a run. Facts from outside (policy of now, credential, time-outs) come in
//! with the command.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::turn::TurnResult;
use crate::agent::scope::NO_TOOLS;
use crate::ids::{OperationId, OwnerTuple};
use crate::text::{self, Text};

/// The reason of a cancel that gives none (`agent-api` 2.3).
pub const DEFAULT_CANCEL_REASON: &str = "cancelled_by_client";

#[derive(Debug, Clone)]
pub enum RunCommand {
    Start(Box<RunBrief>),
    /// Begins one turn (`agent-api` 2.2).
    Claim(Box<ClaimTurn>),
    /// Ends the claimed turn with its result (`agent-api` 2.8).
    Finish(Box<FinishTurn>),
    Cancel {
        expected: u64,
        reason: Option<Text<1000>>,
    },
    /// The sweeper's: makes a run resumable whose turn was abandoned longer than this ago.
    Recover {
        abandon_after_sweep: Duration,
    },
    /// The sweeper's: ends a run that is past its expiry or has spent its steps. A claimed turn is
    /// left alone; an abandoned one must be recovered first.
    Lapse,
}

/// A validated start request (`agent-api` 2.1) with what was admitted for it.
#[derive(Debug, Clone)]
pub struct RunBrief {
    pub owner: OwnerTuple,
    pub objective: Text<20_000>,
    /// At most 64 of 1 to 2,000 characters.
    pub constraints: Vec<String>,
    /// At most 64 ids of `agent-api` 6.1.
    pub database_scope: Vec<String>,
    pub completion_contract: CompletionContract,
    pub budget: Budget,
    pub policy: AdmittedPolicy,
}

/// When a run may count as completed (`agent-api` 2.1). The door checks the bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompletionContract {
    /// 0 to 128.
    pub min_evidence_refs: u32,
    pub require_terminal_authority: bool,
    /// At most 32 names of 1 to 120 characters.
    pub required_output_fields: Vec<String>,
    /// 0 to 128.
    pub max_unresolved_requirements: u32,
    pub allow_conflicts: bool,
}

impl Default for CompletionContract {
    fn default() -> Self {
        Self {
            min_evidence_refs: 1,
            require_terminal_authority: true,
            required_output_fields: Vec::new(),
            max_unresolved_requirements: 0,
            allow_conflicts: false,
        }
    }
}

/// What a run may spend (`agent-api` 2.1). The door checks the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// 1 to 64.
    pub max_steps: u32,
    /// 60 to 604,800.
    pub expires_in_seconds: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            max_steps: 12,
            expires_in_seconds: 3600,
        }
    }
}

/// What the data-scope policy admitted (`agent-api` 6.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmittedPolicy {
    /// At most 24 capability ids, or exactly the sentinel [`NO_TOOLS`].
    pub allowed_tools: Vec<String>,
    /// At most 24 evidence families.
    pub required_evidence: Vec<String>,
    pub policy_hash: String,
}

impl AdmittedPolicy {
    /// What a turn may use when `self` was stored at the start and `now` is admitted today: tools
    /// only shrink, required evidence only grows (`agent-api` 2.2 step 6).
    #[must_use]
    pub fn narrowed(&self, now: &Self) -> Self {
        let mut allowed_tools: Vec<String> = self
            .allowed_tools
            .iter()
            .filter(|tool| now.allowed_tools.contains(tool))
            .cloned()
            .collect();
        if allowed_tools.is_empty() {
            allowed_tools.push(NO_TOOLS.to_owned());
        }
        Self {
            allowed_tools,
            required_evidence: text::unique(
                self.required_evidence.iter().chain(&now.required_evidence),
            ),
            policy_hash: now.policy_hash.clone(),
        }
    }
}

/// A validated continue request.
#[derive(Debug, Clone)]
pub struct ClaimTurn {
    pub expected: u64,
    pub operation: OperationId,
    /// The ledger row of the caller's credential.
    pub credential: Option<Uuid>,
    /// At most 20,000 characters.
    pub instruction: Option<String>,
    /// At most 64.
    pub answers: Vec<Answer>,
    /// What the policy admits now; the use case has already refused what it must.
    pub policy: AdmittedPolicy,
    /// Turn time-out plus 60 s: an older claim may be taken over (`agent-api` 1.7).
    pub abandon_after: Duration,
    pub holder: ClaimHolder,
}

/// One answer to an outstanding question. A missing value counts as null.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub question_id: String,
    pub value: Value,
}

/// Answers are a person's words and stay out of logs.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer(..)")
    }
}

/// The standing of the credential that holds the present claim, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimHolder {
    Live,
    /// Its turn can no longer finish, so it may be taken over at once.
    Revoked,
}

/// The result of the turn that `operation` claimed.
#[derive(Debug, Clone)]
pub struct FinishTurn {
    pub operation: OperationId,
    pub claimed_version: u64,
    pub result: TurnResult,
}
