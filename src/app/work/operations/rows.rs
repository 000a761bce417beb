//! What rows are made of: fields that several share, and the kinds of rows there are.

use helix_aggregates::access::review::ReviewState;
use helix_aggregates::access::workspace::command::Role;

use super::{Face, Haste, Keyed, Op, Operation, Who};
use crate::app::work::arguments::{Field, Kind, Need};

pub(super) const READ: &[&str] = &["brief:read"];
pub(super) const WRITE: &[&str] = &["brief:read", "brief:write"];

pub(super) const RUN: &[&str] = &["brief:read", "review:run"];
pub(super) const EXECUTE: &[&str] = &["brief:read", "review:execute"];

pub(super) const fn needed(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        need: Need::Required,
    }
}

pub(super) const fn optional(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        need: Need::Optional,
    }
}

pub(super) const PROJECT: Field = needed("project_id", Kind::Id);
pub(super) const BRIEF: Field = needed("brief_id", Kind::Id);
pub(super) const PROPOSAL: Field = needed("proposal_id", Kind::Id);
pub(super) const REVIEW: Field = needed("review_id", Kind::Id);
pub(super) const CLAIM: Field = needed("claim_id", Kind::Id);
pub(super) const TEXT: Field = needed("body", Kind::Markdown);
pub(super) const SUMMARY: Field = needed("summary", Kind::Text(500));
pub(super) const REASON: Field = optional("reason", Kind::Text(1_000));
pub(super) const DECISION: Field = needed("decision", Kind::Word(&["approve", "reject"]));
pub(super) const ROLE: Field = needed("role", Kind::Word(&["owner", "admin", "member"]));
pub(super) const ACCOUNT: Field = needed("account_id", Kind::Id);
pub(super) const TOKEN: Field = needed("token_id", Kind::Id);
pub(super) const EXPIRES: Field = optional("expires_days", Kind::Number(1, 365));
pub(super) const OWNERS: &[Role] = &[Role::Owner];
pub(super) const ADMINS: &[Role] = &[Role::Owner, Role::Admin];
/// States of a proposal that a list can be cut to.
pub(super) const STATES: &[&str] = &[
    "open",
    "approved",
    "committed",
    "rejected",
    "withdrawn",
    "stale",
];
pub(super) const REVIEW_STATES: &[&str] = &[
    ReviewState::Open.as_str(),
    ReviewState::Claimed.as_str(),
    ReviewState::AwaitingGate.as_str(),
    ReviewState::Completed.as_str(),
    ReviewState::Cancelled.as_str(),
    ReviewState::Failed.as_str(),
];
pub(super) const EXPECTED: Field = needed("expected_version", Kind::Number(0, VERSION));
pub(super) const CURSOR: Field = optional("cursor", Kind::Id);
pub(super) const LIMIT: Field = optional("limit", Kind::Number(1, 100));
/// The largest integer that every client reads exactly.
pub(super) const VERSION: u64 = 9_007_199_254_740_991;

pub(super) const fn read(
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

pub(super) const fn write(
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

/// What moves a review on: agents do, people decide at its gate (settled question 42).
pub(super) const fn drive(
    op: Op,
    name: &'static str,
    path: &'static str,
    status: u16,
    fields: &'static [Field],
) -> Operation {
    Operation {
        scopes: EXECUTE,
        who: Who::Agent,
        ..write(op, name, path, status, fields)
    }
}

/// What only a person does. Its decisions are made once by their `expected_version`, so they take no key.
pub(super) const fn human(
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

/// What only a person may look at.
pub(super) const fn get(op: Op, name: &'static str, path: &'static str, who: Who) -> Operation {
    Operation {
        method: "GET",
        ..human(op, name, path, who, &[])
    }
}

pub(super) const fn unbuilt(
    method: &'static str,
    name: &'static str,
    path: &'static str,
) -> Operation {
    Operation {
        method,
        ..human(Op::Unbuilt, name, path, Who::Unbuilt, &[])
    }
}
