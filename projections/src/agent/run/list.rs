//! A run's line in a list of runs: `helix.agent_run.list.v1`.

use helix_aggregates::agent::run::status::{Completion, Lifecycle};
use helix_aggregates::agent::run::turn::TerminalAuthority;
use helix_aggregates::ids::RunId;
use helix_aggregates::text::prefix;
use helix_aggregates::time::Timestamp;
use serde::{Deserialize, Serialize};

/// UTF-16 code units of the objective that a list shows.
pub const OBJECTIVE_LENGTH: usize = 200;

/// One run, with the statuses and times its own view shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunListEntry {
    pub run_id: RunId,
    pub objective: String,
    pub lifecycle_status: Lifecycle,
    pub completion_status: Completion,
    pub terminal_authority_status: TerminalAuthority,
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl RunListEntry {
    /// The line of a run, taken from its own view so that list and run always agree.
    pub fn of_view(view: &[u8]) -> Result<Self, serde_json::Error> {
        let mut entry: Self = serde_json::from_slice(view)?;
        entry
            .objective
            .truncate(prefix(&entry.objective, OBJECTIVE_LENGTH).len());
        Ok(entry)
    }
}

/// Newest first; the cursor is opaque and null at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunList {
    pub schema: &'static str,
    pub runs: Vec<RunListEntry>,
    pub next_cursor: Option<String>,
}

impl RunList {
    pub fn of(runs: Vec<RunListEntry>, next_cursor: Option<String>) -> Self {
        Self {
            schema: "helix.agent_run.list.v1",
            runs,
            next_cursor,
        }
    }
}
