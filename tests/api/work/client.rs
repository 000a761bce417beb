//! A harness or an app at the workspace door.

use helix::testing::TestApp;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::Answer;

pub const ROOT: &str = "/api/v1/workspaces";
pub const WRITE: &str = "brief:read brief:write";

/// Whoever holds a bearer of one workspace.
#[derive(Debug, Clone)]
pub struct Agent<'a> {
    pub app: &'a TestApp,
    pub workspace: String,
    pub token: String,
}

impl<'a> Agent<'a> {
    /// A named token of a fresh account's own workspace.
    pub async fn of(app: &'a TestApp, subject: &str, scopes: &str) -> Self {
        let caller = app.caller(subject).await;
        let workspace = app.workspace_of(&caller).await;
        let (token, _) = app.named_token(workspace, scopes, &[]).await;
        Self {
            app,
            workspace: workspace.to_string(),
            token,
        }
    }

    /// Another token of the same workspace.
    pub async fn beside(&self, scopes: &str, projects: &[&str]) -> Self {
        let workspace = helix_aggregates::ids::WorkspaceId::parse(&self.workspace).unwrap();
        let (token, _) = self.app.named_token(workspace, scopes, projects).await;
        Self {
            token,
            ..self.clone()
        }
    }

    pub fn path(&self, rest: &str) -> String {
        format!("{ROOT}/{}{rest}", self.workspace)
    }

    pub fn request(&self, method: Method, rest: &str) -> RequestBuilder {
        let url = self.app.url(&self.path(rest));
        self.app
            .client()
            .request(method, url)
            .bearer_auth(&self.token)
    }

    pub async fn get(&self, rest: &str) -> Answer {
        Answer::of(self.request(Method::GET, rest)).await
    }

    pub async fn post(&self, rest: &str, key: &str, body: &Value) -> Answer {
        let request = self
            .request(Method::POST, rest)
            .header("Idempotency-Key", key)
            .body(body.to_string());
        Answer::of(request).await
    }

    /// The id of a project that this makes.
    pub async fn project(&self, name: &str) -> String {
        let key = format!("project-{name}");
        let made = self.post("/projects", &key, &json!({ "name": name })).await;
        text(&made.ok(201).body["project"]["project_id"])
    }
}

pub fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
