//! An app that wants to act for somebody: registered, with a code, with tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helix::testing::TestApp;
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::browser::{Browser, PASSPHRASE, encoded, field};
use crate::harness::Answer;

pub const REDIRECT: &str = "http://127.0.0.1:7001/back";
pub const RUN_SCOPES: &str = "helix.agent_runs.read helix.agent_runs.write";
pub const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters-1";

#[derive(Debug, Clone)]
pub struct OAuthApp<'a> {
    pub app: &'a TestApp,
    pub client_id: String,
}

/// What `/token` gave.
#[derive(Debug, Clone)]
pub struct Pair {
    pub access: String,
    pub refresh: String,
}

impl<'a> OAuthApp<'a> {
    pub async fn register(app: &'a TestApp, name: &str) -> Self {
        let document = json!({
            "client_name": name, "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none",
        });
        let answer = register(app, &document).await.ok(201);
        Self {
            app,
            client_id: answer.body["client_id"].as_str().unwrap().to_owned(),
        }
    }

    /// The query of `/authorize`, changed by `with`; an empty value takes a parameter away.
    pub fn query(&self, with: &[(&str, &str)]) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let resource = self.app.url("/mcp");
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", self.client_id.as_str()),
            ("redirect_uri", REDIRECT),
            ("scope", RUN_SCOPES),
            ("state", "a state & more"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &resource),
        ];
        fields.retain(|(name, _)| !with.iter().any(|(changed, _)| changed == name));
        fields.extend(with.iter().filter(|(_, value)| !value.is_empty()));
        encoded(&fields)
    }

    pub async fn ask(&self, browser: &Browser<'_>, with: &[(&str, &str)]) -> Answer {
        browser
            .get(&format!("/authorize?{}", self.query(with)))
            .await
    }

    /// Asks a signed-in person, who allows what was asked for; where the browser is sent.
    pub async fn allowed_by(&self, browser: &mut Browser<'_>, with: &[(&str, &str)]) -> Url {
        let page = self.ask(browser, with).await.ok(200);
        let handle = field(&page.text, "oauthreq");
        let mut form = vec![
            ("oauthreq", handle.as_str()),
            ("passphrase", PASSPHRASE),
            ("action", "allow"),
        ];
        form.extend(RUN_SCOPES.split(' ').map(|scope| ("scopes", scope)));
        let answer = browser.submit("/authorize", &form).await.ok(303);
        Url::parse(answer.header("location")).unwrap()
    }

    pub async fn code_from(&self, browser: &mut Browser<'_>) -> String {
        parameter(&self.allowed_by(browser, &[]).await, "code").unwrap()
    }

    /// `POST /token` with the fields of a code exchange, changed by `with`.
    pub async fn exchange(&self, code: &str, with: &[(&str, &str)]) -> Answer {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("client_id", self.client_id.as_str()),
            ("code_verifier", VERIFIER),
        ];
        fields.retain(|(name, _)| !with.iter().any(|(changed, _)| changed == name));
        fields.extend(with.iter().filter(|(_, value)| !value.is_empty()));
        post_form(self.app, "/token", &fields).await
    }

    pub async fn refresh(&self, token: &str) -> Answer {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", self.client_id.as_str()),
        ];
        post_form(self.app, "/token", &fields).await
    }

    /// Connected to the account that `browser` is signed in to.
    pub async fn connected(
        app: &'a TestApp,
        browser: &mut Browser<'_>,
        name: &str,
    ) -> (Self, Pair) {
        let client = Self::register(app, name).await;
        let code = client.code_from(browser).await;
        let pair = Pair::of(&client.exchange(&code, &[]).await.ok(200).body);
        (client, pair)
    }
}

impl Pair {
    pub fn of(body: &Value) -> Self {
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        Self {
            access: text("access_token"),
            refresh: text("refresh_token"),
        }
    }
}

pub async fn register(app: &TestApp, document: &Value) -> Answer {
    let request = app.client().post(app.url("/register"));
    Answer::of(
        request
            .header("Content-Type", "application/json")
            .body(document.to_string()),
    )
    .await
}

pub async fn post_form(app: &TestApp, path: &str, fields: &[(&str, &str)]) -> Answer {
    let request = app
        .client()
        .post(app.url(path))
        .header("Content-Type", "application/x-www-form-urlencoded");
    Answer::of(request.body(encoded(fields))).await
}

/// A run list asked for with a token.
pub async fn runs(app: &TestApp, token: &str) -> Answer {
    let request = app.client().get(app.url("/api/v1/agent-runs"));
    Answer::of(request.bearer_auth(token)).await
}

pub fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}
