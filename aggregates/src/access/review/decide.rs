//! The arms of a review. A refusal is decided in this order: the review is closed, the claim is lost,
//! the version is stale, then what the act itself asks for.
//!
//! What has ended by time ends first, in the same commit as the act that finds it: nobody acts on a
//! lease that has run out.

use super::command::{
    Act, ClaimStep, DeadClaim, Decide, Finality, NewReview, ReviewAct, ReviewCommand,
};
use super::error::ReviewError;
use super::event::{
    ClaimEnd, ClaimEnded, Finding, FindingsSubmitted, GateDecided, LeaseExtended, OpenedStep,
    ReviewEvent, ReviewOpened, StepClaimed, StepFinished,
};
use super::finding::NewFinding;
use super::{
    Body, Claim, EXTENSIONS_LIMIT, FINDINGS_LIMIT, Review, ReviewState, STEPS_LIMIT, evolve, turns,
};
use crate::access::author::Author;
use crate::agent::run::command::RunCommand;
use crate::agent::run::error::RunError;
use crate::agent::run::event::{Fact, Moment, ReenteredPublic, RunEvent};
use crate::decider::Decider;
use crate::ids::{ClaimId, FindingId, StepId};
use crate::sealed::Sealed;
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

pub(super) fn decide(
    review: &Review,
    command: &ReviewCommand,
    stamp: Stamp,
) -> Result<Vec<ReviewEvent>, ReviewError> {
    match (review, command) {
        (Review::Absent, ReviewCommand::Start(new)) => start(new, stamp),
        (Review::Absent, ReviewCommand::Act(_) | ReviewCommand::Settle { .. }) => {
            Err(ReviewError::NotFound)
        }
        (Review::Open(_), ReviewCommand::Start(_)) => Err(ReviewError::AlreadyExists),
        (Review::Open(body), ReviewCommand::Settle { dead_claim }) => {
            let mut draft = Draft::on(body, stamp);
            draft.settle(*dead_claim)?;
            Ok(draft.events)
        }
        (Review::Open(body), ReviewCommand::Act(act)) => {
            let mut draft = Draft::on(body, stamp);
            draft.settle(act.dead_claim)?;
            draft.act(act)?;
            Ok(draft.events)
        }
    }
}

fn start(new: &NewReview, stamp: Stamp) -> Result<Vec<ReviewEvent>, ReviewError> {
    if new.steps.is_empty() || new.steps.len() > STEPS_LIMIT {
        return Err(ReviewError::Steps);
    }
    let steps = new.steps.iter().map(|step| OpenedStep {
        step: step.id,
        title: Sealed::Open(step.title.clone()),
    });
    let opened = ReviewEvent::Opened(Box::new(ReviewOpened {
        at: stamp.at,
        workspace: new.workspace,
        project: new.project,
        brief: new.brief,
        brief_version: new.brief_version,
        title: Sealed::Open(new.title.clone()),
        author: new.author,
        steps: steps.collect(),
    }));
    let run = crate::agent::run::Run::Absent.decide(&turns::start(new), stamp)?;
    let run = run.into_iter().map(ReviewEvent::Run);
    Ok(std::iter::once(opened).chain(run).collect())
}

/// The review as the events decided so far leave it.
struct Draft {
    body: Box<Body>,
    events: Vec<ReviewEvent>,
    stamp: Stamp,
}

impl Draft {
    fn on(body: &Body, stamp: Stamp) -> Self {
        Self {
            body: Box::new(body.clone()),
            events: Vec::new(),
            stamp,
        }
    }

    fn push(&mut self, event: ReviewEvent) {
        evolve::step(&mut self.body, &event);
        self.events.push(event);
    }

    fn run(&mut self, command: &RunCommand) -> Result<(), ReviewError> {
        for event in self.body.run.decide(command, self.stamp)? {
            self.push(ReviewEvent::Run(event));
        }
        Ok(())
    }

    fn settle(&mut self, dead_claim: Option<DeadClaim>) -> Result<(), ReviewError> {
        if let Some(claim) = self.body.claim {
            if self.stamp.at >= claim.lease_expires_at {
                self.end_claim(&claim, ClaimEnd::Expired)?;
            } else if dead_claim == Some(claim.of_credential()) {
                self.end_claim(&claim, ClaimEnd::Revoked)?;
            }
        }
        match self.run(&RunCommand::Lapse) {
            Err(ReviewError::Run(RunError::NothingToRecover)) => Ok(()),
            settled => settled,
        }
    }

