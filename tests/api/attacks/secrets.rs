//! Credentials of people and apps in what the server prints and answers (`access` 13, K27).

use helix::testing::TestApp;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::json;

use crate::access::app::{OAuthApp, REDIRECT, VERIFIER};
use crate::access::browser::{Browser, EMAIL, PASSPHRASE, encoded};
use crate::harness::{Answer, RUNS};
use crate::process::Process;

/// Requests to a server of its own process.
struct Outside<'a> {
    http: Client,
    process: &'a Process,
}

impl Outside<'_> {
    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.process.url);
        self.http.request(method, url)
    }

    async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self
            .ask(Method::POST, path)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Origin", &self.process.url)
            .header("Sec-Fetch-Site", "same-origin");
        Answer::of(request.body(encoded(fields))).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_credential_of_a_person_or_an_app_is_in_the_log_or_a_refusal() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let code = client.code_from(&mut browser).await;
    let process = Process::serve(&app).await;
    let http = Client::builder().no_proxy().redirect(Policy::none());
    let outside = Outside {
        http: http.build().unwrap(),
        process: &process,
    };
    let redeem = |verifier| {
        [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", REDIRECT),
            ("client_id", client.client_id.as_str()),
            ("code_verifier", verifier),
        ]
    };
    let wrong = VERIFIER.replace("-1", "-2");
    let mut refusals = vec![outside.form("/token", &redeem(wrong.as_str())).await];
    let given = outside.form("/token", &redeem(VERIFIER)).await.ok(200).body;
    let text = |name: &str| given[name].as_str().unwrap().to_owned();
    let (access, refresh) = (text("access_token"), text("refresh_token"));
    let cookie = browser.cookie.clone().unwrap();
    let session = cookie.split_once('=').unwrap().1;
    let sign_in = |passphrase| [("email", EMAIL), ("passphrase", passphrase), ("next", "/")];
    outside.form("/sign-in", &sign_in(PASSPHRASE)).await.ok(303);
    let guess = "a guess of a passphrase";
    refusals.push(outside.form("/sign-in", &sign_in(guess)).await);
    for (path, fields) in [
        (
            "/token",
            vec![("grant_type", "refresh_token"), ("refresh_token", &refresh)],
        ),
        ("/token?code=", vec![("code", code.as_str())]),
        ("/introspect", vec![("token", access.as_str())]),
        (
            "/authorize",
            vec![("oauthreq", code.as_str()), ("passphrase", PASSPHRASE)],
        ),
        ("/sign-out", vec![("csrf", session)]),
    ] {
        refusals.push(outside.form(path, &fields).await);
    }
    let answers = [
        outside.ask(Method::GET, &format!("{RUNS}?access_token={access}")),
        outside.ask(Method::GET, RUNS).bearer_auth(&refresh),
        outside
            .ask(Method::GET, "/no/such/path")
            .bearer_auth(&access),
        outside
            .ask(Method::POST, "/mcp")
            .json(&json!({"id": access})),
        outside
            .ask(Method::GET, &format!("/sign-in?next={session}"))
            .header("Cookie", &cookie),
        outside
            .ask(Method::DELETE, "/api/account/session/agent-bindings/x")
            .header("Cookie", &cookie),
    ];
    for request in answers {
        refusals.push(Answer::of(request).await);
    }
    outside.form("/revoke", &[("token", &access)]).await.ok(200);
    let log = process.stop().await;
    assert!(log.contains("/token"), "{log}");
    let secrets = [
        access.as_str(),
        refresh.as_str(),
        code.as_str(),
        session,
        PASSPHRASE,
        guess,
        VERIFIER,
        wrong.as_str(),
    ];
    for secret in secrets {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
        for refusal in &refusals {
            assert!(!refusal.text.contains(secret), "{}", refusal.text);
        }
    }
}
