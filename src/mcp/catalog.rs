//! The tools: one row drives the list, the check of scopes, the challenge and the dispatch.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::schema;
use crate::app::caller::{SCOPE_READ, SCOPE_WRITE};
use crate::http::permits::Demand;

pub const INSTRUCTIONS: &str = "Start a run with helix_run_start and keep its run_id: every other tool asks for it. \
    Start, continue and cancel take an idempotency_key; send the same one again to repeat a request safely. Continue \
    and cancel also take expected_version, the version you saw last; after version_conflict inspect the run and try \
    again. completion_status says whether the work is done, terminal_authority_status whether its result may stand \
    as an answer: a result is not an answer unless that is authorized. Each continue spends one step of the run's \
    budget.";

/// What a tool does when it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOperation {
    Start,
    Continue,
    Cancel,
    Inspect,
    FetchEvidence,
    ListEvents,
}

impl RunOperation {
    /// What a call asks of the server.
    pub fn demand(self) -> Demand {
        match self {
            Self::Continue => Demand::Waiting,
            Self::Cancel => Demand::Withdrawal,
            Self::Start | Self::Inspect | Self::FetchEvidence | Self::ListEvents => {
                Demand::Ordinary
            }
        }
    }
}

/// The four hints of `agent-api` 10.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hints {
    /// RO
    Reads,
    /// WR
    Writes,
    /// WO
    WritesAndReachesOut,
    /// DS
    Destroys,
}

/// One tool.
#[derive(Debug)]
pub struct Tool {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub scopes: &'static [&'static str],
    pub hints: Hints,
    pub operation: RunOperation,
    input: fn() -> Value,
    output: fn() -> Value,
}

/// In the order they are listed.
pub const TOOLS: [Tool; 6] = [
    Tool {
        name: "helix_run_start",
        title: "Start a run",
        description: "Starts a durable run for one objective. Keep the returned run_id: every other tool asks for it. \
            The same idempotency key with the same request returns the same run.",
        scopes: &[SCOPE_WRITE],
        hints: Hints::Writes,
        operation: RunOperation::Start,
        input: schema::start,
        output: || schema::run_output("start"),
    },
    Tool {
        name: "helix_run_continue",
        title: "Continue a run",
        description: "Lets a waiting run take one turn: with an instruction, with answers to its pending questions, or \
            both. expected_version is the version that was last seen.",
        scopes: &[SCOPE_WRITE],
        hints: Hints::WritesAndReachesOut,
        operation: RunOperation::Continue,
        input: schema::continue_run,
        output: || schema::run_output("continue"),
    },
    Tool {
        name: "helix_run_cancel",
        title: "Cancel a run",
        description: "Ends a run for good, also while a turn is executing. Nothing that was recorded is lost.",
        scopes: &[SCOPE_WRITE],
        hints: Hints::Destroys,
        operation: RunOperation::Cancel,
        input: schema::cancel,
        output: || schema::run_output("cancel"),
    },
    Tool {
        name: "helix_run_inspect",
        title: "Inspect a run",
        description: "Shows a run as it is now: its statuses, version, budget, pending questions and latest result. \
            A result is no answer unless terminal_authority_status is authorized.",
        scopes: &[SCOPE_READ],
        hints: Hints::Reads,
        operation: RunOperation::Inspect,
        input: schema::inspect,
        output: || schema::run_output("inspect"),
    },
    Tool {
        name: "helix_run_fetch_evidence",
        title: "Fetch a run's evidence",
        description: "Shows the evidence bundle of a run: the refs that were read again from their sources.",
        scopes: &[SCOPE_READ],
        hints: Hints::Reads,
        operation: RunOperation::FetchEvidence,
        input: schema::inspect,
        output: schema::evidence_output,
    },
    Tool {
        name: "helix_run_list_events",
        title: "List a run's events",
        description: "Shows a page of a run's events after a sequence number. Ask again with next_after_seq for more.",
        scopes: &[SCOPE_READ],
        hints: Hints::Reads,
        operation: RunOperation::ListEvents,
        input: schema::list_events,
        output: schema::events_output,
    },
];

/// As `tools/list` shows them; made once.
static LISTED: LazyLock<Vec<Value>> = LazyLock::new(|| TOOLS.iter().map(Tool::listed).collect());

pub fn listed() -> &'static [Value] {
    &LISTED
}

pub fn named(name: &str) -> Option<&'static Tool> {
    static ROWS: &[Tool; 6] = &TOOLS;
    ROWS.iter().find(|tool| tool.name == name)
}

impl Tool {
    fn listed(&self) -> Value {
        let schemes = json!([{"type": "oauth2", "scopes": self.scopes}]);
        let (read_only, destructive, open_world) = match self.hints {
            Hints::Reads => (true, false, false),
            Hints::Writes => (false, false, false),
            Hints::WritesAndReachesOut => (false, false, true),
            Hints::Destroys => (false, true, false),
        };
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": (self.input)(),
            "outputSchema": (self.output)(),
            "annotations": {
                "title": self.title,
                "readOnlyHint": read_only,
                "destructiveHint": destructive,
                "idempotentHint": true,
                "openWorldHint": open_world,
            },
            "securitySchemes": schemes,
            "_meta": {"securitySchemes": schemes},
        })
    }
}
