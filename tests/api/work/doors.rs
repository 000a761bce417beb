use std::time::Duration;

use helix::testing::{AccountType, TestApp};
use reqwest::Method;
use serde_json::json;

use super::client::{Agent, ROOT, WRITE};
use super::person::Person;
use crate::harness::{Answer, Client};

#[tokio::test]
async fn only_a_live_credential_of_this_door_opens_it() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let workspace = helix_aggregates::ids::WorkspaceId::parse(&agent.workspace).unwrap();
    let (gone, id) = app.named_token(workspace, WRITE, &[]).await;
    app.revoke_named_token(id).await;
    let (worker, _) = app.worker_token("w").await;
    let forged = format!("{}0", &agent.token[..agent.token.len() - 1]);
    let mut told = Vec::new();
    for token in [
        None,
        Some(ana.token()),
        Some(gone),
        Some(worker),
        Some(forged),
    ] {
        let mut request = app.client().get(app.url(&agent.path("/projects")));
        if let Some(token) = &token {
            request = request.bearer_auth(token);
        }
        let refused = Answer::of(request).await.expect(401, "unauthorized");
        let challenge = refused.header("www-authenticate").to_owned();
        assert!(challenge.contains("/.well-known/oauth-protected-resource/api/v1/workspaces\""));
        assert!(challenge.ends_with("scope=\"brief:read\""), "{challenge}");
        let mut body = refused.body.clone();
        body["request_id"] = json!(null);
        told.push((challenge, body));
    }
    told.dedup();
    assert_eq!(told.len(), 1);
    // And it opens no other.
    let client = Client::new(&app, &ana).with_token(agent.token.clone());
    client
        .get("/api/v1/agent-runs")
        .await
        .expect(401, "unauthorized");
    let twice = agent
        .request(Method::GET, "/projects")
        .bearer_auth(&agent.token);
    Answer::of(twice).await.expect(400, "invalid_request");
    app.finish().await;
}

#[tokio::test]
async fn a_token_without_a_scope_learns_all_scopes_of_the_operation() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", "brief:read").await;
    // Before its key, its body and its workspace are looked at.
    let request = agent.request(Method::POST, "/projects").body("{");
    let refused = Answer::of(request).await.expect(403, "insufficient_scope");
    let scopes = json!(["brief:read", "brief:write"]);
    assert_eq!(refused.body["details"]["required_scopes"], scopes);
    let challenge = refused.header("www-authenticate");
    assert!(challenge.contains("error=\"insufficient_scope\""));
    assert!(
        challenge.ends_with("scope=\"brief:read brief:write\""),
        "{challenge}"
    );
    app.finish().await;
}

#[tokio::test]
async fn an_expired_token_and_one_of_a_former_member_open_nothing() {
    let app = TestApp::start().await;
    app.freeze().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    agent.get("").await.ok(200);
    app.advance(Duration::from_secs(30 * 86_400)).await;
    agent.get("").await.expect(401, "unauthorized");
    app.finish().await;
}

#[tokio::test]
async fn a_person_sees_the_workspaces_they_are_a_member_of_and_no_other() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let other = app.linked("ben", "harbour-coop", AccountType::User).await;
    let theirs = app.workspace_of(&other).await.to_string();
    let path = format!("{ROOT}/{theirs}");
    owner.browser.get(&path).await.expect(404, "not_found");
    let seen = owner.get("").await.ok(200).body;
    assert_eq!(seen["caller"]["kind"], "human");
    assert_eq!(seen["caller"]["role"], "owner");
    assert_eq!(seen["workspace"]["name"], "Workspace of Ada");
    owner.browser.get(ROOT).await.ok(200);
    let nobody = Answer::of(app.client().get(app.url(ROOT))).await;
    nobody.expect(401, "unauthorized");
    app.finish().await;
}
