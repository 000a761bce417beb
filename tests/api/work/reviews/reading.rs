use helix::testing::TestApp;
use serde_json::{Value, json};

use super::{ALL, Place, finding};
use crate::process::rebuild;
use crate::races::beside::Beside;
use crate::work::client::text;

fn titles(seen: &Value) -> Vec<String> {
    let findings = seen["findings"].as_array().unwrap();
    findings.iter().map(|one| text(&one["title"])).collect()
}

#[tokio::test]
async fn findings_are_read_by_page_and_after_one_that_is_known() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let claimed = place.claim(&place.agent, &review, "claim-one").await;
    let claim = text(&claimed.ok(201).body["claim"]["claim_id"]);
    for number in 0..3 {
        let pair = [format!("a{number}"), format!("b{number}")];
        let wish = json!({ "findings": pair.map(|title| finding(&title)), "final": false });
        let key = format!("submit-{number}");
        place.submit(&review, &claim, &key, wish).await.ok(201);
    }
    let at = place.at(&review);
    let first = place.agent.get(&format!("{at}?limit=3")).await.ok(200).body;
    assert_eq!(titles(&first), ["a0", "b0", "a1"]);
    let one = &first["findings"][0];
    assert_eq!(one["severity"], "major");
    assert_eq!(one["refs"], json!(["line 3"]));
    assert_eq!(one["claim_id"], claim);
    let cursor = text(&first["next_cursor"]);
    let next = format!("{at}?limit=3&cursor={cursor}");
    let next = place.agent.get(&next).await.ok(200).body;
    assert_eq!(titles(&next), ["b1", "a2", "b2"]);
    assert!(next["next_cursor"].is_null());
    let known = text(&next["findings"][0]["finding_id"]);
    let after = format!("{at}?after_finding={known}");
    let after = place.agent.get(&after).await.ok(200).body;
    assert_eq!(titles(&after), ["a2", "b2"]);
    let unknown = format!("{at}?after_finding=fnd_none");
    place.agent.get(&unknown).await.expect(404, "not_found");
    let foreign = place.agent.beside(ALL, &[]).await;
    let stolen = format!("{at}?limit=3&cursor={cursor}");
    foreign.get(&stolen).await.expect(400, "invalid_request");
    app.finish().await;
}

#[tokio::test]
async fn a_submission_is_checked_whole_and_changes_nothing_when_it_is_refused() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let claimed = place.claim(&place.agent, &review, "claim-one").await;
    let claim = text(&claimed.ok(201).body["claim"]["claim_id"]);
    let bad = [
        (
            json!({ "findings": [finding("x"), { "kind": "rumour" }], "final": false }),
            "invalid_request",
        ),
        (
            json!({ "findings": vec![finding("x"); 21], "final": false }),
            "invalid_request",
        ),
        (json!({ "findings": [], "final": false }), "invalid_request"),
        (json!({ "findings": [], "final": "yes" }), "invalid_request"),
        (
            json!({ "findings": [finding("tab\tbed")], "final": true }),
            "invalid_request",
        ),
        (
            json!({ "findings": [finding(&place.agent.token)], "final": true }),
            "credential_in_content",
        ),
    ];
    for (number, (wish, code)) in bad.into_iter().enumerate() {
        let key = format!("bad-number-{number}");
        let refused = place.submit(&review, &claim, &key, wish).await;
        refused.expect(400, code);
    }
    let seen = place.see(&review).await;
    assert_eq!(seen["review"]["finding_count"], 0);
    assert_eq!(seen["review"]["state"], "claimed");
    app.finish().await;
}

#[tokio::test]
async fn reviews_are_listed_by_brief_and_state_and_within_reach_alone() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let mut started = Vec::new();
    for number in 0..3 {
        started.push(place.start(&format!("review-{number}")).await);
    }
    let cancel = format!("{}/cancel", place.at(&started[1]));
    let wish = json!({ "expected_version": 1 });
    place.agent.post(&cancel, "cancel-one", &wish).await.ok(200);
    let ids = |seen: &Value| -> Vec<String> {
        let reviews = seen["reviews"].as_array().unwrap();
        reviews.iter().map(|one| text(&one["review_id"])).collect()
    };
    let list = place.reviews();
    let open = format!("{list}?state=open&brief_id={}", place.brief);
    let open = place.agent.get(&open).await.ok(200).body;
    assert_eq!(ids(&open), [started[2].clone(), started[0].clone()]);
    let page = place
        .agent
        .get(&format!("{list}?limit=2"))
        .await
        .ok(200)
        .body;
    assert_eq!(ids(&page), [started[2].clone(), started[1].clone()]);
    let next = format!("{list}?limit=2&cursor={}", text(&page["next_cursor"]));
    let next = place.agent.get(&next).await.ok(200).body;
    assert_eq!(ids(&next), [started[0].clone()]);
    assert!(next["next_cursor"].is_null());

    let other = place.agent.project("ebb").await;
    let narrow = place.agent.beside(ALL, &[&other]).await;
    for path in [list.clone(), place.at(&started[0]), place.at("rev_none")] {
        let refused = narrow.get(&path).await;
        refused.expect(403, "PROJECT_ACCESS_DENIED");
    }
    // A brief is no review, and a review of one project none of another.
    let as_review = place.brief.replace("brf_", "rev_");
    let as_brief = started[0].replace("rev_", "brf_");
    let elsewhere = format!("/projects/{other}/reviews/{}", started[0]);
    let brief = format!("/projects/{}/briefs/{as_brief}", place.project);
    for path in [place.at(&as_review), elsewhere, brief] {
        place.agent.get(&path).await.expect(404, "not_found");
    }
    app.finish().await;
}

#[tokio::test]
async fn rows_that_were_lost_are_made_again_from_the_events() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    place.step_through(&review, "spring").await;
    let lists = [
        place.reviews(),
        format!("/projects/{}/briefs", place.project),
    ];
    let mut before = Vec::new();
    for list in &lists {
        before.push(place.agent.get(list).await.ok(200).body);
    }
    let mut beside = Beside::open(&app).await;
    beside
        .run(
            "update es.stream set status = 'lost', due_at_ms = null, body = null
              where kind in ('brief', 'review')",
        )
        .await;
    for list in &lists {
        place.agent.get(list).await.expect(500, "internal_error");
    }
    rebuild(&app).await;
    for (list, before) in lists.iter().zip(before) {
        assert_eq!(place.agent.get(list).await.ok(200).body, before);
    }
    app.finish().await;
}
