use std::time::Duration;

use helix::testing::TestApp;
use helix_aggregates::ids::WorkspaceId;
use serde_json::json;

use super::{ALL, Place, finding};
use crate::races::beside::Beside;
use crate::work::client::{Agent, text};

#[tokio::test]
async fn of_sixteen_claims_at_once_one_is_made() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let path = format!("{}/claims", place.at(&review));
    let mut agents = Vec::new();
    for _ in 0..16 {
        agents.push(place.agent.beside(ALL, &[]).await);
    }
    let wish = json!({ "expected_version": 1 });
    let claims = agents
        .iter()
        .map(|agent| agent.post(&path, "claim-at-once", &wish));
    let answers = futures_util::future::join_all(claims).await;
    let made: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 201)
        .collect();
    assert_eq!(made.len(), 1);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        let code = answer.body["error"].as_str().unwrap();
        assert!(
            ["version_conflict", "step_unavailable"].contains(&code),
            "{code}"
        );
    }
    assert_eq!(place.see(&review).await["review"]["version"], 2);
    app.finish().await;
}

#[tokio::test]
async fn a_holder_extends_its_lease_and_a_key_claims_once() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let first = place
        .claim(&place.agent, &review, "claim-one")
        .await
        .ok(201)
        .body;
    let path = format!("{}/claims", place.at(&review));
    let wish = json!({ "expected_version": 1 });
    let again = place
        .agent
        .post(&path, "claim-one", &wish)
        .await
        .ok(201)
        .body;
    assert_eq!(again["idempotency_replayed"], true);
    assert_eq!(again["claim"], first["claim"]);
    app.advance(Duration::from_secs(60)).await;
    let longer = place
        .claim(&place.agent, &review, "claim-two")
        .await
        .ok(201)
        .body;
    assert_eq!(longer["claim"]["claim_id"], first["claim"]["claim_id"]);
    assert!(text(&longer["claim"]["lease_expires_at"]) > text(&first["claim"]["lease_expires_at"]));
    assert_eq!(longer["review"]["version"], first["review"]["version"]);
    let other = place.agent.beside(ALL, &[]).await;
    let refused = place.claim(&other, &review, "claim-other").await;
    let refused = refused.expect(409, "step_unavailable");
    assert_eq!(refused.body["retryable"], true);
    app.finish().await;
}

#[tokio::test]
async fn a_driver_that_was_paused_past_its_lease_cannot_finish() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let claimed = place
        .claim(&place.agent, &review, "claim-one")
        .await
        .ok(201)
        .body;
    let claim = text(&claimed["claim"]["claim_id"]);
    app.advance(Duration::from_secs(301)).await;
    let listed = place.agent.get(&place.reviews()).await.ok(200).body;
    assert_eq!(listed["reviews"][0]["state"], "open");
    let seen = place.see(&review).await;
    assert_eq!(seen["review"], listed["reviews"][0]);
    assert_eq!(seen["steps"][0]["state"], "open");
    // Neither at the version it knows nor at the one that is now.
    for (version, key) in [(2, "late-at-two"), (3, "late-at-three")] {
        let late =
            json!({ "findings": [finding("Late")], "final": true, "expected_version": version });
        let refused = place.submit(&review, &claim, key, late).await;
        refused.expect(409, "claim_lost");
    }
    let other = place.agent.beside(ALL, &[]).await;
    let taken = place
        .claim(&other, &review, "claim-other")
        .await
        .ok(201)
        .body;
    assert_eq!(taken["claim"]["step"], claimed["claim"]["step"]);
    let late = json!({ "findings": [], "final": true });
    let refused = place.submit(&review, &claim, "late-at-last", late).await;
    refused.expect(409, "claim_lost");
    assert_eq!(place.see(&review).await["review"]["finding_count"], 0);
    app.finish().await;
}

#[tokio::test]
async fn a_lease_that_ran_out_is_recorded_though_nobody_comes_back() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    place
        .claim(&place.agent, &review, "claim-one")
        .await
        .ok(201);
    app.advance(Duration::from_secs(301)).await;
    let expected = place.see(&review).await["review"]["version"].clone();
    app.settle().await;
    let open = "select count(*) from es.stream where kind = 'review' and status = 'open'";
    assert_eq!(Beside::open(&app).await.number(open).await, 1);
    let seen = place.see(&review).await;
    assert_eq!(seen["review"]["version"], expected);
    app.finish().await;
}

#[tokio::test]
async fn a_claim_ends_with_the_credential_that_holds_it() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let workspace = WorkspaceId::parse(&place.agent.workspace).unwrap();
    let (token, id) = app.named_token(workspace, ALL, &[]).await;
    let doomed = Agent {
        token,
        ..place.agent.clone()
    };
    place.claim(&doomed, &review, "claim-doomed").await.ok(201);
    app.revoke_named_token(id).await;
    let seen = place.see(&review).await;
    assert_eq!(seen["review"]["state"], "open");
    let open = format!("{}?state=open", place.reviews());
    let listed = place.agent.get(&open).await.ok(200).body;
    assert_eq!(listed["reviews"][0]["version"], seen["review"]["version"]);
    place
        .claim(&place.agent, &review, "claim-next")
        .await
        .ok(201);
    app.finish().await;
}

#[tokio::test]
async fn a_released_step_is_free_and_the_release_is_the_holders() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let claimed = place
        .claim(&place.agent, &review, "claim-one")
        .await
        .ok(201)
        .body;
    let claim = text(&claimed["claim"]["claim_id"]);
    let release = format!("{}/claims/{claim}/release", place.at(&review));
    let wish = json!({ "expected_version": 2 });
    let other = place.agent.beside(ALL, &[]).await;
    let refused = other.post(&release, "not-mine", &wish).await;
    refused.expect(409, "claim_lost");
    let released = place
        .agent
        .post(&release, "release-it", &wish)
        .await
        .ok(200)
        .body;
    assert_eq!(released["review"]["state"], "open");
    place.claim(&other, &review, "claim-next").await.ok(201);
    app.finish().await;
}

#[tokio::test]
async fn a_review_ends_at_its_expiry_whoever_holds_it() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let path = format!("{}/claims", place.at(&review));
    let wish = json!({ "expected_version": 1, "lease_seconds": 900 });
    app.advance(Duration::from_secs(86_400 - 600)).await;
    let claimed = place
        .agent
        .post(&path, "claim-late", &wish)
        .await
        .ok(201)
        .body;
    assert_eq!(
        claimed["claim"]["lease_expires_at"],
        claimed["review"]["expires_at"]
    );
    app.advance(Duration::from_secs(601)).await;
    let seen = place.see(&review).await;
    assert_eq!(seen["review"]["state"], "failed");
    assert_eq!(seen["run"]["completion_status"], "failed");
    let refused = place.claim(&place.agent, &review, "claim-after").await;
    refused.expect(409, "review_closed");
    app.finish().await;
}
