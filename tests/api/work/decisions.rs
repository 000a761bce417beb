use helix::testing::TestApp;
use serde_json::json;

use super::client::{Agent, WRITE, text};
use super::person::Person;

/// A token of the owner's workspace.
pub async fn agent_of<'a>(app: &'a TestApp, owner: &Person<'a>) -> Agent<'a> {
    let agent = Agent {
        app,
        workspace: owner.workspace.clone(),
        token: String::new(),
    };
    agent.beside(WRITE, &[]).await
}

#[tokio::test]
async fn text_binds_when_a_person_approves_and_commits_it() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let agent = agent_of(&app, &owner).await;
    let project = agent.project("tides").await;
    let briefs = format!("/projects/{project}/briefs");
    let wish = json!({ "title": "Tides", "body": "one" });
    let made = agent
        .post(&briefs, "tide-brief-1", &wish)
        .await
        .ok(201)
        .body;
    let brief = format!("{briefs}/{}", text(&made["brief"]["brief_id"]));
    let first = text(&made["proposal"]["proposal_id"]);
    let proposals = format!("{brief}/proposals");
    let other = json!({ "body": "two", "summary": "Other.", "expected_version": 0 });
    let other = agent
        .post(&proposals, "other-prop-1", &other)
        .await
        .ok(201)
        .body;
    let other = text(&other["proposal"]["proposal_id"]);

    let commit = format!("{proposals}/{first}/commit");
    owner
        .post(&commit, &json!({ "expected_version": 1 }))
        .await
        .expect(400, "invalid_request");
    let decide = format!("{proposals}/{first}/decide");
    let approve = json!({ "decision": "approve", "expected_version": 1, "reason": "Good." });
    let approved = owner.post(&decide, &approve).await.ok(200).body;
    assert_eq!(approved["proposal"]["state"], "approved");
    assert_eq!(approved["proposal"]["decision"]["reason"], "Good.");
    let committed = owner
        .post(&commit, &json!({ "expected_version": 2 }))
        .await
        .ok(200)
        .body;
    assert_eq!(committed["proposal"]["state"], "committed");
    let seen = agent.get(&brief).await.ok(200).body;
    assert_eq!(
        (&seen["brief"]["version"], &seen["brief"]["body"]),
        (&json!(1), &json!("one"))
    );

    // What was made for the text before waits for a person.
    let stale = agent
        .get(&format!("{proposals}?state=stale"))
        .await
        .ok(200)
        .body;
    assert_eq!(stale["proposals"][0]["proposal_id"], other);
    let decide = format!("{proposals}/{other}/decide");
    let approve = json!({ "decision": "approve", "expected_version": 1 });
    owner.post(&decide, &approve).await.ok(200);
    let commit = format!("{proposals}/{other}/commit");
    let refused = owner.post(&commit, &json!({ "expected_version": 2 })).await;
    let refused = refused.expect(409, "version_conflict");
    assert_eq!(
        refused.body["details"],
        json!({ "base_version": 0, "current_version": 1 })
    );
    let rebase = format!("{proposals}/{other}/rebase");
    let rebased = json!({ "expected_version": 2, "body": "one and two" });
    owner.post(&rebase, &rebased).await.ok(200);
    owner
        .post(&commit, &json!({ "expected_version": 3 }))
        .await
        .ok(200);
    let seen = agent.get(&brief).await.ok(200).body;
    assert_eq!(seen["brief"]["body"], "one and two");

    let edit = json!({ "body": "three", "summary": "By hand.", "expected_version": 2 });
    let edited = owner
        .post(&format!("{brief}/edit"), &edit)
        .await
        .ok(200)
        .body;
    assert_eq!(edited["brief"]["version"], 3);
    let revert = json!({ "expected_version": 3, "to_version": 1 });
    let reverted = owner
        .post(&format!("{brief}/revert"), &revert)
        .await
        .ok(200)
        .body;
    assert_eq!(reverted["brief"]["version"], 4);
    let unknown = json!({ "expected_version": 4, "to_version": 9 });
    owner
        .post(&format!("{brief}/revert"), &unknown)
        .await
        .expect(404, "not_found");
    for (version, body) in [(1, "one"), (2, "one and two"), (3, "three"), (4, "one")] {
        let seen = agent
            .get(&format!("{brief}?version={version}"))
            .await
            .ok(200)
            .body;
        assert_eq!(seen["brief"]["body"], body);
        assert_eq!(seen["brief"]["current_version"], 4);
    }
    agent
        .get(&format!("{brief}?version=5"))
        .await
        .expect(404, "not_found");
    app.finish().await;
}

#[tokio::test]
async fn a_cookie_changes_nothing_unless_a_page_of_this_server_sent_it() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let body = json!({ "name": "Tides" }).to_string();
    for (name, value) in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Origin", "http://127.0.0.1:1"),
        ("Origin", "null"),
    ] {
        let mut request = owner
            .browser
            .request(reqwest::Method::POST, &owner.path("/projects"))
            .header("Idempotency-Key", "forged-key-1");
        if name != "Origin" {
            request = request.header("Origin", app.url(""));
        }
        let refused = request.header(name, value).body(body.clone());
        assert_eq!(
            crate::harness::Answer::of(refused).await.status,
            403,
            "{name}: {value}"
        );
    }
    let bare = owner
        .browser
        .request(reqwest::Method::POST, &owner.path("/projects"))
        .header("Idempotency-Key", "forged-key-1")
        .body(body);
    crate::harness::Answer::of(bare)
        .await
        .expect(403, "cross_origin_forbidden");
    let listed = owner.get("/projects").await.ok(200).body;
    assert_eq!(listed["projects"], json!([]));
    app.finish().await;
}
