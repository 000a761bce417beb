//! Reviews as they are answered (`access` 6.2).

use helix_aggregates::access::review::event::Finding;
use helix_aggregates::access::review::{Body, Review};
use helix_aggregates::ids::{ClaimId, ReviewId, StepId};
use helix_aggregates::time::{Stamp, Timestamp};
use helix_projections::access::review::{ReviewRow, Shown, ShownDecision, ShownStep};
use serde_json::{Value, json};

use super::super::site::nothing;
use super::super::views::{author, text};
use crate::app::problem::Problem;

pub(super) fn row_of(state: &Review, id: ReviewId) -> Result<ReviewRow, Problem> {
    ReviewRow::of(state, id).ok_or_else(nothing)
}

pub(super) fn review_of(state: &Review, id: ReviewId, stamp: Stamp) -> Result<Value, Problem> {
    let row = row_of(state, id)?;
    Ok(review(&row, row.at(stamp.at)))
}

pub(super) fn review(row: &ReviewRow, shown: &Shown) -> Value {
    let done = shown.steps.iter().filter(|step| step.is_done).count();
    json!({
        "review_id": row.review_id,
        "run_id": row.run_id,
        "project_id": row.project_id,
        "brief_id": row.brief_id,
        "brief_version": row.brief_version,
        "title": row.title,
        "version": shown.version,
        "state": shown.state,
        "step_count": shown.steps.len(),
        "steps_done": done,
        "finding_count": shown.findings,
        "gate": shown.decision.as_ref().map(decision),
        "author": author(row.author),
        "created_at": row.created_at,
        "updated_at": shown.updated_at,
        "expires_at": row.expires_at,
    })
}

/// The latest decision at the gate.
fn decision(decision: &ShownDecision) -> Value {
    json!({
        "gate": decision.gate,
        "decision": decision.decision,
        "by": decision.by,
        "reason": decision.reason,
        "decided_at": decision.decided_at,
    })
}

pub(super) fn steps(shown: &Shown) -> Vec<Value> {
    let holder = |step: &ShownStep| shown.claim.filter(|claim| claim.step_id == step.step_id);
    let seen = |step: &ShownStep| {
        let claim = holder(step);
        let state = match (step.is_done, claim) {
            (true, _) => "done",
            (false, Some(_)) => "claimed",
            (false, None) => "open",
        };
        json!({
            "step_id": step.step_id,
            "title": step.title,
            "state": state,
            "held_by": claim.map(|claim| author(claim.by)),
            "lease_expires_at": claim.map(|claim| claim.lease_expires_at),
        })
    };
    shown.steps.iter().map(seen).collect()
}

/// What whoever drives the review has to respect.
pub(super) fn constraints(body: &Body) -> Vec<String> {
    let run = body.run.body();
    let constraints = run.and_then(|run| run.constraints.open());
    constraints.cloned().unwrap_or_default()
}

/// The three statuses of the run that the review is.
pub(super) fn run(row: &ReviewRow, shown: &Shown) -> Value {
    json!({
        "run_id": row.run_id,
        "lifecycle_status": shown.lifecycle,
        "completion_status": shown.completion,
        "terminal_authority_status": shown.terminal_authority,
    })
}

/// The live claim, as its holder sees it.
pub(super) fn claim_of(state: &Review) -> Result<Value, Problem> {
    let body = state.body().ok_or_else(nothing)?;
    let claim = body.claim.ok_or_else(nothing)?;
    let step = body.step(claim.step).ok_or_else(nothing)?;
    Ok(json!({
        "claim_id": claim.id,
        "step": { "step_id": step.id, "title": text(&step.title) },
        "lease_expires_at": claim.lease_expires_at,
    }))
}

pub(super) fn finding(found: &Finding, (claim, step): (ClaimId, StepId), at: Timestamp) -> Value {
    json!({
        "finding_id": found.finding,
        "step_id": step,
        "claim_id": claim,
        "kind": found.kind,
        "severity": found.severity,
        "title": text(&found.title),
        "detail": text(&found.detail),
        "refs": found.refs.open().cloned().unwrap_or_default(),
        "created_at": at,
    })
}
