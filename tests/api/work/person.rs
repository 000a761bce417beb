//! A member of a workspace, signed in with a browser that sends JSON.

use helix::testing::TestApp;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::client::{ROOT, text};
use crate::access::browser::Browser;
use crate::harness::Answer;

#[derive(Debug)]
pub struct Person<'a> {
    pub browser: Browser<'a>,
    pub workspace: String,
}

impl<'a> Person<'a> {
    /// The first owner, in their own workspace.
    pub async fn owner(app: &'a TestApp) -> Self {
        let browser = Browser::of_owner(app).await;
        let listed = browser.get(ROOT).await.ok(200).body;
        let workspace = text(&listed["workspaces"][0]["workspace_id"]);
        Self { browser, workspace }
    }

    pub fn path(&self, rest: &str) -> String {
        format!("{ROOT}/{}{rest}", self.workspace)
    }

    /// A request as a page of this server sends it.
    pub fn request(&self, method: Method, rest: &str) -> RequestBuilder {
        let origin = self.browser.app.url_of(self.browser.server, "");
        self.browser
            .request(method, &self.path(rest))
            .header("Origin", origin)
            .header("Sec-Fetch-Site", "same-origin")
            .header("Content-Type", "application/json")
    }

    pub async fn get(&self, rest: &str) -> Answer {
        self.browser.get(&self.path(rest)).await
    }

    pub async fn send(&self, method: Method, rest: &str, body: &Value) -> Answer {
        Answer::of(self.request(method, rest).body(body.to_string())).await
    }

    pub async fn post(&self, rest: &str, body: &Value) -> Answer {
        self.send(Method::POST, rest, body).await
    }
}
