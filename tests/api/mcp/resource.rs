//! Where a client learns who issues tokens.

use helix::testing::{AUDIENCE, ISSUER, Setup, TestApp};
use serde_json::json;

use crate::harness::Answer;

const ROOT: &str = "/.well-known/oauth-protected-resource";
const PATHS: [&str; 5] = [
    "",
    "/mcp",
    "/mcp/device-check",
    "/api/v1/agent-runs",
    "/api/v1/rooms",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_documents_name_one_resource_and_its_issuer() {
    let app = TestApp::start().await;
    for path in PATHS {
        let request = app.client().get(app.url(&format!("{ROOT}{path}")));
        let answer = Answer::of(request).await.ok(200);
        assert_eq!(
            (
                &answer.body["resource"],
                &answer.body["authorization_servers"],
                &answer.body["bearer_methods_supported"],
            ),
            (&json!(AUDIENCE), &json!([ISSUER]), &json!(["header"])),
            "{path}"
        );
        assert_eq!(answer.header("cache-control"), "no-store");
        let request = app.client().post(app.url(&format!("{ROOT}{path}")));
        let refused = Answer::of(request).await.expect(405, "invalid_request");
        assert_eq!(refused.header("allow"), "GET");
        let documentation = answer.body["resource_documentation"].as_str().unwrap();
        assert!(documentation.ends_with("/docs/architecture/helix-agent-api-v1.md"));
        let scopes = answer.body["scopes_supported"].as_array().unwrap();
        if path == "/mcp/device-check" {
            assert_eq!(scopes, &[json!("helix.rooms.read")]);
        } else {
            assert_eq!(scopes.len(), 13, "{scopes:?}");
            assert_eq!(
                scopes[..4],
                [
                    json!("helix.agent_runs.read"),
                    json!("helix.agent_runs.write"),
                    json!("helix.agent_runs.developer"),
                    json!("helix.data.public_web.read"),
                ]
            );
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_issuer_there_is_no_document() {
    let app = TestApp::with(Setup {
        environment: vec![("HELIX_AGENT_OAUTH_ISSUER", String::new())],
        ..Setup::default()
    })
    .await;
    for path in PATHS {
        let request = app.client().get(app.url(&format!("{ROOT}{path}")));
        Answer::of(request).await.expect(503, "auth_not_configured");
    }
    app.finish().await;
}
