//! What an endpoint can be told of, and which state of a run each kind stands for.
//!
//! | kind | lifecycle | completion |
//! |---|---|---|
//! | `run.completed` | `completed` | `completed` |
//! | `run.failed` | `failed` | `failed` |
//! | `run.budget_exhausted` | `failed` | `budget_exhausted` |
//! | `run.cancelled` | `cancelled` | `cancelled` |
//! | `run.needs_input` | `waiting` | `needs_input` |
//! | `run.blocked` | `waiting` | `blocked` |
//! | `run.needs_more_evidence` | `waiting` | `needs_more_evidence` |
//! | `run.conflict_detected` | `waiting` | `conflict_detected` |
//!
//! A run that starts, or whose turn begins, tells nobody: whoever asked for that knows.

use serde::{Deserialize, Serialize};

use crate::agent::run::event::RunEvent;
use crate::agent::run::status::{Completion, Lifecycle};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoticeKind {
    #[serde(rename = "run.completed")]
    Completed,
    #[serde(rename = "run.failed")]
    Failed,
    #[serde(rename = "run.budget_exhausted")]
    BudgetExhausted,
    #[serde(rename = "run.cancelled")]
    Cancelled,
    #[serde(rename = "run.needs_input")]
    NeedsInput,
    #[serde(rename = "run.blocked")]
    Blocked,
    #[serde(rename = "run.needs_more_evidence")]
    NeedsMoreEvidence,
    #[serde(rename = "run.conflict_detected")]
    ConflictDetected,
}

impl NoticeKind {
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Failed,
        Self::BudgetExhausted,
        Self::Cancelled,
        Self::NeedsInput,
        Self::Blocked,
        Self::NeedsMoreEvidence,
        Self::ConflictDetected,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "run.completed",
            Self::Failed => "run.failed",
            Self::BudgetExhausted => "run.budget_exhausted",
            Self::Cancelled => "run.cancelled",
            Self::NeedsInput => "run.needs_input",
            Self::Blocked => "run.blocked",
            Self::NeedsMoreEvidence => "run.needs_more_evidence",
            Self::ConflictDetected => "run.conflict_detected",
        }
    }

    /// The kind a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }

    /// The kind that the state of a run stands for; `None` while it works.
    pub fn of(lifecycle: Lifecycle, completion: Completion) -> Option<Self> {
        match lifecycle {
            Lifecycle::Queued | Lifecycle::Running => return None,
            Lifecycle::Waiting
            | Lifecycle::Completed
            | Lifecycle::Failed
            | Lifecycle::Cancelled => {}
        }
        match completion {
            Completion::Pending => None,
            Completion::Completed => Some(Self::Completed),
            Completion::Failed => Some(Self::Failed),
            Completion::BudgetExhausted => Some(Self::BudgetExhausted),
            Completion::Cancelled => Some(Self::Cancelled),
            Completion::NeedsInput => Some(Self::NeedsInput),
            Completion::Blocked => Some(Self::Blocked),
            Completion::NeedsMoreEvidence => Some(Self::NeedsMoreEvidence),
            Completion::ConflictDetected => Some(Self::ConflictDetected),
        }
    }
}

/// The stored names of events after which a run may stand in a state that is told.
pub const TURNING_POINTS: [&str; 7] = [
    "runtime_recovered",
    "run_waiting",
    "run_completed",
    "run_blocked",
    "run_failed",
    "budget_exhausted",
    "run_cancelled",
];

/// Whether a step of the run ends with this event. A recovery does when the sweeper made it; a
/// take-over's goes on with a claim (`settled question` 13).
pub fn ends_step(event: &RunEvent) -> bool {
    match event {
        RunEvent::RuntimeRecovered(fact) => fact.public.lifecycle_status == Lifecycle::Waiting,
        RunEvent::RunWaiting(_)
        | RunEvent::RunCompleted(_)
        | RunEvent::RunBlocked(_)
        | RunEvent::RunFailed(_)
        | RunEvent::BudgetExhausted(_)
        | RunEvent::RunCancelled(_) => true,
        RunEvent::RunStarted(_)
        | RunEvent::ContinuationReceived(_)
        | RunEvent::EvidenceReentered(_)
        | RunEvent::IssuesResolved(_)
        | RunEvent::InputRequested(_)
        | RunEvent::TerminalAuthorityEvaluated(_) => false,
    }
}