    fn end_claim(&mut self, claim: &Claim, reason: ClaimEnd) -> Result<(), ReviewError> {
        let ended = turns::finish(&self.body, turns::claim_ended(&self.body, reason));
        self.push(ReviewEvent::ClaimEnded(ClaimEnded {
            at: self.stamp.at,
            claim: claim.id,
            step: claim.step,
            reason,
        }));
        ended.map_or(Ok(()), |ended| self.run(&ended))
    }

    fn act(&mut self, asked: &ReviewAct) -> Result<(), ReviewError> {
        if let Act::Cancel { by, .. } = &asked.act
            && *by != self.body.author
        {
            return Err(ReviewError::NotYours);
        }
        if self.body.state().is_closed() {
            return Err(ReviewError::Closed);
        }
        let held = match &asked.act {
            Act::Submit { claim, by, .. } | Act::Release { claim, by } => {
                Some(self.held(*claim, *by)?)
            }
            Act::Claim(_) | Act::Cancel { .. } | Act::Decide(_) => None,
        };
        let current = self.body.version();
        if asked.expected_version != current {
            return Err(ReviewError::VersionConflict { current });
        }
        match (&asked.act, held) {
            (Act::Claim(step), _) => self.claim(step),
            (
                Act::Submit {
                    findings, finality, ..
                },
                Some(held),
            ) => self.submit(&held, findings, *finality),
            (Act::Release { .. }, Some(held)) => self.end_claim(&held, ClaimEnd::Released),
            (Act::Submit { .. } | Act::Release { .. }, None) => Err(ReviewError::ClaimLost),
            (Act::Cancel { reason, .. }, _) => self.cancel(current, reason.clone()),
            (Act::Decide(decide), _) => self.decide(decide),
        }
    }

    /// The claim that a caller names, if it is theirs and lives.
    fn held(&self, claim: ClaimId, by: Author) -> Result<Claim, ReviewError> {
        let held = self.body.claim;
        held.filter(|held| held.id == claim && held.by == by)
            .ok_or(ReviewError::ClaimLost)
    }

    fn claim(&mut self, asked: &ClaimStep) -> Result<(), ReviewError> {
        if let Some(named) = asked.step
            && self.body.step(named).is_none()
        {
            return Err(ReviewError::NoStep);
        }
        if let Some(held) = self.body.claim {
            let same = held.by == asked.by && asked.step.is_none_or(|step| step == held.step);
            return if same {
                self.extend(&held, asked)
            } else {
                Err(ReviewError::StepUnavailable)
            };
        }
        let step = self.free_step(asked.step)?;
        self.leave_a_turn_for_the_gate()?;
        let begun = turns::claim(&self.body, (asked.operation, asked.credential), None);
        self.run(&begun)?;
        let lease_expires_at = self.lease(asked);
        self.push(ReviewEvent::StepClaimed(StepClaimed {
            at: self.stamp.at,
            claim: asked.claim,
            step,
            by: asked.by,
            credential: asked.credential,
            lease_expires_at,
        }));
        Ok(())
    }

    fn free_step(&self, named: Option<StepId>) -> Result<StepId, ReviewError> {
        let mut free = self.body.steps.iter().filter(|step| !step.is_done);
        let found = free.find(|step| named.is_none_or(|id| id == step.id));
        found
            .map(|step| step.id)
            .ok_or(ReviewError::StepUnavailable)
    }

    /// A review whose last turn went to a step could never be approved.
    fn leave_a_turn_for_the_gate(&self) -> Result<(), ReviewError> {
        let run = self.body.run.body();
        match run.filter(|run| run.steps_used + 1 >= run.max_steps) {
            Some(run) => Err(ReviewError::LimitReached {
                what: "turns of a review, of which the last is kept for its gate",
                limit: run.max_steps as usize,
            }),
            None => Ok(()),
        }
    }

    fn lease(&self, asked: &ClaimStep) -> Timestamp {
        let until = self.stamp.at.plus(asked.lease);
        let ends = self.body.run.body().map(|run| run.expires_at);
        ends.map_or(until, |ends| until.min(ends))
    }

