use helix::testing::{OPERATIONS, TestApp, Who};
use reqwest::Method;

use super::client::{Agent, text};
use super::person::Person;
use crate::harness::Answer;

const ALL: &str = "brief:read brief:write review:run review:execute review:configure";

/// A path of the door with every id made up but the workspace's.
fn filled(path: &str, workspace: &str) -> String {
    let mut filled = path.replace("{workspace_id}", workspace);
    while let (Some(start), Some(end)) = (filled.find('{'), filled.find('}')) {
        filled.replace_range(start..=end, "none");
    }
    filled
}

#[tokio::test]
async fn no_agent_does_what_is_a_persons_whatever_it_holds_and_names() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ada", ALL).await;
    let project = agent.project("tides").await;
    let narrow = agent.beside(ALL, &[&project]).await;
    let weak = agent.beside("brief:read", &[]).await;
    let mut told = Vec::new();
    let human_only = OPERATIONS.iter().filter(|one| one.who.is_human_only());
    for operation in human_only {
        let method = Method::from_bytes(operation.method.as_bytes()).unwrap();
        for workspace in [agent.workspace.as_str(), "ws_of_nobody"] {
            let path = filled(operation.path, workspace);
            for caller in [&agent, &narrow, &weak] {
                let request = app.client().request(method.clone(), app.url(&path));
                let request = request.bearer_auth(&caller.token).body("{not json");
                let refused = Answer::of(request).await;
                let refused = refused.expect(403, "human_action_required");
                assert_eq!(refused.header("www-authenticate"), "");
                told.push(text(&refused.body["message"]));
            }
        }
    }
    told.dedup();
    assert_eq!(told.len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn people_learn_that_what_is_not_there_yet_is_to_come() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let (stranger, _) = Person::other(&app, "ben").await;
    let unbuilt = OPERATIONS.iter().filter(|one| one.who == Who::Unbuilt);
    for operation in unbuilt {
        let method = Method::from_bytes(operation.method.as_bytes()).unwrap();
        let path = filled(operation.path, &owner.workspace);
        let request = owner.request(method.clone(), &path);
        Answer::of(request).await.expect(501, "not_implemented");
        let foreign = stranger.request(method, &path);
        Answer::of(foreign).await.expect(404, "not_found");
    }
    app.finish().await;
}

#[tokio::test]
async fn every_operation_asks_who_is_there_before_anything_else() {
    let app = TestApp::start().await;
    for operation in OPERATIONS {
        let method = Method::from_bytes(operation.method.as_bytes()).unwrap();
        let path = filled(operation.path, "ws_of_nobody");
        let request = app.client().request(method, app.url(&path)).body("{");
        let refused = Answer::of(request).await.expect(401, "unauthorized");
        assert_eq!(refused.body["schema"], "helix.workspace.error.v1");
    }
    app.finish().await;
}
