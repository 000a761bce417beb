use std::time::Duration;

use uuid::Uuid;

use super::command::{
    Act, ClaimStep, DeadClaim, Decide, Finality, NewReview, NewStep, ReviewAct, ReviewCommand,
    Verdict,
};
use super::error::ReviewError;
use super::finding::{FindingKind, NewFinding, Severity};
use super::{BUDGET, Body, Review, ReviewState};
use crate::access::author::Author;
use crate::agent::run::status::{Completion, Lifecycle};
use crate::decider::{Decider, WireEvent};
use crate::ids::{
    AccountId, BriefId, ClaimId, FindingId, GrantId, OperationId, OwnerTuple, ProjectId, StepId,
    WorkspaceId,
};
use crate::text::Text;
use crate::time::{Stamp, Timestamp};

const HOUR: u64 = 3_600;

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn step(number: u128) -> StepId {
    StepId::new(id(number))
}

fn agent(number: u128) -> Author {
    Author::Grant(GrantId::new(id(number)))
}

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(seconds * 1_000),
    }
}

/// A review under test, and the names of the events of its latest act.
struct Case {
    review: Review,
    names: Vec<&'static str>,
    now: i64,
    claims: u128,
}

impl Case {
    fn started(steps: u128) -> Self {
        let mut case = Self {
            review: Review::Absent,
            names: Vec::new(),
            now: 0,
            claims: 0,
        };
        let new = NewReview {
            workspace: WorkspaceId::new(id(1)),
            project: ProjectId::new(id(2)),
            brief: BriefId::new(id(3)),
            brief_version: 1,
            title: "Ferry".to_owned(),
            author: agent(10),
            owner: OwnerTuple {
                tenant: "ws".to_owned(),
                issuer: "https://helix.example".to_owned(),
                subject: "workspace:ws".to_owned(),
                profile: "ws".to_owned(),
            },
            objective: Text::parse("Review it.").unwrap(),
            constraints: Vec::new(),
            expires_in: Duration::from_secs(HOUR),
            steps: (1..=steps)
                .map(|number| NewStep {
                    id: step(number),
                    title: format!("Step {number}"),
                })
                .collect(),
        };
        case.send(&ReviewCommand::Start(Box::new(new))).unwrap();
        case
    }

    fn send(&mut self, command: &ReviewCommand) -> Result<(), ReviewError> {
        let events = self.review.decide(command, at(self.now))?;
        for event in &events {
            self.review.evolve(event);
        }
        self.names = events.iter().map(WireEvent::name).collect();
        Ok(())
    }

    fn body(&self) -> &Body {
        self.review.body().unwrap()
    }

    fn act_at(&mut self, expected_version: u64, act: Act) -> Result<(), ReviewError> {
        self.send(&ReviewCommand::Act(Box::new(ReviewAct {
            expected_version,
            dead_claim: None,
            act,
        })))
    }

    /// At the version the review is at.
    fn act(&mut self, act: Act) -> Result<(), ReviewError> {
        self.act_at(self.body().version(), act)
    }

    fn claim(&mut self, by: u128, step: Option<StepId>) -> Result<ClaimId, ReviewError> {
        self.claims += 1;
        let claim = ClaimId::new(id(1_000 + self.claims));
        self.act(Act::Claim(ClaimStep {
            claim,
            operation: OperationId::new(id(2_000 + self.claims)),
            step,
            lease: Duration::from_secs(300),
            by: agent(by),
            credential: id(by),
        }))?;
        Ok(claim)
    }

    fn submit(
        &mut self,
        claim: ClaimId,
        count: u128,
        finality: Finality,
    ) -> Result<(), ReviewError> {
        let first = self.body().findings.len() as u128;
        let findings = (0..count).map(|number| NewFinding {
            id: FindingId::new(id(3_000 + first + number)),
            kind: FindingKind::Issue,
            severity: Severity::Minor,
            title: Text::parse("A gap").unwrap(),
            detail: Text::parse("Nothing says when.").unwrap(),
            refs: Vec::new(),
        });
        let findings = findings.collect();
        let by = agent(10);
        self.act(Act::Submit {
            claim,
            by,
            findings,
            finality,
        })
    }

    fn step_through(&mut self) {
        let claim = self.claim(10, None).unwrap();
        self.submit(claim, 1, Finality::Final).unwrap();
    }

    fn gate(&mut self, verdict: Verdict) -> Result<(), ReviewError> {
        self.act(Act::Decide(Decide {
            verdict,
            reason: None,
            by: AccountId::new(id(9)),
            operation: OperationId::new(id(4_000)),
            credential: id(9),
        }))
    }

