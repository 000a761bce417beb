//! What holds for any sequence of acts on a review, at any pace.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use helix_aggregates::access::author::Author;
use helix_aggregates::access::review::command::{
    Act, ClaimStep, Decide, Finality, NewReview, NewStep, ReviewAct, ReviewCommand, Verdict,
};
use helix_aggregates::access::review::event::ReviewEvent;
use helix_aggregates::access::review::finding::{FindingKind, NewFinding, Severity};
use helix_aggregates::access::review::{Body, Review, ReviewState};
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::status::Completion;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{
    AccountId, BriefId, ClaimId, FindingId, GrantId, OperationId, OwnerTuple, ProjectId, StepId,
    WorkspaceId,
};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

/// Stands in every text a person or an agent wrote.
const CANARY: &str = "canary-kestrel";

/// One attempt, relative to the state it meets.
#[derive(Debug, Clone)]
enum Attempt {
    Claim {
        by: u128,
        step: Option<u128>,
    },
    Submit {
        by: u128,
        count: u128,
        finality: Finality,
    },
    Release {
        by: u128,
    },
    Cancel {
        by: u128,
    },
    Decide {
        verdict: Verdict,
    },
    Settle {
        kill: bool,
    },
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let finality = prop_oneof![Just(Finality::More), Just(Finality::Final)];
    prop_oneof![
        6 => (1_u128..3, proptest::option::of(1_u128..4))
            .prop_map(|(by, step)| Attempt::Claim { by, step }),
        8 => (1_u128..3, 0_u128..3, finality)
            .prop_map(|(by, count, finality)| Attempt::Submit { by, count, finality }),
        2 => (1_u128..3).prop_map(|by| Attempt::Release { by }),
        1 => (1_u128..40).prop_map(|by| Attempt::Cancel { by }),
        4 => prop_oneof![Just(Verdict::Reject), Just(Verdict::Approve)]
            .prop_map(|verdict| Attempt::Decide { verdict }),
        2 => any::<bool>().prop_map(|kill| Attempt::Settle { kill }),
    ]
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn agent(number: u128) -> Author {
    Author::Grant(GrantId::new(id(number)))
}

fn start() -> ReviewCommand {
    let steps = (1..4).map(|number| NewStep {
        id: StepId::new(id(number)),
        title: CANARY.to_owned(),
    });
    ReviewCommand::Start(Box::new(NewReview {
        workspace: WorkspaceId::new(id(1)),
        project: ProjectId::new(id(2)),
        brief: BriefId::new(id(3)),
        brief_version: 1,
        title: CANARY.to_owned(),
        author: agent(1),
        owner: OwnerTuple {
            tenant: "ws".to_owned(),
            issuer: "https://helix.example".to_owned(),
            subject: "workspace:ws".to_owned(),
            profile: "ws".to_owned(),
        },
        objective: Text::parse(CANARY).unwrap(),
        constraints: vec![CANARY.to_owned()],
        expires_in: Duration::from_secs(3_600),
        steps: steps.collect(),
    }))
}

fn finding(number: u128) -> NewFinding {
    NewFinding {
        id: FindingId::new(id(number)),
        kind: FindingKind::Note,
        severity: Severity::Info,
        title: Text::parse(CANARY).unwrap(),
        detail: Text::parse(CANARY).unwrap(),
        refs: vec![Text::parse(CANARY).unwrap()],
    }
}

fn command(body: &Body, number: u128, attempt: &Attempt) -> ReviewCommand {
    let held = body.claim;
    let claim = held.map_or(ClaimId::new(id(0)), |claim| claim.id);
    let act = match attempt {
        Attempt::Settle { kill } => {
            return ReviewCommand::Settle {
                dead_claim: held.filter(|_| *kill).map(|held| held.of_credential()),
            };
        }
        Attempt::Claim { by, step } => Act::Claim(ClaimStep {
            claim: ClaimId::new(id(number)),
            operation: OperationId::new(id(number)),
            step: step.map(|step| StepId::new(id(step))),
            lease: Duration::from_secs(300),
            by: agent(*by),
            credential: id(*by),
        }),
        Attempt::Submit {
            by,
            count,
            finality,
        } => Act::Submit {
            claim,
            by: agent(*by),
            findings: (0..*count).map(|one| finding(number * 10 + one)).collect(),
            finality: *finality,
        },
        Attempt::Release { by } => Act::Release {
            claim,
            by: agent(*by),
        },
        Attempt::Cancel { by } => Act::Cancel {
            by: agent(*by),
            reason: Some(Text::parse(CANARY).unwrap()),
        },
        Attempt::Decide { verdict } => Act::Decide(Decide {
            verdict: *verdict,
            reason: Some(Text::parse(CANARY).unwrap()),
            by: AccountId::new(id(9)),
            operation: OperationId::new(id(number)),
            credential: id(9),
        }),
    };
    ReviewCommand::Act(Box::new(ReviewAct {
        expected_version: body.version(),
        dead_claim: None,
        act,
    }))
}

/// What holds in every state.
fn check(body: &Body, before: &Body) {
    let state = body.state();
    assert_eq!(
        state == ReviewState::Claimed,
        matches!(body.run, Run::Running { .. })
    );
    assert_eq!(body.claim.is_some(), state == ReviewState::Claimed);
    let asks = body.run.completion() == Some(Completion::NeedsInput);
    assert_eq!(state == ReviewState::AwaitingGate, asks);
    assert!(body.findings.starts_with(&before.findings));
    assert!(body.version() >= before.version());
    if state == ReviewState::Completed {
        let decision = body.decision.as_ref().unwrap();
        assert_eq!(decision.verdict, Verdict::Approve);
        assert!(body.steps.iter().all(|step| step.is_done));
    }
    if let Some(claim) = body.claim {
        assert!(!body.step(claim.step).unwrap().is_done);
    }
}

fn texts_are_sealed(events: &[ReviewEvent]) {
    for event in events {
        let mut stored = serde_json::to_value(event).unwrap();
        close(&mut stored);
        assert!(!stored.to_string().contains(CANARY), "{stored}");
    }
}

/// Takes away what the store encrypts.
fn close(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) if members.contains_key("$open") => members.clear(),
        serde_json::Value::Object(members) => members.values_mut().for_each(close),
        serde_json::Value::Array(items) => items.iter_mut().for_each(close),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => {}
    }
}

proptest! {
    #[test]
    fn a_review_is_sound_whatever_happens(attempts in vec((attempt(), 0_i64..200), 1..60)) {
        let mut review = Review::default();
        let mut log: Vec<ReviewEvent> = Vec::new();
        let mut now = 0;
        let mut done = |review: &mut Review, command: &ReviewCommand, now: i64| {
            let stamp = Stamp { at: Timestamp::from_millis(now * 1_000) };
            let events = review.decide(command, stamp).unwrap_or_default();
            texts_are_sealed(&events);
            for event in events {
                review.evolve(&event);
                log.push(event);
            }
        };
        done(&mut review, &start(), now);
        for (number, (attempt, pause)) in (100..).zip(&attempts) {
            now += pause;
            let before = review.body().unwrap().clone();
            let was_closed = before.state().is_closed();
            let command = command(&before, number, attempt);
            done(&mut review, &command, now);
            let after = review.body().unwrap();
            check(after, &before);
            prop_assert!(!was_closed || *after == before);
        }
        let mut folded = Review::default();
        for event in &log {
            folded.evolve(event);
        }
        prop_assert_eq!(folded, review);
    }
}
