//! Every operation of the workspace door: one row each, from which router, policy, tools and tests are
//! made (`access` 6.2, 9).
//!
//! What must stay true: an operation without a row does not exist; a row says all scopes of its
//! operation, and whether only a person may do it.

use helix_aggregates::access::workspace::command::Role;

use super::arguments::{Field, Kind, Need};
use crate::store::append::Priority;

/// Where the door is.
pub const ROOT: &str = "/api/v1/workspaces";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    WorkspaceList,
    WorkspaceGet,
    ProjectList,
    ProjectCreate,
    CodebaseLink,
    BriefList,
    BriefGet,
    BriefCreate,
    BriefEdit,
    BriefRevert,
    ProposalList,
    ProposalCreate,
    ProposalWithdraw,
    ProposalDecide,
    ProposalCommit,
    ProposalRebase,
    /// Nothing is behind it yet: agents learn that it is a person's, people that it is to come.
    Unbuilt,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    pub op: Op,
    /// The tool's name, or that of what only a person may do.
    pub name: &'static str,
    pub face: Face,
    pub method: &'static str,
    pub path: &'static str,
    /// All of them, the floor included.
    pub scopes: &'static [&'static str],
    pub who: Who,
    pub keyed: Keyed,
    /// Of a success.
    pub status: u16,
    pub demand: Haste,
    /// Besides the workspace.
    pub fields: &'static [Field],
}

/// At which doors an operation is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// A tool as well as a route.
    Tool,
    Route,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Agents with the scopes, and members.
    Anybody,
    /// Members, whatever their role.
    Human,
    /// Members of these roles.
    Roles(&'static [Role]),
    Unbuilt,
}

impl Who {
    pub fn is_human_only(self) -> bool {
        self != Self::Anybody
    }
}

/// Whether a mutation takes an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyed {
    Yes,
    No,
}

/// Whether something is taken back, which must work while everything else is full (`access` 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    Ordinary,
    Withdrawal,
}

impl Haste {
    pub fn priority(self) -> Priority {
        match self {
            Self::Ordinary => Priority::Ordinary,
            Self::Withdrawal => Priority::Withdrawal,
        }
    }
}

const READ: &[&str] = &["brief:read"];
const WRITE: &[&str] = &["brief:read", "brief:write"];

const fn needed(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        need: Need::Required,
    }
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        need: Need::Optional,
    }
}

const PROJECT: Field = needed("project_id", Kind::Id);
const BRIEF: Field = needed("brief_id", Kind::Id);
const PROPOSAL: Field = needed("proposal_id", Kind::Id);
const TEXT: Field = needed("body", Kind::Markdown);
const SUMMARY: Field = needed("summary", Kind::Text(500));
const REASON: Field = optional("reason", Kind::Text(1_000));
const DECISION: Field = needed("decision", Kind::Word(&["approve", "reject"]));
/// States of a proposal that a list can be cut to.
const STATES: &[&str] = &[
    "open",
    "approved",
    "committed",
    "rejected",
    "withdrawn",
    "stale",
];
const EXPECTED: Field = needed("expected_version", Kind::Number(0, VERSION));
const CURSOR: Field = optional("cursor", Kind::Id);
const LIMIT: Field = optional("limit", Kind::Number(1, 100));
/// The largest integer that every client reads exactly.
const VERSION: u64 = 9_007_199_254_740_991;

const fn read(
    op: Op,
    name: &'static str,
    path: &'static str,
    fields: &'static [Field],
) -> Operation {
    Operation {
        op,
        name,
        face: Face::Tool,
        method: "GET",
        path,
        scopes: READ,
        who: Who::Anybody,
        keyed: Keyed::No,
        status: 200,
        demand: Haste::Ordinary,
        fields,
    }
}

const fn write(
    op: Op,
    name: &'static str,
    path: &'static str,
    status: u16,
    fields: &'static [Field],
) -> Operation {
    Operation {
        op,
        name,
        face: Face::Tool,
        method: "POST",
        path,
        scopes: WRITE,
        who: Who::Anybody,
        keyed: Keyed::Yes,
        status,
        demand: Haste::Ordinary,
        fields,
    }
}

