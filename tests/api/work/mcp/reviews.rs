use helix::testing::TestApp;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::{Twin, call, check_equal, keyed, listed, over_rest};
use crate::work::client::{Agent, text};
use crate::work::decisions::agent_of;
use crate::work::person::Person;

const ALL: &str = "brief:read brief:write review:run review:execute";

/// Both faces, asked the same under one key; each is first in turn.
struct Faces<'a> {
    agent: Agent<'a>,
    tools: Vec<Value>,
    /// Names the project, and what else stands in a path.
    path: Map<String, Value>,
    asked: usize,
}

impl Faces<'_> {
    /// The answer, equal at both.
    async fn ask(&mut self, tool: &'static str, method: Method, rest: &str, body: Value) -> Value {
        let mut arguments = self.path.clone();
        arguments.extend(body.as_object().cloned().unwrap_or_default());
        let twin = Twin {
            tool,
            arguments: Value::Object(arguments),
            method,
            rest: rest.to_owned(),
            body,
        };
        self.asked += 1;
        let key = format!("review-twin-{}", self.asked);
        let arguments = keyed(&twin, &key);
        let (rest, said) = if self.asked.is_multiple_of(2) {
            let rest = over_rest(&self.agent, &twin, &key).await;
            (rest, call(&self.agent, &self.tools, tool, &arguments).await)
        } else {
            let said = call(&self.agent, &self.tools, tool, &arguments).await;
            (over_rest(&self.agent, &twin, &key).await, said)
        };
        check_equal(&twin, &rest, &said);
        rest.body
    }

    fn named(&mut self, name: &str, value: &Value) -> String {
        self.path.insert(name.to_owned(), value.clone());
        text(value)
    }
}

#[tokio::test]
async fn a_review_is_driven_alike_by_its_tools_and_its_routes() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let agent = agent_of(&app, &owner).await.beside(ALL, &[]).await;
    let tools = listed(&agent).await;
    let project = agent.project("tides").await;
    let briefs = format!("/projects/{project}/briefs");
    let new = json!({"title": "Tides"});
    let made = agent.post(&briefs, "tides-brief", &new).await.ok(201).body;
    let brief = text(&made["brief"]["brief_id"]);
    let edit = json!({"body": "## One\n\n## Two", "summary": "All.", "expected_version": 0});
    let edited = owner.post(&format!("{briefs}/{brief}/edit"), &edit).await;
    edited.ok(200);
    let mut faces = Faces {
        agent,
        tools,
        path: Map::new(),
        asked: 0,
    };
    faces.named("project_id", &json!(project));
    let reviews = format!("/projects/{project}/reviews");
    let (get, post) = (Method::GET, Method::POST);
    let wish = json!({"brief_id": brief, "brief_version": 1, "constraints": ["Be short."]});
    let started = faces
        .ask("review_start", post.clone(), &reviews, wish)
        .await;
    faces
        .ask("review_list", get.clone(), &reviews, json!({}))
        .await;
    let review = faces.named("review_id", &started["review"]["review_id"]);
    let at = format!("{reviews}/{review}");
    faces.ask("review_get", get.clone(), &at, json!({})).await;
    let claims = format!("{at}/claims");
    let stale = json!({"expected_version": 9});
    let refused = faces
        .ask("review_step_claim", post.clone(), &claims, stale)
        .await;
    assert_eq!(refused["error"], "version_conflict");
    let wish = json!({"expected_version": 1, "lease_seconds": 60});
    let claimed = faces
        .ask("review_step_claim", post.clone(), &claims, wish)
        .await;
    let claim = faces.named("claim_id", &claimed["claim"]["claim_id"]);
    let submit = format!("{claims}/{claim}/submissions");
    let finding =
        json!({"kind": "note", "severity": "info", "title": "Fine", "detail": "So it is."});
    let wish = json!({"findings": [finding], "final": true, "expected_version": 2});
    let ended = faces
        .ask("review_step_submit", post.clone(), &submit, wish)
        .await;
    assert_eq!(ended["finding_ids"].as_array().unwrap().len(), 1);
    let late = json!({"findings": [], "final": true, "expected_version": 3});
    let refused = faces
        .ask("review_step_submit", post.clone(), &submit, late)
        .await;
    assert_eq!(refused["error"], "claim_lost");
    faces.path.remove("claim_id");
    let wish = json!({"expected_version": 3});
    let claimed = faces
        .ask("review_step_claim", post.clone(), &claims, wish)
        .await;
    let claim = faces.named("claim_id", &claimed["claim"]["claim_id"]);
    let release = format!("{claims}/{claim}/release");
    let wish = json!({"expected_version": 4});
    faces
        .ask("review_step_release", post.clone(), &release, wish)
        .await;
    faces.path.remove("claim_id");
    let seen = faces.ask("review_get", get, &at, json!({})).await;
    assert_eq!(seen["findings"][0]["title"], "Fine");
    let wish = json!({"expected_version": 5, "reason": "Enough."});
    let cancel = format!("{at}/cancel");
    let ended = faces.ask("review_cancel", post, &cancel, wish).await;
    assert_eq!(ended["review"]["state"], "cancelled");
    app.finish().await;
}
