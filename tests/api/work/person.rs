//! A member of a workspace, signed in with a browser that sends JSON.

use helix::testing::TestApp;
use helix_aggregates::ids::{AccountId, WorkspaceId};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::client::{ROOT, text};
use crate::access::browser::{Browser, PASSPHRASE};
use crate::harness::Answer;

#[derive(Debug, Clone)]
pub struct Person<'a> {
    pub browser: Browser<'a>,
    pub workspace: String,
}

impl<'a> Person<'a> {
    /// The first owner, in their own workspace.
    pub async fn owner(app: &'a TestApp) -> Self {
        Self::with(Browser::of_owner(app).await).await
    }

    async fn with(browser: Browser<'a>) -> Self {
        let listed = browser.get(ROOT).await.ok(200).body;
        let workspace = text(&listed["workspaces"][0]["workspace_id"]);
        Self { browser, workspace }
    }

    /// Somebody else, in their own workspace.
    pub async fn other(app: &'a TestApp, name: &str) -> (Self, AccountId) {
        let email = format!("{name}@harbour.example");
        let account = app.second_person(&email, name, PASSPHRASE).await;
        let mut browser = Browser::new(app);
        browser.sign_in(&email, PASSPHRASE).await.ok(303);
        (Self::with(browser).await, account)
    }

    /// Somebody else, as a member of this person's workspace.
    pub async fn joined_by(&self, name: &str, role: &str) -> (Person<'a>, AccountId) {
        let app = self.browser.app;
        let (mut other, account) = Self::other(app, name).await;
        let workspace = WorkspaceId::parse(&self.workspace).unwrap();
        app.add_member(workspace, account, role).await;
        other.workspace.clone_from(&self.workspace);
        (other, account)
    }

    pub fn path(&self, rest: &str) -> String {
        format!("{ROOT}/{}{rest}", self.workspace)
    }

    /// A request as a page of this server sends it.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let origin = self.browser.app.url_of(self.browser.server, "");
        self.browser
            .request(method, path)
            .header("Origin", origin)
            .header("Sec-Fetch-Site", "same-origin")
            .header("Content-Type", "application/json")
    }

    pub async fn get(&self, rest: &str) -> Answer {
        self.browser.get(&self.path(rest)).await
    }

    pub async fn send(&self, method: Method, rest: &str, body: &Value) -> Answer {
        let request = self.request(method, &self.path(rest));
        Answer::of(request.body(body.to_string())).await
    }

    pub async fn post(&self, rest: &str, body: &Value) -> Answer {
        self.send(Method::POST, rest, body).await
    }

    pub async fn delete(&self, rest: &str) -> Answer {
        self.send(Method::DELETE, rest, &json!(null)).await
    }

    /// Joins by a link's token.
    pub async fn accept(&self, token: &str) -> Answer {
        let body = json!({ "token": token }).to_string();
        let request = self.request(Method::POST, "/api/v1/workspace-invites/accept");
        Answer::of(request.body(body)).await
    }

    /// The id of a project that this makes.
    pub async fn project(&self, name: &str) -> String {
        let request = self
            .request(Method::POST, &self.path("/projects"))
            .header("Idempotency-Key", format!("project-{name}"));
        let made = request.body(json!({ "name": name }).to_string());
        text(&Answer::of(made).await.ok(201).body["project"]["project_id"])
    }
}
