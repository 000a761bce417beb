//! Reviews: driven by agents, decided by people.

use helix::testing::TestApp;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Agent, text};
use super::decisions::agent_of;
use super::person::Person;
use crate::harness::{Answer, Client};

mod claims;
mod reading;

const ALL: &str = "brief:read brief:write review:run review:execute";
const WRITTEN: &str = "# Tides\n\n## Spring\n\nHigh.\n\n## Neap\n\nLow.\n";

/// A brief with a committed text, and who may work on it.
struct Place<'a> {
    owner: Person<'a>,
    agent: Agent<'a>,
    project: String,
    brief: String,
}

impl<'a> Place<'a> {
    async fn of(app: &'a TestApp) -> Self {
        let owner = Person::owner(app).await;
        let agent = agent_of(app, &owner).await.beside(ALL, &[]).await;
        let project = agent.project("tides").await;
        let briefs = format!("/projects/{project}/briefs");
        let new = json!({ "title": "Tides" });
        let made = agent.post(&briefs, "tides-brief", &new).await.ok(201).body;
        let brief = text(&made["brief"]["brief_id"]);
        let edit = json!({ "body": WRITTEN, "summary": "All.", "expected_version": 0 });
        let path = format!("{briefs}/{brief}/edit");
        owner.post(&path, &edit).await.ok(200);
        Self {
            owner,
            agent,
            project,
            brief,
        }
    }

    fn reviews(&self) -> String {
        format!("/projects/{}/reviews", self.project)
    }

    fn at(&self, review: &str) -> String {
        format!("{}/{review}", self.reviews())
    }

    async fn start(&self, key: &str) -> String {
        let wish = json!({ "brief_id": self.brief, "brief_version": 1 });
        let started = self.agent.post(&self.reviews(), key, &wish).await;
        text(&started.ok(201).body["review"]["review_id"])
    }

    async fn see(&self, review: &str) -> Value {
        self.agent.get(&self.at(review)).await.ok(200).body
    }

    async fn version(&self, review: &str) -> u64 {
        let seen = self.see(review).await;
        seen["review"]["version"].as_u64().unwrap()
    }

    /// Claims a step at the version the review is at.
    async fn claim(&self, agent: &Agent<'_>, review: &str, key: &str) -> Answer {
        let wish = json!({ "expected_version": self.version(review).await });
        let path = format!("{}/claims", self.at(review));
        agent.post(&path, key, &wish).await
    }

    async fn submit(&self, review: &str, claim: &str, key: &str, wish: Value) -> Answer {
        let mut wish = wish;
        if wish.get("expected_version").is_none() {
            wish["expected_version"] = self.version(review).await.into();
        }
        let path = format!("{}/claims/{claim}/submissions", self.at(review));
        self.agent.post(&path, key, &wish).await
    }

    /// Claims the next step and finishes it with one finding.
    async fn step_through(&self, review: &str, key: &str) {
        let claim_key = format!("{key}-claim");
        let claimed = self.claim(&self.agent, review, &claim_key).await;
        let claim = text(&claimed.ok(201).body["claim"]["claim_id"]);
        let wish = json!({ "findings": [finding("A gap")], "final": true });
        let key = format!("{key}-submit");
        self.submit(review, &claim, &key, wish).await.ok(201);
    }

    async fn decide(&self, who: &Person<'_>, review: &str, decision: &str) -> Answer {
        let version = self.version(review).await;
        let wish =
            json!({ "decision": decision, "expected_version": version, "reason": "As read." });
        who.post(&format!("{}/gate", self.at(review)), &wish).await
    }
}

fn finding(title: &str) -> Value {
    json!({ "kind": "issue", "severity": "major", "title": title, "detail": "No hour is given.",
        "refs": ["line 3"] })
}

#[tokio::test]
async fn agents_work_through_the_steps_and_a_person_approves() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let seen = place.see(&review).await;
    assert_eq!(seen["review"]["state"], "open");
    assert_eq!(seen["steps"][0]["title"], "Spring");
    assert_eq!(seen["steps"][1]["title"], "Neap");
    let run = seen["review"]["run_id"].clone();
    assert_eq!(
        seen["run"],
        json!({ "run_id": run, "lifecycle_status": "waiting",
            "completion_status": "needs_more_evidence", "terminal_authority_status": "not_evaluated" })
    );
    let claimed = place.claim(&place.agent, &review, "claim-spring").await;
    let claimed = claimed.ok(201).body;
    assert_eq!(claimed["claim"]["step"]["title"], "Spring");
    assert_eq!(claimed["review"]["state"], "claimed");
    let claim = text(&claimed["claim"]["claim_id"]);
    let first = json!({ "findings": [finding("One"), finding("Two")], "final": false });
    let first = place.submit(&review, &claim, "spring-first", first).await;
    let first = first.ok(201).body;
    assert_eq!(first["finding_ids"].as_array().unwrap().len(), 2);
    assert_eq!(first["review"]["version"], claimed["review"]["version"]);
    let last = json!({ "findings": [], "final": true });
    let last = place.submit(&review, &claim, "spring-last", last).await;
    assert_eq!(last.ok(201).body["review"]["state"], "open");
    place.step_through(&review, "neap").await;
    let seen = place.see(&review).await;
    assert_eq!(seen["review"]["state"], "awaiting_gate");
    assert_eq!(seen["run"]["completion_status"], "needs_input");
    let refused = place.claim(&place.agent, &review, "claim-late").await;
    refused.expect(409, "step_unavailable");

    let (member, _) = place.owner.joined_by("ben", "member").await;
    let refused = place.decide(&member, &review, "approve").await;
    refused.expect(403, "role_required");
    let decided = place.decide(&place.owner, &review, "approve").await;
    let decided = decided.ok(200).body;
    assert_eq!(decided["review"]["state"], "completed");
    assert_eq!(decided["review"]["gate"]["decision"], "approve");
    assert_eq!(decided["review"]["gate"]["reason"], "As read.");
    let seen = place.see(&review).await;
    assert_eq!(seen["run"]["lifecycle_status"], "completed");
    let refused = place.claim(&place.agent, &review, "claim-after").await;
    refused.expect(409, "review_closed");
    app.finish().await;
}

