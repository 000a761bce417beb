//! A review as it is shown and listed: the inline row of its stream.
//!
//! What must stay true: a row is a pure function of the folded review, so that it can be written anew.
//! A lease and a life end by time and not by an event, so a row says beforehand what the review will
//! have become by then; whoever shows it need not know the rule.
//!
//! Deliberately absent: findings, which are read from the stream when somebody asks.

use helix_aggregates::access::author::Author;
use helix_aggregates::access::review::{Body, Claim, Decision, Review, Step};
use helix_aggregates::agent::run::status::{Completion, Lifecycle};
use helix_aggregates::agent::run::turn::TerminalAuthority;
use helix_aggregates::ids::{AccountId, BriefId, ClaimId, ProjectId, ReviewId, RunId, StepId};
use helix_aggregates::sealed::Sealed;
use helix_aggregates::time::{Stamp, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::agent::ERASED;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRow {
    pub review_id: ReviewId,
    pub run_id: RunId,
    pub project_id: ProjectId,
    pub brief_id: BriefId,
    pub brief_version: u64,
    /// Of the brief.
    pub title: String,
    pub author: Author,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub now: Shown,
    /// What it becomes by time alone, the earliest first.
    pub later: Vec<(Timestamp, Shown)>,
}

/// What changes about a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub version: u64,
    pub state: String,
    pub lifecycle: Lifecycle,
    pub completion: Completion,
    pub terminal_authority: TerminalAuthority,
    pub steps: Vec<ShownStep>,
    pub findings: usize,
    pub claim: Option<ShownClaim>,
    pub decision: Option<ShownDecision>,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownStep {
    pub step_id: StepId,
    pub title: String,
    pub is_done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownClaim {
    pub claim_id: ClaimId,
    pub step_id: StepId,
    pub by: Author,
    /// The ledger row it rests on. Not shown.
    pub credential: Uuid,
    pub lease_expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownDecision {
    pub gate: u32,
    pub decision: String,
    pub by: AccountId,
    pub reason: Option<String>,
    pub decided_at: Timestamp,
}

impl ReviewRow {
    /// `None` for a review that was never started.
    pub fn of(review: &Review, id: ReviewId) -> Option<Self> {
        let body = review.body()?;
        let run = body.run.body()?;
        Some(Self {
            review_id: id,
            run_id: RunId::new(id.uuid()),
            project_id: body.project,
            brief_id: body.brief,
            brief_version: body.brief_version,
            title: text(&body.title),
            author: body.author,
            created_at: body.created_at,
            expires_at: run.expires_at,
            now: Shown::of(body)?,
            later: later(review),
        })
    }

    /// What is shown of it at `now`.
    pub fn at(&self, now: Timestamp) -> &Shown {
        let past = self.later.iter().rev().find(|(due, _)| *due <= now);
        past.map_or(&self.now, |(_, shown)| shown)
    }
}

fn later(review: &Review) -> Vec<(Timestamp, Shown)> {
    let mut later = Vec::new();
    let mut review = review.clone();
    while let Some(due) = review.body().and_then(Body::due) {
        let next = review.settled(None, Stamp { at: due });
        let shown = next.body().and_then(Shown::of);
        let (Some(shown), false) = (shown, next == review) else {
            break;
        };
        later.push((due, shown));
        review = next;
    }
    later
}

impl Shown {
    fn of(body: &Body) -> Option<Self> {
        let run = body.run.body()?;
        Some(Self {
            version: body.version(),
            state: body.state().as_str().to_owned(),
            lifecycle: body.run.lifecycle()?,
            completion: body.run.completion()?,
            terminal_authority: run.terminal_authority,
            steps: body.steps.iter().map(ShownStep::of).collect(),
            findings: body.findings.len(),
            claim: body.claim.as_ref().map(ShownClaim::of),
            decision: body.decision.as_ref().map(ShownDecision::of),
            updated_at: body.updated_at,
        })
    }
}

impl ShownStep {
    fn of(step: &Step) -> Self {
        Self {
            step_id: step.id,
            title: text(&step.title),
            is_done: step.is_done,
        }
    }
}

impl ShownClaim {
    fn of(claim: &Claim) -> Self {
        Self {
            claim_id: claim.id,
            step_id: claim.step,
            by: claim.by,
            credential: claim.credential,
            lease_expires_at: claim.lease_expires_at,
        }
    }
}

impl ShownDecision {
    fn of(decision: &Decision) -> Self {
        Self {
            gate: decision.gate,
            decision: decision.verdict.as_str().to_owned(),
            by: decision.by,
            reason: decision.reason.as_ref().map(text),
            decided_at: decision.at,
        }
    }
}

fn text(sealed: &Sealed<String>) -> String {
    sealed.open().map_or(ERASED, String::as_str).to_owned()
}
