//! A row of a review says beforehand what time alone will make of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use helix_aggregates::access::author::Author;
use helix_aggregates::access::review::Review;
use helix_aggregates::access::review::command::{
    Act, ClaimStep, NewReview, NewStep, ReviewAct, ReviewCommand,
};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{
    BriefId, ClaimId, GrantId, OperationId, OwnerTuple, ProjectId, ReviewId, StepId, WorkspaceId,
};
use helix_aggregates::text::Text;
use helix_aggregates::time::{Stamp, Timestamp};
use helix_projections::access::review::ReviewRow;
use uuid::Uuid;

fn at(seconds: i64) -> Stamp {
    Stamp {
        at: Timestamp::from_millis(seconds * 1_000),
    }
}

fn apply(review: &mut Review, command: &ReviewCommand) {
    for event in review.decide(command, at(0)).unwrap() {
        review.evolve(&event);
    }
}

/// One step, claimed for 300 seconds of an hour.
fn claimed() -> Review {
    let id = Uuid::from_u128(7);
    let author = Author::Grant(GrantId::new(id));
    let owner = OwnerTuple {
        tenant: "ws".to_owned(),
        issuer: "https://helix.example".to_owned(),
        subject: "workspace:ws".to_owned(),
        profile: "ws".to_owned(),
    };
    let mut review = Review::default();
    apply(
        &mut review,
        &ReviewCommand::Start(Box::new(NewReview {
            workspace: WorkspaceId::new(id),
            project: ProjectId::new(id),
            brief: BriefId::new(id),
            brief_version: 1,
            title: "Tides".to_owned(),
            author,
            owner,
            objective: Text::parse("Review it.").unwrap(),
            constraints: Vec::new(),
            expires_in: Duration::from_secs(3_600),
            steps: vec![NewStep {
                id: StepId::new(id),
                title: "Neap".to_owned(),
            }],
        })),
    );
    let act = Act::Claim(ClaimStep {
        claim: ClaimId::new(id),
        operation: OperationId::new(id),
        step: None,
        lease: Duration::from_secs(300),
        by: author,
        credential: id,
    });
    let claim = ReviewAct {
        expected_version: 1,
        dead_claim: None,
        act,
    };
    apply(&mut review, &ReviewCommand::Act(Box::new(claim)));
    review
}

#[test]
fn a_row_shows_at_any_time_what_the_review_is_by_then() {
    let review = claimed();
    let id = ReviewId::new(Uuid::from_u128(7));
    let row = ReviewRow::of(&review, id).unwrap();
    for (seconds, state) in [
        (0, "claimed"),
        (299, "claimed"),
        (300, "open"),
        (3_599, "open"),
        (3_600, "failed"),
        (1_000_000, "failed"),
    ] {
        let shown = row.at(at(seconds).at);
        assert_eq!(shown.state, state, "after {seconds} s");
        // The sweeper looks a second after each moment.
        let settled = [300, 3_600]
            .iter()
            .filter(|due| **due <= seconds)
            .fold(review.clone(), |review, due| review.settled(None, at(*due)));
        assert_eq!(*shown, ReviewRow::of(&settled, id).unwrap().now);
    }
}

#[test]
fn a_row_without_the_key_still_shows_the_state() {
    let stored = serde_json::to_string(&claimed()).unwrap();
    let closed = stored.replace("\"$open\":\"Tides\"", "\"$sealed\":\"x\"");
    let review: Review = serde_json::from_str(&closed).unwrap();
    let row = ReviewRow::of(&review, ReviewId::new(Uuid::from_u128(7))).unwrap();
    assert_eq!(
        (row.title.as_str(), row.now.state.as_str()),
        ("[erased]", "claimed")
    );
}
