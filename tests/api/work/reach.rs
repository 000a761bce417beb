use helix::testing::TestApp;
use serde_json::json;

use super::client::{Agent, WRITE};

/// Everything of a refusal that a caller could tell two apart by.
fn told(answer: &crate::harness::Answer) -> (u16, serde_json::Value, Vec<String>) {
    let mut body = answer.body.clone();
    body["request_id"] = json!(null);
    let mut names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
    names.sort();
    (answer.status, body, names)
}

#[tokio::test]
async fn what_is_outside_the_reach_and_what_does_not_exist_are_told_alike() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let (seen, hidden) = (agent.project("seen").await, agent.project("hidden").await);
    let hidden_briefs = format!("/projects/{hidden}/briefs");
    let made = agent
        .post(
            &hidden_briefs,
            "hidden-brief",
            &json!({ "title": "Canary" }),
        )
        .await;
    let brief = super::client::text(&made.ok(201).body["brief"]["brief_id"]);
    let narrow = agent.beside(WRITE, &[&seen]).await;
    let unknown = "prj_00000000-0000-7000-8000-000000000001";
    for rest in [
        "/briefs".to_owned(),
        format!("/briefs/{brief}"),
        format!("/briefs/{brief}/proposals"),
    ] {
        let known = narrow.get(&format!("/projects/{hidden}{rest}")).await;
        let known = known.expect(403, "PROJECT_ACCESS_DENIED");
        for other in [unknown, "prj_x", "nonsense"] {
            let absent = narrow.get(&format!("/projects/{other}{rest}")).await;
            assert_eq!(told(&absent), told(&known), "{other}{rest}");
        }
        assert!(!known.text.contains(&hidden) && known.header("www-authenticate").is_empty());
        // Whoever reaches all learns that there is no such project.
        for other in [unknown, "prj_x"] {
            let absent = agent.get(&format!("/projects/{other}{rest}")).await;
            absent.expect(404, "not_found");
        }
    }
    let write = json!({ "title": "t" });
    narrow
        .post(&hidden_briefs, "hidden-write", &write)
        .await
        .expect(403, "PROJECT_ACCESS_DENIED");
    // A brief of another project, by its id.
    let absent = "brf_00000000-0000-7000-8000-000000000001";
    let nested = narrow
        .get(&format!("/projects/{seen}/briefs/{brief}"))
        .await;
    let none = narrow
        .get(&format!("/projects/{seen}/briefs/{absent}"))
        .await;
    assert_eq!(told(&nested), told(&none));
    nested.expect(404, "not_found");
    let listed = narrow.get("/projects").await.ok(200);
    assert!(!listed.text.contains(&hidden) && listed.text.contains(&seen));
    app.finish().await;
}

#[tokio::test]
async fn a_project_made_by_a_narrow_token_is_out_of_its_reach() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let seen = agent.project("seen").await;
    let narrow = agent.beside(WRITE, &[&seen]).await;
    let made = narrow
        .post("/projects", "narrow-made", &json!({ "name": "New" }))
        .await;
    let made = made.ok(201).body;
    assert_eq!(made["in_reach"], false);
    let project = super::client::text(&made["project"]["project_id"]);
    narrow
        .get(&format!("/projects/{project}/briefs"))
        .await
        .expect(403, "PROJECT_ACCESS_DENIED");
    agent
        .get(&format!("/projects/{project}/briefs"))
        .await
        .ok(200);
    app.finish().await;
}

#[tokio::test]
async fn another_workspace_is_none_whatever_is_named_in_it() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let other = Agent::of(&app, "ben", WRITE).await;
    let theirs = other.project("theirs").await;
    let mine = agent.project("mine").await;
    let narrow = agent.beside(WRITE, &[&mine]).await;
    for caller in [&agent, &narrow] {
        let foreign = Agent {
            workspace: other.workspace.clone(),
            ..caller.clone()
        };
        let unknown = Agent {
            workspace: "ws_00000000-0000-7000-8000-000000000001".to_owned(),
            ..caller.clone()
        };
        for rest in [
            String::new(),
            "/projects".to_owned(),
            format!("/projects/{theirs}/briefs"),
        ] {
            let (one, two) = (foreign.get(&rest).await, unknown.get(&rest).await);
            assert_eq!(told(&one), told(&two), "{rest}");
            one.expect(404, "not_found");
        }
    }
    app.finish().await;
}