    fn statuses(&self) -> (Option<Lifecycle>, Option<Completion>) {
        (self.body().run.lifecycle(), self.body().run.completion())
    }
}

#[test]
fn a_review_is_a_run_that_a_person_completes_at_its_gate() {
    let mut case = Case::started(2);
    assert_eq!(case.names, ["review_opened", "run_started"]);
    assert_eq!(case.body().state(), ReviewState::Open);
    let claim = case.claim(10, None).unwrap();
    assert_eq!(case.names, ["continuation_received", "review_step_claimed"]);
    assert_eq!(case.body().state(), ReviewState::Claimed);
    case.submit(claim, 2, Finality::More).unwrap();
    assert_eq!(
        case.names,
        ["review_findings_submitted", "evidence_reentered"]
    );
    assert_eq!(case.body().version(), 2, "the turn goes on");
    case.submit(claim, 1, Finality::Final).unwrap();
    assert_eq!(
        case.names,
        [
            "review_findings_submitted",
            "review_step_finished",
            "evidence_reentered",
            "issues_resolved",
            "terminal_authority_evaluated",
            "run_waiting"
        ]
    );
    assert_eq!(case.body().state(), ReviewState::Open);
    let claim = case.claim(10, None).unwrap();
    case.submit(claim, 0, Finality::Final).unwrap();
    assert!(case.names.contains(&"input_requested"));
    assert_eq!(case.body().state(), ReviewState::AwaitingGate);
    assert_eq!(
        case.statuses(),
        (Some(Lifecycle::Waiting), Some(Completion::NeedsInput))
    );
    case.gate(Verdict::Approve).unwrap();
    assert_eq!(
        case.names,
        [
            "continuation_received",
            "review_gate_decided",
            "terminal_authority_evaluated",
            "run_completed"
        ]
    );
    assert_eq!(case.body().state(), ReviewState::Completed);
    assert_eq!(case.body().findings.len(), 3);
}

#[test]
fn a_rejected_gate_opens_the_steps_again_and_keeps_the_findings() {
    let mut case = Case::started(1);
    case.step_through();
    case.gate(Verdict::Reject).unwrap();
    assert_eq!(*case.names.last().unwrap(), "run_blocked");
    assert_eq!(case.body().state(), ReviewState::Open);
    assert_eq!(case.body().findings.len(), 1);
    assert_eq!(case.body().gate(), 2);
    case.step_through();
    assert_eq!(case.body().state(), ReviewState::AwaitingGate);
    case.gate(Verdict::Approve).unwrap();
    assert_eq!(case.body().state(), ReviewState::Completed);
}

#[test]
fn a_gate_that_is_not_open_takes_no_decision_and_an_open_one_no_claim() {
    let mut case = Case::started(1);
    assert_eq!(case.gate(Verdict::Approve), Err(ReviewError::GateClosed));
    case.step_through();
    assert_eq!(case.claim(10, None), Err(ReviewError::StepUnavailable));
}

#[test]
fn one_claim_lives_and_its_holder_extends_it() {
    let mut case = Case::started(2);
    let claim = case.claim(10, Some(step(2))).unwrap();
    assert_eq!(case.claim(11, None), Err(ReviewError::StepUnavailable));
    assert_eq!(
        case.claim(10, Some(step(1))),
        Err(ReviewError::StepUnavailable)
    );
    assert_eq!(case.claim(10, Some(step(9))), Err(ReviewError::NoStep));
    case.now = 200;
    case.claim(10, None).unwrap();
    assert_eq!(case.names, ["review_lease_extended"]);
    assert_eq!(case.body().version(), 2);
    let held = case.body().claim.unwrap();
    assert_eq!((held.id, held.lease_expires_at), (claim, at(500).at));
}

#[test]
fn a_lease_that_ran_out_fences_its_holder_and_frees_the_step() {
    let mut case = Case::started(1);
    let late = case.claim(10, None).unwrap();
    case.now = 300;
    let before = case.review.clone();
    assert_eq!(
        case.submit(late, 1, Finality::Final),
        Err(ReviewError::ClaimLost)
    );
    assert_eq!(case.review, before);
    let settled = case.review.settled(None, at(case.now));
    let version = settled.body().unwrap().version();
    case.act_at(
        version,
        Act::Claim(ClaimStep {
            claim: ClaimId::new(id(77)),
            operation: OperationId::new(id(78)),
            step: None,
            lease: Duration::from_secs(30),
            by: agent(11),
            credential: id(11),
        }),
    )
    .unwrap();
    assert_eq!(
        case.names,
        [
            "review_claim_ended",
            "terminal_authority_evaluated",
            "run_waiting",
            "continuation_received",
            "review_step_claimed"
        ]
    );
    assert_eq!(
        case.submit(late, 1, Finality::Final),
        Err(ReviewError::ClaimLost)
    );
}