/// What only a person does. Its decisions are made once by their `expected_version`, so they take no key.
const fn human(
    op: Op,
    name: &'static str,
    path: &'static str,
    who: Who,
    fields: &'static [Field],
) -> Operation {
    Operation {
        op,
        name,
        face: Face::Route,
        method: "POST",
        path,
        scopes: READ,
        who,
        keyed: Keyed::No,
        status: 200,
        demand: Haste::Ordinary,
        fields,
    }
}

/// The whole of the door.
pub static OPERATIONS: &[Operation] = &[
    Operation {
        face: Face::Route,
        ..read(Op::WorkspaceList, "workspace_list", ROOT, &[])
    },
    read(
        Op::WorkspaceGet,
        "workspace_get",
        "/api/v1/workspaces/{workspace_id}",
        &[],
    ),
    read(
        Op::ProjectList,
        "project_list",
        "/api/v1/workspaces/{workspace_id}/projects",
        &[CURSOR, LIMIT],
    ),
    write(
        Op::ProjectCreate,
        "project_create",
        "/api/v1/workspaces/{workspace_id}/projects",
        201,
        &[
            needed("name", Kind::Name(120)),
            optional("description", Kind::Text(2_000)),
        ],
    ),
    write(
        Op::CodebaseLink,
        "project_codebase_link",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/codebase-link",
        200,
        &[PROJECT, needed("repository_id", Kind::Id), EXPECTED],
    ),
    read(
        Op::BriefList,
        "brief_list",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs",
        &[PROJECT, optional("q", Kind::Text(200)), CURSOR, LIMIT],
    ),
    read(
        Op::BriefGet,
        "brief_get",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}",
        &[
            PROJECT,
            BRIEF,
            optional("version", Kind::Number(1, VERSION)),
        ],
    ),
    write(
        Op::BriefCreate,
        "brief_create",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs",
        201,
        &[
            PROJECT,
            needed("title", Kind::Name(200)),
            optional("body", Kind::Markdown),
            optional("summary", Kind::Text(500)),
        ],
    ),
    write(
        Op::ProposalCreate,
        "brief_proposal_create",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals",
        201,
        &[PROJECT, BRIEF, TEXT, SUMMARY, EXPECTED],
    ),
    read(
        Op::ProposalList,
        "brief_proposal_list",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals",
        &[
            PROJECT,
            BRIEF,
            optional("proposal_id", Kind::Id),
            optional("state", Kind::Word(STATES)),
            CURSOR,
            LIMIT,
        ],
    ),
    Operation {
        demand: Haste::Withdrawal,
        ..write(
            Op::ProposalWithdraw,
            "brief_proposal_withdraw",
            "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals/{proposal_id}/withdraw",
            200,
            &[PROJECT, BRIEF, PROPOSAL, EXPECTED],
        )
    },
    human(
        Op::BriefEdit,
        "brief_edit",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/edit",
        Who::Human,
        &[PROJECT, BRIEF, TEXT, SUMMARY, EXPECTED],
    ),
    human(
        Op::BriefRevert,
        "brief_revert",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/revert",
        Who::Human,
        &[
            PROJECT,
            BRIEF,
            EXPECTED,
            needed("to_version", Kind::Number(1, VERSION)),
            REASON,
        ],
    ),
    human(
        Op::ProposalDecide,
        "brief_proposal_decide",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals/{proposal_id}/decide",
        Who::Human,
        &[PROJECT, BRIEF, PROPOSAL, DECISION, EXPECTED, REASON],
    ),
    human(
        Op::ProposalCommit,
        "brief_proposal_commit",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals/{proposal_id}/commit",
        Who::Human,
        &[PROJECT, BRIEF, PROPOSAL, EXPECTED],
    ),
    human(
        Op::ProposalRebase,
        "brief_proposal_rebase",
        "/api/v1/workspaces/{workspace_id}/projects/{project_id}/briefs/{brief_id}/proposals/{proposal_id}/rebase",
        Who::Human,
        &[PROJECT, BRIEF, PROPOSAL, EXPECTED, TEXT],
    ),
];

/// The row of a route, by its pattern.
pub fn of_route(method: &str, path: &str) -> Option<&'static Operation> {
    OPERATIONS
        .iter()
        .find(|one| one.method == method && one.path == path)
}