#[tokio::test]
async fn a_rejected_review_is_worked_through_again_with_its_findings() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let refused = place.decide(&place.owner, &review, "approve").await;
    refused.expect(400, "invalid_request");
    place.step_through(&review, "spring").await;
    place.step_through(&review, "neap").await;
    let decided = place.decide(&place.owner, &review, "reject").await.ok(200);
    assert_eq!(decided.body["review"]["state"], "open");
    assert_eq!(decided.body["review"]["steps_done"], 0);
    assert_eq!(decided.body["review"]["finding_count"], 2);
    let seen = place.see(&review).await;
    assert_eq!(seen["run"]["completion_status"], "blocked");
    place.step_through(&review, "spring-again").await;
    place.step_through(&review, "neap-again").await;
    let decided = place.decide(&place.owner, &review, "approve").await.ok(200);
    assert_eq!(decided.body["review"]["gate"]["gate"], 2);
    assert_eq!(decided.body["review"]["state"], "completed");
    app.finish().await;
}

#[tokio::test]
async fn a_review_is_of_a_version_that_there_is_and_is_cancelled_by_its_starter() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    for (brief, version, key) in [
        (place.brief.as_str(), 2, "no-version"),
        ("brf_none", 1, "no-brief"),
    ] {
        let wish = json!({ "brief_id": brief, "brief_version": version });
        let refused = place.agent.post(&place.reviews(), key, &wish).await;
        refused.expect(404, "not_found");
    }
    let other = place.agent.project("ebb").await;
    let wish = json!({ "brief_id": place.brief, "brief_version": 1 });
    let elsewhere = format!("/projects/{other}/reviews");
    let refused = place.agent.post(&elsewhere, "elsewhere", &wish).await;
    refused.expect(404, "not_found");

    let review = place.start("review-one").await;
    let cancel = format!("{}/cancel", place.at(&review));
    let wish = json!({ "expected_version": 1, "reason": "Not needed." });
    let stranger = place.agent.beside(ALL, &[]).await;
    let refused = stranger.post(&cancel, "not-mine", &wish).await;
    refused.expect(403, "role_required");
    let stale = json!({ "expected_version": 7 });
    let refused = place.agent.post(&cancel, "too-early", &stale).await;
    let refused = refused.expect(409, "version_conflict");
    assert_eq!(refused.body["details"]["current_version"], 1);
    let cancelled = place.agent.post(&cancel, "cancel-it", &wish).await.ok(200);
    assert_eq!(cancelled.body["review"]["state"], "cancelled");
    let again = place.agent.post(&cancel, "cancel-it", &wish).await.ok(200);
    assert_eq!(again.body["idempotency_replayed"], true);
    let refused = place.agent.post(&cancel, "cancel-2", &wish).await;
    refused.expect(409, "review_closed");
    app.finish().await;
}

#[tokio::test]
async fn people_start_and_read_reviews_and_leave_the_steps_to_agents() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let wish = json!({ "brief_id": place.brief, "brief_version": 1, "expires_in_seconds": 3_600,
        "constraints": ["Be brief.", "Quote the text."] });
    let request = |path: &str, body: &Value| {
        let path = place.owner.path(path);
        let request = place.owner.request(Method::POST, &path);
        request
            .header("Idempotency-Key", "by-a-person")
            .body(body.to_string())
    };
    let started = Answer::of(request(&place.reviews(), &wish)).await.ok(201);
    let review = text(&started.body["review"]["review_id"]);
    assert_eq!(started.body["review"]["author"]["kind"], "human");
    let claim = json!({ "expected_version": 1 });
    let path = format!("{}/claims", place.at(&review));
    let refused = Answer::of(request(&path, &claim)).await;
    refused.expect(403, "role_required");
    let seen = place.owner.get(&place.at(&review)).await.ok(200);
    assert_eq!(seen.body["review"]["version"], 1);
    assert_eq!(seen.body["constraints"], wish["constraints"]);
    // The record tells one review from another.
    let record = place.owner.get("/audit?limit=100").await.ok(200).body;
    let entries = record["entries"].as_array().unwrap();
    let of = |name: &str| {
        let named = entries.iter().map(|entry| text(&entry["detail"]));
        let mut named = named.filter(|detail| detail.contains(name));
        named.next().unwrap()
    };
    for name in ["review_start", "review_get"] {
        assert!(of(name).contains(&review), "{name}");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_reviews_run_belongs_to_its_workspace_and_to_nobody_at_the_agent_door() {
    let app = TestApp::start().await;
    let place = Place::of(&app).await;
    let review = place.start("review-one").await;
    let run = text(&place.see(&review).await["review"]["run_id"]);
    let caller = app.caller("cleo").await;
    let refused = Client::new(&app, &caller).inspect(&run).await;
    refused.expect(404, "not_found");
    app.finish().await;
}
