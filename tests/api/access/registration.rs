use helix::testing::TestApp;
use serde_json::json;

use super::app::{REDIRECT, register};
use crate::harness::Answer;

#[tokio::test]
async fn metadata_agrees_with_itself() {
    let app = TestApp::issuing().await;
    let get = async |path: &str| Answer::of(app.client().get(app.url(path))).await.ok(200);
    let issuer = app.url("");
    let server = get("/.well-known/oauth-authorization-server").await;
    assert_eq!(server.body["issuer"], issuer.as_str());
    assert_eq!(server.body["token_endpoint"], app.url("/token"));
    assert_eq!(
        server.body["introspection_endpoint"],
        app.url("/introspect")
    );
    assert_eq!(
        server.body["code_challenge_methods_supported"],
        json!(["S256"])
    );
    assert_eq!(server.header("access-control-allow-origin"), "*");
    assert_eq!(server.header("cache-control"), "no-store");
    assert_eq!(
        get("/.well-known/oauth-authorization-server/mcp")
            .await
            .body,
        server.body
    );
    for path in ["", "/mcp", "/api/v1/agent-runs"] {
        let resource = get(&format!("/.well-known/oauth-protected-resource{path}")).await;
        assert_eq!(resource.body["resource"], app.url("/mcp"));
        assert_eq!(resource.body["authorization_servers"], json!([issuer]));
    }
    let listed = server.body["scopes_supported"].as_array().unwrap();
    assert!(
        listed.contains(&json!("helix.agent_runs.read"))
            && !listed.contains(&json!("offline_access"))
    );
    let absent = app
        .client()
        .get(app.url("/.well-known/openid-configuration"));
    Answer::of(absent).await.ok(404);
}

#[tokio::test]
async fn an_app_without_a_secret_registers_once() {
    let app = TestApp::issuing().await;
    let document = json!({
        "client_name": "Tide", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none",
        "software_id": "ignored", "scope": "offline_access",
    });
    let first = register(&app, &document).await.ok(201);
    assert!(first.body.get("client_secret").is_none());
    assert!(!first.text.contains("null"), "{}", first.text);
    let second = register(&app, &document).await.ok(201);
    assert_eq!(first.body["client_id"], second.body["client_id"]);
}

#[tokio::test]
async fn an_app_with_a_secret_is_shown_it_once_and_registers_anew() {
    let app = TestApp::issuing().await;
    let document = json!({"client_name": "Tide", "redirect_uris": [REDIRECT]});
    let first = register(&app, &document).await.ok(201);
    assert!(
        first.body["client_secret"]
            .as_str()
            .unwrap()
            .starts_with("hx_cs_")
    );
    assert_eq!(
        first.body["token_endpoint_auth_method"],
        "client_secret_basic"
    );
    let second = register(&app, &document).await.ok(201);
    assert_ne!(first.body["client_id"], second.body["client_id"]);
}

#[tokio::test]
async fn what_cannot_be_registered_is_refused_with_its_code() {
    let app = TestApp::issuing().await;
    for (document, code) in [
        (json!({"client_name": "Tide"}), "invalid_client_metadata"),
        (json!({"redirect_uris": []}), "invalid_client_metadata"),
        (
            json!({"redirect_uris": ["javascript:alert(1)"]}),
            "invalid_redirect_uri",
        ),
        (
            json!({"redirect_uris": [REDIRECT, "http://evil.example/"]}),
            "invalid_redirect_uri",
        ),
        (
            json!({"redirect_uris": [REDIRECT], "client_name": {}}),
            "invalid_client_metadata",
        ),
        (
            json!({"redirect_uris": [REDIRECT], "client_name": "You (web)"}),
            "invalid_client_metadata",
        ),
        (json!([1]), "invalid_client_metadata"),
    ] {
        register(&app, &document).await.expect(400, code);
    }
    let raw = app
        .client()
        .post(app.url("/register"))
        .body("{\"a\":1,\"a\":2}");
    Answer::of(raw).await.expect(400, "invalid_request");
    let large = json!({"redirect_uris": [REDIRECT], "client_name": "x".repeat(17_000)});
    register(&app, &large).await.ok(413);
    Answer::of(app.client().get(app.url("/register")))
        .await
        .ok(405);
}
