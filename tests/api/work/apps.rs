use helix::testing::TestApp;
use reqwest::Url;
use serde_json::json;

use super::client::{Agent, WRITE, text};
use super::person::Person;
use crate::access::app::{OAuthApp, Pair, parameter};
use crate::access::browser::{Browser, PASSPHRASE, field};
use crate::harness::Answer;

/// Asks for a page of consent to the workspace door.
async fn asked(client: &OAuthApp<'_>, browser: &Browser<'_>) -> Answer {
    let resource = client.app.url("/workspace/mcp");
    client
        .ask(browser, &[("resource", &resource), ("scope", WRITE)])
        .await
}

/// Answers that page with `with`.
async fn answered(
    client: &OAuthApp<'_>,
    browser: &mut Browser<'_>,
    with: &[(&str, &str)],
) -> Answer {
    let page = asked(client, browser).await.ok(200);
    let handle = field(&page.text, "oauthreq");
    let mut form = vec![
        ("oauthreq", handle.as_str()),
        ("passphrase", PASSPHRASE),
        ("action", "allow"),
        ("scopes", "brief:read"),
        ("scopes", "brief:write"),
    ];
    form.extend(with);
    browser.submit("/authorize", &form).await
}

/// An app that somebody connected to a workspace.
pub async fn connected<'a>(
    client: &OAuthApp<'a>,
    person: &mut Person<'a>,
    with: &[(&str, &str)],
) -> (Agent<'a>, Pair) {
    let workspace = person.workspace.clone();
    let mut fields = vec![("workspace_id", workspace.as_str())];
    fields.extend(with);
    let sent = answered(client, &mut person.browser, &fields).await.ok(303);
    let url = Url::parse(sent.header("location")).unwrap();
    let code = parameter(&url, "code").unwrap();
    let given = client.exchange(&code, &[]).await.ok(200).body;
    assert_eq!(given["resource"], client.app.url("/workspace/mcp"));
    let pair = Pair::of(&given);
    let agent = Agent {
        app: client.app,
        workspace,
        token: pair.access.clone(),
    };
    (agent, pair)
}

#[tokio::test]
async fn an_app_works_within_the_projects_that_a_person_ticked() {
    let app = TestApp::issuing().await;
    let mut owner = Person::owner(&app).await;
    let (seen, hidden) = (owner.project("seen").await, owner.project("hidden").await);
    let client = OAuthApp::register(&app, "Tide").await;
    let page = asked(&client, &owner.browser).await.ok(200).text;
    for said in ["Where it may work", "Workspace of Ada", "seen", "hidden"] {
        assert!(page.contains(said), "{said}");
    }
    let listed = [("reach", "listed"), ("projects", seen.as_str())];
    let (agent, pair) = connected(&client, &mut owner, &listed).await;
    let about = agent.get("").await.ok(200).body;
    assert_eq!(about["caller"]["kind"], "app");
    assert_eq!(about["caller"]["name"], "Tide");
    let reach = json!({ "kind": "listed", "project_ids": [seen] });
    assert_eq!(about["caller"]["reach"], reach);
    let briefs = |project: &str| format!("/projects/{project}/briefs");
    let wish = json!({ "title": "Tides" });
    agent
        .post(&briefs(&seen), "tide-brief-1", &wish)
        .await
        .ok(201);
    let refused = agent.post(&briefs(&hidden), "tide-brief-2", &wish).await;
    refused.expect(403, "PROJECT_ACCESS_DENIED");
    // Another door does not know the token.
    let run = app.client().get(app.url("/api/v1/agent-runs"));
    Answer::of(run.bearer_auth(&pair.access))
        .await
        .expect(401, "unauthorized");
    let listed = owner.get("/connections").await.ok(200).body;
    assert_eq!(listed["connections"][0]["app"], "Tide");
    let id = text(&listed["connections"][0]["connection_id"]);
    let revoke = format!("/connections/{id}/revoke");
    owner.post(&revoke, &json!({})).await.ok(200);
    agent.get("").await.expect(401, "unauthorized");
    client
        .refresh(&pair.refresh)
        .await
        .expect(400, "invalid_grant");
    app.finish().await;
}

#[tokio::test]
async fn nothing_is_given_until_workspace_and_reach_are_chosen() {
    let app = TestApp::issuing().await;
    let owner = Person::owner(&app).await;
    let project = owner.project("tides").await;
    let (other, _) = Person::other(&app, "ben").await;
    let theirs = other.project("theirs").await;
    let client = OAuthApp::register(&app, "Tide").await;
    let mut browser = owner.browser;
    let mine = owner.workspace.as_str();
    for with in [
        &[][..],
        &[("workspace_id", mine)],
        &[("reach", "all")],
        &[("workspace_id", other.workspace.as_str()), ("reach", "all")],
        &[("workspace_id", mine), ("reach", "listed")],
        &[
            ("workspace_id", mine),
            ("reach", "some"),
            ("projects", project.as_str()),
        ],
        &[
            ("workspace_id", mine),
            ("reach", "listed"),
            ("projects", project.as_str()),
            ("projects", theirs.as_str()),
        ],
    ] {
        answered(&client, &mut browser, with).await.ok(400);
    }
    // Whoever is not signed in does that first.
    let nobody = Browser::new(&app);
    let sent = asked(&client, &nobody).await.ok(303);
    assert!(
        sent.header("location")
            .contains("/sign-in?next=%2Fauthorize%3F")
    );
    app.finish().await;
}

#[tokio::test]
async fn an_app_stays_the_same_caller_and_ends_with_its_persons_membership() {
    let app = TestApp::issuing().await;
    let owner = Person::owner(&app).await;
    let (mut ben, account) = owner.joined_by("ben", "member").await;
    let client = OAuthApp::register(&app, "Tide").await;
    let all = [("reach", "all")];
    let (first, _) = connected(&client, &mut ben, &all).await;
    let project = first.project("tides").await;
    let (second, pair) = connected(&client, &mut ben, &all).await;
    first.get("").await.expect(401, "unauthorized");
    assert_eq!(second.project("tides").await, project);
    let seen = ben.get("/connections").await.ok(200).body;
    assert_eq!(seen["connections"].as_array().unwrap().len(), 1);
    owner.delete(&format!("/members/{account}")).await.ok(200);
    second.get("").await.expect(401, "unauthorized");
    client
        .refresh(&pair.refresh)
        .await
        .expect(400, "invalid_grant");
    app.finish().await;
}

#[tokio::test]
async fn the_documents_of_the_door_name_one_resource() {
    let app = TestApp::start().await;
    for path in ["/workspace/mcp", "/api/v1/workspaces"] {
        let url = app.url(&format!("/.well-known/oauth-protected-resource{path}"));
        let document = Answer::of(app.client().get(url)).await.ok(200).body;
        assert_eq!(document["resource"], app.url("/workspace/mcp"));
        assert_eq!(document["authorization_servers"], json!([app.url("")]));
        let scopes = json!(["brief:read", "brief:write", "review:run", "review:execute"]);
        assert_eq!(document["scopes_supported"], scopes);
    }
    app.finish().await;
}
