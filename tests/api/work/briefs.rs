use helix::testing::TestApp;
use serde_json::json;

use super::client::{Agent, WRITE, text};

#[tokio::test]
async fn an_agent_begins_a_brief_whose_text_is_only_proposed() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let project = agent.project("tides").await;
    let briefs = format!("/projects/{project}/briefs");
    let wish = json!({ "title": "Moon and tide", "body": "# Tides\n", "summary": "A start." });
    let made = agent
        .post(&briefs, "moon-brief-1", &wish)
        .await
        .ok(201)
        .body;
    assert_eq!(made["brief"]["version"], 0);
    assert!(made["brief"]["content_sha256"].is_null());
    assert_eq!(made["proposal"]["state"], "open");
    assert_eq!(made["proposal"]["author"]["kind"], "named_token");
    let brief = text(&made["brief"]["brief_id"]);
    let proposal = text(&made["proposal"]["proposal_id"]);
    let again = agent
        .post(&briefs, "moon-brief-1", &wish)
        .await
        .ok(201)
        .body;
    assert_eq!(again["brief"]["brief_id"], made["brief"]["brief_id"]);
    let seen = agent.get(&format!("{briefs}/{brief}")).await.ok(200).body;
    assert!(seen["brief"]["body"].is_null());
    let proposals = format!("{briefs}/{brief}/proposals");
    let listed = agent.get(&proposals).await.ok(200).body;
    assert_eq!(listed["proposals"][0]["proposal_id"], proposal);
    assert!(listed["proposals"][0].get("body").is_none());
    let one = agent
        .get(&format!("{proposals}?proposal_id={proposal}"))
        .await
        .ok(200)
        .body;
    assert_eq!(one["proposals"][0]["body"], "# Tides\n");
    let second = json!({ "body": "# Neap\n", "summary": "Other.", "expected_version": 0 });
    let second = agent
        .post(&proposals, "neap-prop-1", &second)
        .await
        .ok(201)
        .body;
    assert_eq!(second["proposal"]["base_version"], 0);
    let withdraw = format!("{proposals}/{proposal}/withdraw");
    let stranger = agent.beside(WRITE, &[]).await;
    let body = json!({ "expected_version": 1 });
    stranger
        .post(&withdraw, "not-mine-1", &body)
        .await
        .expect(403, "role_required");
    let stale = json!({ "expected_version": 7 });
    let refused = agent.post(&withdraw, "withdraw-0", &stale).await;
    let refused = refused.expect(409, "version_conflict");
    assert_eq!(refused.body["details"]["current_version"], 1);
    let gone = agent
        .post(&withdraw, "withdraw-1", &body)
        .await
        .ok(200)
        .body;
    assert_eq!(gone["proposal"]["state"], "withdrawn");
    let body = json!({ "expected_version": 2 });
    agent
        .post(&withdraw, "withdraw-2", &body)
        .await
        .expect(409, "proposal_closed");
    let open = agent
        .get(&format!("{proposals}?state=open"))
        .await
        .ok(200)
        .body;
    assert_eq!(open["proposals"].as_array().unwrap().len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn briefs_are_listed_by_page_and_by_their_title() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let project = agent.project("tides").await;
    let other = agent.project("winds").await;
    let briefs = format!("/projects/{project}/briefs");
    for (key, title) in [
        ("brief-one", "Moon"),
        ("brief-two", "Sun"),
        ("brief-three", "Full moon"),
    ] {
        agent
            .post(&briefs, key, &json!({ "title": title }))
            .await
            .ok(201);
    }
    let titles = |body: &serde_json::Value| -> Vec<String> {
        let briefs = body["briefs"].as_array().unwrap();
        briefs.iter().map(|brief| text(&brief["title"])).collect()
    };
    let all = agent.get(&briefs).await.ok(200).body;
    assert_eq!(titles(&all), ["Full moon", "Sun", "Moon"]);
    let found = agent
        .get(&format!("{briefs}?q=MOON&limit=1"))
        .await
        .ok(200)
        .body;
    assert_eq!(titles(&found), ["Full moon"]);
    let cursor = text(&found["next_cursor"]);
    let next = agent
        .get(&format!("{briefs}?q=MOON&limit=1&cursor={cursor}"))
        .await
        .ok(200)
        .body;
    assert_eq!(titles(&next), ["Moon"]);
    assert!(next["next_cursor"].is_null());
    agent
        .get(&format!("{briefs}?q=sun&cursor={cursor}"))
        .await
        .expect(400, "invalid_request");
    let none = agent
        .get(&format!("/projects/{other}/briefs"))
        .await
        .ok(200)
        .body;
    assert!(titles(&none).is_empty());
    let brief = text(&all["briefs"][0]["brief_id"]);
    let elsewhere = agent
        .get(&format!("/projects/{other}/briefs/{brief}"))
        .await;
    elsewhere.expect(404, "not_found");
    app.finish().await;
}

#[tokio::test]
async fn content_with_a_credential_is_refused_and_text_about_one_is_not() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let project = agent.project("tides").await;
    let briefs = format!("/projects/{project}/briefs");
    let leak = json!({ "title": "Keys", "body": format!("use {}", agent.token) });
    let refused = agent.post(&briefs, "leaking-1", &leak).await;
    let refused = refused.expect(400, "credential_in_content");
    assert!(!refused.text.contains(&agent.token));
    let talk =
        json!({ "title": "Keys", "body": "Send `Authorization: Bearer YOUR_TOKEN_GOES_HERE`." });
    agent.post(&briefs, "talking-1", &talk).await.ok(201);
    for body in [
        json!({}),
        json!({ "title": "" }),
        json!({ "title": "a\u{7}b" }),
        json!({ "title": "x".repeat(201) }),
        json!({ "title": "t", "body": " \n" }),
        json!({ "title": "t", "body": "x".repeat(65_537) }),
        json!({ "title": "t", "more": 1 }),
        json!({ "title": 7 }),
        json!({ "title": "t", "project_id": project }),
        json!([]),
    ] {
        let refused = agent.post(&briefs, "malformed-1", &body).await;
        let refused = refused.expect(400, "invalid_request");
        assert_eq!(refused.body["schema"], "helix.workspace.error.v1");
    }
    agent
        .post(&briefs, "short", &json!({ "title": "t" }))
        .await
        .expect(400, "invalid_request");
    app.finish().await;
}
