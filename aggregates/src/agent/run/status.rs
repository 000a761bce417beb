//! The statuses a run shows (`agent-api` 2.6).

use serde::{Deserialize, Serialize};

/// `Queued` belongs to the contract but is never produced: a start leaves the run waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    Queued,
    Running,
    Waiting,
    Completed,
    Failed,
    Cancelled,
}

impl Lifecycle {
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The lifecycle a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }

    /// Nothing follows a terminal lifecycle.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    Pending,
    Completed,
    NeedsMoreEvidence,
    NeedsInput,
    ConflictDetected,
    Blocked,
    Failed,
    BudgetExhausted,
    Cancelled,
}

impl Completion {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::NeedsMoreEvidence => "needs_more_evidence",
            Self::NeedsInput => "needs_input",
            Self::ConflictDetected => "conflict_detected",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why a waiting run waits: the completions that admit a further turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    NeedsMoreEvidence,
    NeedsInput,
    ConflictDetected,
    Blocked,
}

impl WaitingFor {
    pub fn completion(self) -> Completion {
        match self {
            Self::NeedsMoreEvidence => Completion::NeedsMoreEvidence,
            Self::NeedsInput => Completion::NeedsInput,
            Self::ConflictDetected => Completion::ConflictDetected,
            Self::Blocked => Completion::Blocked,
        }
    }

    /// The reason a waiting run's completion stands for. Total, because events are never refused:
    /// a completion that no waiting run has reads as the contract's last row.
    pub(super) fn of(completion: Completion) -> Self {
        match completion {
            Completion::NeedsInput => Self::NeedsInput,
            Completion::ConflictDetected => Self::ConflictDetected,
            Completion::Blocked => Self::Blocked,
            Completion::NeedsMoreEvidence
            | Completion::Pending
            | Completion::Completed
            | Completion::Failed
            | Completion::BudgetExhausted
            | Completion::Cancelled => Self::NeedsMoreEvidence,
        }
    }
}
