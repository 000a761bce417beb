//! What tools of reviews take and answer (`access` 6.2).

use helix_aggregates::access::review::ReviewState;
use helix_aggregates::access::review::finding::{REFS_LIMIT, SUBMITTED_LIMIT};
use serde_json::{Value, json};

use super::super::arguments::findings::{DETAIL, KINDS, REF, SEVERITIES, TITLE};
use super::{author, or_null, plain, version, whole};
use crate::app::agent::contract::{number, object, told};

/// What a submission takes.
pub(super) fn findings() -> Value {
    let most = |length: usize| json!({"type": "string", "minLength": 1, "maxLength": length});
    let refs = json!({"type": "array", "maxItems": REFS_LIMIT, "items": most(REF)});
    let finding = object(
        &json!({
            "kind": {"type": "string", "enum": KINDS},
            "severity": {"type": "string", "enum": SEVERITIES},
            "title": most(TITLE),
            "detail": most(DETAIL),
            "refs": told(refs, "Where it is: lines, files, addresses."),
        }),
        &["kind", "severity", "title", "detail"],
    );
    json!({"type": "array", "maxItems": SUBMITTED_LIMIT, "items": finding})
}

pub(super) fn review() -> Value {
    let count = || number(0, 500);
    whole(&json!({
        "review_id": plain(),
        "run_id": plain(),
        "project_id": plain(),
        "brief_id": plain(),
        "brief_version": version(),
        "title": plain(),
        "version": told(version(), "Of the run; expected_version names it."),
        "state": {"type": "string", "enum": ReviewState::ALL.map(ReviewState::as_str)},
        "step_count": count(),
        "steps_done": count(),
        "finding_count": count(),
        "gate": or_null(&told(gate(), "The latest decision of a person.")),
        "author": author(),
        "created_at": plain(),
        "updated_at": plain(),
        "expires_at": plain(),
    }))
}

fn gate() -> Value {
    whole(&json!({
        "gate": number(1, 64),
        "decision": {"type": "string", "enum": ["approve", "reject"]},
        "by": plain(),
        "reason": or_null(&plain()),
        "decided_at": plain(),
    }))
}

pub(super) fn steps() -> Value {
    let step = whole(&json!({
        "step_id": plain(),
        "title": plain(),
        "state": {"type": "string", "enum": ["open", "claimed", "done"]},
        "held_by": or_null(&author()),
        "lease_expires_at": or_null(&plain()),
    }));
    json!({"type": "array", "items": step})
}

pub(super) fn run() -> Value {
    whole(&json!({
        "run_id": plain(),
        "lifecycle_status": plain(),
        "completion_status": plain(),
        "terminal_authority_status": plain(),
    }))
}

pub(super) fn claim() -> Value {
    whole(&json!({
        "claim_id": plain(),
        "step": whole(&json!({"step_id": plain(), "title": plain()})),
        "lease_expires_at": plain(),
    }))
}

pub(super) fn finding() -> Value {
    whole(&json!({
        "finding_id": plain(),
        "step_id": plain(),
        "claim_id": plain(),
        "kind": {"type": "string", "enum": KINDS},
        "severity": {"type": "string", "enum": SEVERITIES},
        "title": plain(),
        "detail": plain(),
        "refs": {"type": "array", "items": plain()},
        "created_at": plain(),
    }))
}
