//! What an agent found in one step.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::FindingId;
use crate::text::Text;

/// Findings of one submission (`access` 6.2).
pub const SUBMITTED_LIMIT: usize = 20;
pub const REFS_LIMIT: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    Issue,
    Evidence,
    Note,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Minor,
    Major,
    Blocker,
}

/// A finding as it is submitted.
#[derive(Clone)]
pub struct NewFinding {
    pub id: FindingId,
    pub kind: FindingKind,
    pub severity: Severity,
    pub title: Text<200>,
    pub detail: Text<8_000>,
    /// At most [`REFS_LIMIT`].
    pub refs: Vec<Text<500>>,
}

/// Findings are somebody's words and stay out of logs.
impl fmt::Debug for NewFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewFinding")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
