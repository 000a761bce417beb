use helix::testing::TestApp;
use reqwest::Method;
use serde_json::json;

use super::app::{OAuthApp, runs};
use super::browser::Browser;
use crate::harness::Answer;

pub const BINDINGS: &str = "/api/account/session/agent-bindings";
const SCHEMA: &str = "helix.agent_account_binding_error.v1";

#[tokio::test]
async fn the_binding_that_consent_wrote_is_listed_and_ended_here() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (_, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let listed = browser.get(BINDINGS).await.ok(200);
    assert_eq!(listed.body["schema"], "helix.agent_account_bindings.v1");
    assert_eq!(listed.body["oauth_ready"], true);
    let binding = &listed.body["bindings"][0];
    assert_eq!(
        (&binding["provider"], &binding["status"]),
        (&json!("helix"), &json!("active"))
    );
    assert_eq!(binding["issuer"], app.url("").as_str());
    assert_eq!(
        (&binding["subject_included"], &binding["revoked_at"]),
        (&json!(false), &json!(null))
    );
    assert!(!listed.text.contains("acct_"), "{}", listed.text);
    let path = format!("{BINDINGS}/{}", binding["binding_ref"].as_str().unwrap());
    let unlink = async || Answer::of(browser.lane(Method::DELETE, &path)).await;
    let first = unlink().await.ok(200);
    assert_eq!(first.body["operation"], "agent_account_binding.revoke");
    assert_eq!(first.body["already_revoked"], false);
    assert_eq!(first.body["binding"]["status"], "revoked");
    assert_eq!(unlink().await.ok(200).body["already_revoked"], true);
    runs(&app, &pair.access)
        .await
        .expect(403, "account_not_linked");
    assert_eq!(
        browser.get(BINDINGS).await.ok(200).body["oauth_ready"],
        false
    );
}

#[tokio::test]
async fn the_lane_takes_a_session_of_this_origin_and_nothing_else() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (_, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let path = format!("{BINDINGS}/agent-binding:sha256:{}", "0".repeat(32));
    let refused = |answer: Answer, status, code: &str| {
        let answer = answer.expect(status, code);
        assert_eq!(answer.body["schema"], SCHEMA);
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    };
    let stranger = Browser::new(&app);
    refused(stranger.get(BINDINGS).await, 401, "session_required");
    let bearer = app
        .client()
        .get(app.url(BINDINGS))
        .bearer_auth(&pair.access);
    refused(Answer::of(bearer).await, 401, "session_required");
    let both = browser
        .request(Method::GET, BINDINGS)
        .bearer_auth(&pair.access);
    refused(Answer::of(both).await, 401, "session_required");
    let forbidden = "agent_account_binding_cross_origin_forbidden";
    refused(
        Answer::of(browser.request(Method::DELETE, &path)).await,
        403,
        forbidden,
    );
    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        let mut request = browser.lane(Method::DELETE, &path).build().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        let sent = app.client().execute(request).await.unwrap();
        assert_eq!(sent.status(), 403, "{name}: {value}");
    }
    refused(
        Answer::of(browser.lane(Method::DELETE, &path)).await,
        404,
        "binding_not_found",
    );
}