    fn extend(&mut self, held: &Claim, asked: &ClaimStep) -> Result<(), ReviewError> {
        if self.body.extensions >= EXTENSIONS_LIMIT {
            return Err(ReviewError::LimitReached {
                what: "extensions of leases in a review",
                limit: EXTENSIONS_LIMIT as usize,
            });
        }
        self.push(ReviewEvent::LeaseExtended(LeaseExtended {
            at: self.stamp.at,
            claim: held.id,
            credential: asked.credential,
            lease_expires_at: self.lease(asked).max(held.lease_expires_at),
        }));
        Ok(())
    }

    fn submit(
        &mut self,
        held: &Claim,
        findings: &[NewFinding],
        finality: Finality,
    ) -> Result<(), ReviewError> {
        if self.body.findings.len() + findings.len() > FINDINGS_LIMIT {
            return Err(ReviewError::LimitReached {
                what: "findings",
                limit: FINDINGS_LIMIT,
            });
        }
        let ids: Vec<FindingId> = findings.iter().map(|finding| finding.id).collect();
        if !findings.is_empty() {
            self.push(ReviewEvent::FindingsSubmitted(Box::new(
                FindingsSubmitted {
                    at: self.stamp.at,
                    claim: held.id,
                    step: held.step,
                    findings: findings.iter().map(stored).collect(),
                },
            )));
        }
        match finality {
            Finality::Final => self.finish(held, &ids),
            Finality::More if findings.is_empty() => Err(ReviewError::NothingSubmitted),
            Finality::More => {
                let reentered = reentered(self.body.version(), &ids, self.stamp);
                self.push(ReviewEvent::Run(reentered));
                Ok(())
            }
        }
    }

    fn finish(&mut self, held: &Claim, findings: &[FindingId]) -> Result<(), ReviewError> {
        let ended = turns::finish(&self.body, turns::step_done(&self.body, held, findings));
        self.push(ReviewEvent::StepFinished(StepFinished {
            at: self.stamp.at,
            claim: held.id,
            step: held.step,
        }));
        ended.map_or(Ok(()), |ended| self.run(&ended))
    }

    fn cancel(&mut self, expected: u64, reason: Option<Text<1000>>) -> Result<(), ReviewError> {
        self.run(&RunCommand::Cancel { expected, reason })
    }

    fn decide(&mut self, asked: &Decide) -> Result<(), ReviewError> {
        if self.body.state() != ReviewState::AwaitingGate {
            return Err(ReviewError::GateClosed);
        }
        let turn = (asked.operation, asked.credential);
        let begun = turns::claim(&self.body, turn, Some(asked.verdict));
        self.run(&begun)?;
        let ended = turns::finish(&self.body, turns::decided(&self.body, asked.verdict));
        self.push(ReviewEvent::GateDecided(Box::new(GateDecided {
            at: self.stamp.at,
            gate: self.body.gate(),
            verdict: asked.verdict,
            by: asked.by,
            reason: asked
                .reason
                .as_ref()
                .map(|reason| Sealed::Open(reason.as_str().to_owned())),
        })));
        ended.map_or(Ok(()), |ended| self.run(&ended))
    }
}

/// Findings come in while a step is under way: the run has the evidence, and its turn goes on.
fn reentered(version: u64, findings: &[FindingId], stamp: Stamp) -> RunEvent {
    RunEvent::EvidenceReentered(Box::new(Fact {
        public: ReenteredPublic {
            version,
            observation_refs: Vec::new(),
            evidence_refs: findings.iter().map(FindingId::to_string).collect(),
            receipt_refs: Vec::new(),
            evidence_is_terminal_answer: false,
        },
        state: Moment { at: stamp.at },
    }))
}

fn stored(finding: &NewFinding) -> Finding {
    let refs = finding.refs.iter().map(|text| text.as_str().to_owned());
    Finding {
        finding: finding.id,
        kind: finding.kind,
        severity: finding.severity,
        title: Sealed::Open(finding.title.as_str().to_owned()),
        detail: Sealed::Open(finding.detail.as_str().to_owned()),
        refs: Sealed::Open(refs.collect()),
    }
}
