use helix::testing::TestApp;
use serde_json::json;

use super::client::{Agent, WRITE, text};

#[tokio::test]
async fn a_named_token_reads_its_workspace_and_makes_projects() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let seen = agent.get("").await.ok(200).body;
    assert_eq!(seen["workspace"]["workspace_id"], agent.workspace);
    assert_eq!(seen["caller"]["kind"], "named_token");
    assert_eq!(seen["caller"]["reach"], json!({ "kind": "all" }));
    let wish = json!({ "name": "Tides", "description": "When they turn." });
    let made = agent.post("/projects", "tides-project-1", &wish).await;
    let made = made.ok(201);
    assert_eq!(made.body["operation"], "project_create");
    assert_eq!(made.body["idempotency_replayed"], false);
    assert_eq!(made.body["in_reach"], true);
    let project = &made.body["project"];
    assert_eq!(project["name"], "Tides");
    assert_eq!(
        (&project["version"], &project["state"]),
        (&json!(1), &json!("active"))
    );
    let again = agent
        .post("/projects", "tides-project-1", &wish)
        .await
        .ok(201);
    assert_eq!(again.body["project"], *project);
    assert_eq!(again.body["idempotency_replayed"], true);
    let other = json!({ "name": "Ebb" });
    agent
        .post("/projects", "tides-project-1", &other)
        .await
        .expect(409, "idempotency_conflict");
    let listed = agent.get("/projects").await.ok(200).body;
    assert_eq!(listed["projects"], json!([project]));
    assert!(listed["next_cursor"].is_null());
    app.finish().await;
}

#[tokio::test]
async fn a_list_of_projects_has_pages_that_belong_to_their_caller() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", WRITE).await;
    let mut made = Vec::new();
    for name in ["one", "two", "three"] {
        made.push(agent.project(name).await);
    }
    made.reverse();
    let first = agent.get("/projects?limit=2").await.ok(200).body;
    let cursor = text(&first["next_cursor"]);
    let second = agent
        .get(&format!("/projects?limit=2&cursor={cursor}"))
        .await;
    let second = second.ok(200).body;
    assert!(second["next_cursor"].is_null());
    let ids = [&first, &second].map(|page| page["projects"].as_array().unwrap().clone());
    let ids: Vec<String> = ids
        .concat()
        .iter()
        .map(|one| text(&one["project_id"]))
        .collect();
    assert_eq!(ids, made);
    let beside = agent.beside(WRITE, &[]).await;
    beside
        .get(&format!("/projects?cursor={cursor}"))
        .await
        .expect(400, "invalid_request");
    for query in [
        "limit=0",
        "limit=101",
        "limit=x",
        "page=2",
        "limit=1&limit=2",
    ] {
        let refused = agent.get(&format!("/projects?{query}")).await;
        refused.expect(400, "invalid_request");
    }
    app.finish().await;
}
