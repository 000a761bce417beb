//! What everybody may read: documents for machines and pages for people.

use helix::testing::{CLIENTS, TestApp, Tried};
use regex::Regex;
use reqwest::Method;
use serde_json::json;

use crate::harness::Answer;

async fn get(app: &TestApp, path: &str) -> Answer {
    Answer::of(app.client().get(app.url(path))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_manifest_says_how_agents_connect() {
    let app = TestApp::start().await;
    let answer = get(&app, "/agent-access.json").await.ok(200);
    let body = &answer.body;
    assert_eq!(body["metadata_kind"], "casimirbot.agent_access");
    assert_eq!(
        (&body["metadata_version"], &body["standard"]),
        (&json!("1"), &json!(false))
    );
    assert_eq!(
        body["connection"],
        json!({"explicit_configuration_required": true, "user_authorization_required": true,
            "retrieval_only_clients_can_invoke": false})
    );
    assert_eq!(
        body["mcp"]["tools"],
        json!([
            "helix_run_start",
            "helix_run_continue",
            "helix_run_cancel",
            "helix_run_inspect",
            "helix_run_fetch_evidence",
            "helix_run_list_events",
        ])
    );
    assert_eq!(body["mcp"]["transport"], "streamable_http");
    assert_eq!(
        body["mcp"]["session_model"],
        "stateless_transport_with_durable_run_ids"
    );
    assert_eq!(body["rest"]["api_version"], "v1");
    for (value, path) in [
        (&body["canonical_url"], "/agent-access.json"),
        (&body["mcp"]["url"], "/mcp"),
        (&body["rest"]["base_url"], "/api/v1/agent-runs"),
        (&body["rest"]["room_base_url"], "/api/v1/rooms"),
        (
            &body["oauth"]["protected_resource_metadata_url"],
            "/.well-known/oauth-protected-resource/mcp",
        ),
        (&body["links"]["human_discovery"], "/agent-access"),
        (
            &body["links"]["api_contract"],
            "/docs/architecture/helix-agent-api-v1.md",
        ),
        (&body["links"]["workstation"], ""),
    ] {
        assert_eq!(value, &json!(app.url(path)), "{path}");
    }
    assert_eq!(answer.header("cache-control"), "public, max-age=300");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    let canonical = format!("<{}>; rel=\"canonical\"", app.url("/agent-access.json"));
    assert_eq!(answer.header("link"), canonical);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_answer_head_and_refuse_every_other_method() {
    let app = TestApp::start().await;
    for path in [
        "/agent-access.json",
        "/agent-access",
        "/docs/architecture/helix-agent-api-v1.md",
        "/robots.txt",
        "/sitemap.xml",
        "/llms.txt",
        "/openapi.json",
        "/docs",
        "/errors",
        "/errors/not_found",
        "/security",
        "/.well-known/security.txt",
        "/assets/pages.css",
        "/assets/pages.js",
    ] {
        let whole = get(&app, path).await.ok(200);
        let head = Answer::of(app.client().head(app.url(path))).await.ok(200);
        assert_eq!(head.text, "", "{path}");
        assert_eq!(
            head.header("content-type"),
            whole.header("content-type"),
            "{path}"
        );
        assert!(
            head.header("x-request-id").starts_with("helix_req_"),
            "{path}"
        );
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let refused = Answer::of(app.client().request(method, app.url(path))).await;
            assert_eq!(
                refused.expect(405, "invalid_request").header("allow"),
                "GET, HEAD"
            );
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crawlers_are_led_to_pages_and_away_from_the_api() {
    let app = TestApp::start().await;
    let robots = get(&app, "/robots.txt").await.ok(200);
    for line in [
        "Disallow: /api/",
        "Disallow: /mcp",
        &format!("Sitemap: {}", app.url("/sitemap.xml")),
    ] {
        assert!(
            robots.text.lines().any(|told| told == line),
            "{line}: {}",
            robots.text
        );
    }
    let sitemap = get(&app, "/sitemap.xml").await.ok(200);
    let llms = get(&app, "/llms.txt").await.ok(200);
    let guide = get(&app, "/docs/architecture/helix-agent-api-v1.md")
        .await
        .ok(200);
    assert_eq!(guide.header("content-type"), "text/markdown; charset=utf-8");
    let places = Regex::new(r"<loc>([^<]+)</loc>").unwrap();
    let links = Regex::new(r"\]\((http[^)]+)\)").unwrap();
    let mut found = 0;
    for (pattern, text) in [
        (&places, &sitemap.text),
        (&links, &llms.text),
        (&links, &guide.text),
    ] {
        assert!(!text.contains("{base}"));
        for place in pattern.captures_iter(text) {
            Answer::of(app.client().get(&place[1])).await.ok(200);
            found += 1;
        }
    }
    assert!(found > 30, "{found}");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_have_one_frame_and_links_that_lead_somewhere() {
    let app = TestApp::start().await;
    let links = Regex::new(r#"href="(/[^"]*)""#).unwrap();
    let anchors = Regex::new(r##"href="#([^"]*)""##).unwrap();
    let headings = Regex::new(r"<h([1-6])").unwrap();
    for path in [
        "/agent-access",
        "/docs",
        "/errors",
        "/errors/run_busy",
        "/errors/nothing",
        "/security",
    ] {
        let page = get(&app, path).await;
        assert_eq!(
            page.status,
            if path.ends_with("nothing") { 404 } else { 200 }
        );
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(
            page.header("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
             form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        );
        assert_eq!(page.header("referrer-policy"), "same-origin");
        assert_eq!(page.header("x-frame-options"), "DENY");
        assert_eq!(page.header("cache-control"), "no-store");
        assert!(
            page.text.starts_with("<!doctype html>\n<html lang=\"en\">"),
            "{path}"
        );
        for absent in ["<style", " style=", " onclick=", "javascript:"] {
            assert!(!page.text.contains(absent), "{path}: {absent}");
        }
        let script = "<script src=\"/assets/pages.js\"></script>";
        assert!(page.text.contains(script), "{path}");
        assert_eq!(page.text.matches("<script").count(), 1, "{path}");
        let mut level = 0;
        for heading in headings.captures_iter(&page.text) {
            let next: usize = heading[1].parse().unwrap();
            assert!(next <= level + 1, "{path}: h{next} after h{level}");
            level = next;
        }
        assert_eq!(page.text.matches("<h1").count(), 1, "{path}");
        for link in links.captures_iter(&page.text) {
            get(&app, &link[1]).await.ok(200);
        }
        for anchor in anchors.captures_iter(&page.text) {
            assert!(
                page.text.contains(&format!("id=\"{}\"", &anchor[1])),
                "{path}#{}",
                &anchor[1]
            );
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_behind_a_problem_explains_it() {
    let app = TestApp::start().await;
    let request = app.client().get(app.url("/api/v1/agent-runs"));
    let refused = Answer::of(request.header("Accept", "application/problem+json"))
        .await
        .ok(401);
    let page = Answer::of(app.client().get(refused.body["type"].as_str().unwrap()))
        .await
        .ok(200);
    assert!(
        page.text.contains("<h1><code>unauthorized</code></h1>"),
        "{}",
        page.text
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_every_snippet_with_this_servers_address() {
    let app = TestApp::start().await;
    let page = get(&app, "/agent-access").await.ok(200);
    let shown = page
        .text
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&#38;", "&");
    let url = app.url("/mcp");
    for client in CLIENTS {
        assert!(shown.contains(client.name) && shown.contains(client.tried.text()));
        let snippets = [client.oauth_for(&url), client.token_for(&url)];
        for snippet in snippets.into_iter().flatten() {
            assert!(
                snippet.contains(&url) || snippet.contains("HELIX_TOKEN"),
                "{snippet}"
            );
            assert!(shown.contains(&snippet), "{snippet}\n{shown}");
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_snippet_for_curl_lists_the_tools() {
    let app = TestApp::start().await;
    let curl = CLIENTS.iter().find(|client| client.name == "curl").unwrap();
    assert_ne!(curl.tried, Tried::Untried);
    let output = tokio::process::Command::new("sh")
        .args(["-c", &curl.token_for(&app.url("/mcp")).unwrap()])
        .env("HELIX_TOKEN", app.caller("ana").await.token())
        .output()
        .await
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        answer["result"]["tools"][0]["name"], "helix_run_start",
        "{answer}"
    );
    app.finish().await;
}
