//! What each event changes about a review.

use super::command::Verdict;
use super::event::{
    FindingsSubmitted, GateDecided, LeaseExtended, ReviewEvent, ReviewOpened, StepClaimed,
};
use super::{Body, Claim, Decision, Place, Review, Step};
use crate::agent::run::Run;
use crate::decider::Decider;
use crate::ids::StepId;
use crate::time::Timestamp;

pub(super) fn evolve(review: &mut Review, event: &ReviewEvent) {
    match (&mut *review, event) {
        (_, ReviewEvent::Opened(opened)) => *review = Review::Open(Box::new(body(opened))),
        (Review::Open(body), event) => step(body, event),
        (Review::Absent, _) => {}
    }
}

pub(super) fn step(body: &mut Body, event: &ReviewEvent) {
    body.seq += 1;
    if let Some(at) = change(body, event) {
        body.updated_at = at;
    }
}

fn body(opened: &ReviewOpened) -> Body {
    let steps = opened.steps.iter().map(|opened| Step {
        id: opened.step,
        title: opened.title.clone(),
        is_done: false,
    });
    Body {
        workspace: opened.workspace,
        project: opened.project,
        brief: opened.brief,
        brief_version: opened.brief_version,
        title: opened.title.clone(),
        author: opened.author,
        run: Run::Absent,
        steps: steps.collect(),
        claim: None,
        findings: Vec::new(),
        decision: None,
        extensions: 0,
        created_at: opened.at,
        updated_at: opened.at,
        seq: 1,
    }
}

/// The moment of the event.
fn change(body: &mut Body, event: &ReviewEvent) -> Option<Timestamp> {
    match event {
        ReviewEvent::Opened(opened) => Some(opened.at),
        ReviewEvent::StepClaimed(claimed) => Some(step_claimed(body, claimed)),
        ReviewEvent::LeaseExtended(extended) => Some(lease_extended(body, extended)),
        ReviewEvent::FindingsSubmitted(submitted) => Some(findings_submitted(body, submitted)),
        ReviewEvent::StepFinished(finished) => {
            body.claim = None;
            mark(body, Some(finished.step), true);
            Some(finished.at)
        }
        ReviewEvent::ClaimEnded(ended) => {
            body.claim = None;
            Some(ended.at)
        }
        ReviewEvent::GateDecided(decided) => Some(gate_decided(body, decided)),
        ReviewEvent::Run(event) => {
            body.run.evolve(event);
            // A cancel ends a step under way as well.
            if matches!(body.run, Run::Ended { .. }) {
                body.claim = None;
            }
            body.run.body().map(|run| run.updated_at)
        }
    }
}

fn step_claimed(body: &mut Body, claimed: &StepClaimed) -> Timestamp {
    body.claim = Some(Claim {
        id: claimed.claim,
        step: claimed.step,
        by: claimed.by,
        credential: claimed.credential,
        lease_expires_at: claimed.lease_expires_at,
    });
    claimed.at
}

fn lease_extended(body: &mut Body, extended: &LeaseExtended) -> Timestamp {
    body.extensions = body.extensions.saturating_add(1);
    if let Some(claim) = &mut body.claim {
        claim.credential = extended.credential;
        claim.lease_expires_at = extended.lease_expires_at;
    }
    extended.at
}

fn findings_submitted(body: &mut Body, submitted: &FindingsSubmitted) -> Timestamp {
    let text_at = body.seq;
    let places = submitted.findings.iter().map(|finding| Place {
        id: finding.finding,
        text_at,
    });
    body.findings.extend(places);
    submitted.at
}

fn gate_decided(body: &mut Body, decided: &GateDecided) -> Timestamp {
    if decided.verdict == Verdict::Reject {
        mark(body, None, false);
    }
    body.decision = Some(Decision {
        gate: decided.gate,
        verdict: decided.verdict,
        by: decided.by,
        reason: decided.reason.clone(),
        at: decided.at,
    });
    decided.at
}

/// One step, or all of them.
fn mark(body: &mut Body, one: Option<StepId>, is_done: bool) {
    let chosen = |step: &&mut Step| one.is_none_or(|id| id == step.id);
    for step in body.steps.iter_mut().filter(chosen) {
        step.is_done = is_done;
    }
}