#[test]
fn a_claim_ends_with_its_credential() {
    let mut case = Case::started(1);
    let claim = case.claim(10, None).unwrap();
    let dead = DeadClaim {
        claim,
        credential: id(10),
    };
    let lost = case.review.settled(Some(dead), at(1));
    assert_eq!(lost.body().unwrap().state(), ReviewState::Open);
    let other_claim = DeadClaim {
        claim: ClaimId::new(id(5)),
        ..dead
    };
    // It was extended with a credential that lives.
    let other_credential = DeadClaim {
        credential: id(11),
        ..dead
    };
    for other in [other_claim, other_credential] {
        assert_eq!(case.review.settled(Some(other), at(1)), case.review);
    }
}

#[test]
fn what_is_given_back_is_open_at_once() {
    let mut case = Case::started(1);
    let claim = case.claim(10, None).unwrap();
    let by = agent(11);
    assert_eq!(
        case.act(Act::Release { claim, by }),
        Err(ReviewError::ClaimLost)
    );
    let by = agent(10);
    case.act(Act::Release { claim, by }).unwrap();
    assert_eq!(*case.names.last().unwrap(), "run_waiting");
    assert_eq!(case.body().state(), ReviewState::Open);
    case.claim(11, None).unwrap();
}

#[test]
fn a_review_expires_whatever_it_is_at() {
    for stage in 0..3 {
        let mut case = Case::started(1);
        match stage {
            0 => {}
            1 => case.claim(10, None).map(drop).unwrap(),
            _ => case.step_through(),
        }
        case.now = i64::try_from(HOUR).unwrap();
        let command = ReviewCommand::Settle { dead_claim: None };
        case.send(&command).unwrap();
        assert_eq!(*case.names.last().unwrap(), "run_failed");
        assert_eq!(case.body().state(), ReviewState::Failed);
        assert_eq!(case.body().due(), None);
        assert_eq!(case.claim(10, None), Err(ReviewError::Closed));
    }
}

#[test]
fn only_whoever_started_a_review_cancels_it_and_a_holder_then_has_nothing() {
    let mut case = Case::started(1);
    let claim = case.claim(10, None).unwrap();
    let cancel = |by| Act::Cancel {
        by: agent(by),
        reason: None,
    };
    assert_eq!(case.act(cancel(11)), Err(ReviewError::NotYours));
    assert_eq!(
        case.act_at(1, cancel(10)),
        Err(ReviewError::VersionConflict { current: 2 })
    );
    case.act(cancel(10)).unwrap();
    assert_eq!(case.names, ["run_cancelled"]);
    assert_eq!(case.body().state(), ReviewState::Cancelled);
    assert_eq!(case.body().claim, None);
    assert_eq!(
        case.submit(claim, 1, Finality::Final),
        Err(ReviewError::Closed)
    );
}

#[test]
fn findings_have_a_limit_and_nothing_is_no_submission() {
    let mut case = Case::started(1);
    let claim = case.claim(10, None).unwrap();
    assert_eq!(
        case.submit(claim, 0, Finality::More),
        Err(ReviewError::NothingSubmitted)
    );
    for _ in 0..25 {
        case.submit(claim, 20, Finality::More).unwrap();
    }
    assert!(matches!(
        case.submit(claim, 1, Finality::More),
        Err(ReviewError::LimitReached { limit: 500, .. })
    ));
    case.submit(claim, 0, Finality::Final).unwrap();
    assert_eq!(case.body().state(), ReviewState::AwaitingGate);
}

#[test]
fn the_last_turn_is_kept_for_the_gate() {
    let mut case = Case::started(1);
    let by = agent(10);
    for _ in 0..BUDGET - 2 {
        let claim = case.claim(10, None).unwrap();
        case.act(Act::Release { claim, by }).unwrap();
    }
    case.step_through();
    case.gate(Verdict::Approve).unwrap();
    assert_eq!(case.body().state(), ReviewState::Completed);

    let mut case = Case::started(2);
    for _ in 0..BUDGET - 1 {
        let claim = case.claim(10, None).unwrap();
        case.act(Act::Release { claim, by }).unwrap();
    }
    assert!(matches!(
        case.claim(10, None),
        Err(ReviewError::LimitReached { limit: 64, .. })
    ));
}
