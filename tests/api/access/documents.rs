use std::sync::{Arc, OnceLock};
use std::time::Duration;

use helix::testing::TestApp;
use helix::testing::upstream::{Manner, Reply, Upstream};
use serde_json::{Value, json};

use super::app::{OAuthApp, Pair, REDIRECT, runs};
use super::browser::Browser;
use crate::harness::Answer;

const SWITCH: (&str, &str) = ("HELIX_CIMD", "1");
const PRIVATE: (&str, &str) = ("HELIX_CIMD_ALLOW_PRIVATE", "1");

/// A site whose answers may name its own address.
async fn site(answers: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) -> Upstream {
    let base = Arc::new(OnceLock::<String>::new());
    let known = Arc::clone(&base);
    let site = Upstream::start(move |path| {
        let base = known.get().map(String::as_str).unwrap_or_default();
        answers(&format!("{base}{path}"), path)
    })
    .await;
    base.set(site.base.clone()).unwrap();
    site
}

/// What an app says of itself at `address`, written for other servers too.
fn document(address: &str) -> Value {
    json!({
        "client_id": address,
        "client_name": "Tide",
        "redirect_uris": ["http://127.0.0.1/back", "https://tide.example/back"],
        "grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
        "token_endpoint_auth_method": "none",
    })
}

fn app_at(app: &TestApp, address: impl Into<String>) -> OAuthApp<'_> {
    let client_id = address.into();
    OAuthApp { app, client_id }
}

async fn metadata(app: &TestApp) -> Value {
    let url = app.url("/.well-known/oauth-authorization-server");
    Answer::of(app.client().get(url)).await.ok(200).body
}

#[tokio::test]
async fn an_address_is_no_app_unless_the_switch_is_on() {
    let site = site(|address, _| Reply::json(&document(address))).await;
    let address = format!("{}/tide.json", site.base);
    let supported = "client_id_metadata_document_supported";
    for settings in [&[][..], &[PRIVATE]] {
        let app = TestApp::issuing_with(settings).await;
        let browser = Browser::of_owner(&app).await;
        assert!(metadata(&app).await.get(supported).is_none());
        let page = app_at(&app, address.as_str()).ask(&browser, &[]).await;
        page.ok(400);
    }
    // Outside of tests, only public https addresses are asked.
    let app = TestApp::issuing_with(&[SWITCH]).await;
    let browser = Browser::of_owner(&app).await;
    assert_eq!(metadata(&app).await[supported], true);
    let secure = address.replace("http:", "https:");
    for id in [address.as_str(), &secure, "https://127.0.0.1/tide.json"] {
        app_at(&app, id).ask(&browser, &[]).await.ok(400);
    }
    assert!(site.asked().is_empty(), "{:?}", site.asked());
}

#[tokio::test]
async fn an_app_is_known_by_the_document_at_its_address() {
    let app = TestApp::issuing_with(&[SWITCH, PRIVATE]).await;
    let mut browser = Browser::of_owner(&app).await;
    let site = site(|address, _| Reply::json(&document(address))).await;
    let client = app_at(&app, format!("{}/tide.json", site.base));
    let page = client.ask(&browser, &[]).await.ok(200);
    assert!(page.text.contains("Tide"), "{}", page.text);
    // The redirect of the document has no port; the app's has one.
    assert!(REDIRECT.contains(":7001/"));
    let code = client.code_from(&mut browser).await;
    let pair = Pair::of(&client.exchange(&code, &[]).await.ok(200).body);
    runs(&app, &pair.access).await.ok(200);
    client.refresh(&pair.refresh).await.ok(200);
    let elsewhere = [("redirect_uri", "http://127.0.0.1:7001/other")];
    client.ask(&browser, &elsewhere).await.ok(400);
    // One look was enough for all of it.
    assert_eq!(site.asked(), ["/tide.json"]);
}

#[tokio::test]
async fn a_document_is_read_again_after_a_while_and_no_token_needs_it() {
    let app = TestApp::issuing_with(&[SWITCH, PRIVATE]).await;
    let mut browser = Browser::of_owner(&app).await;
    let gone = Arc::new(OnceLock::<()>::new());
    let is_gone = Arc::clone(&gone);
    let site = site(move |address, _| match is_gone.get() {
        Some(()) => Reply::status(404),
        None => Reply::json(&document(address)),
    })
    .await;
    let client = app_at(&app, format!("{}/tide.json", site.base));
    let code = client.code_from(&mut browser).await;
    let pair = Pair::of(&client.exchange(&code, &[]).await.ok(200).body);
    gone.set(()).unwrap();
    client.ask(&browser, &[]).await.ok(200);
    app.advance(Duration::from_secs(3_600)).await;
    client.ask(&browser, &[]).await.ok(400);
    client.refresh(&pair.refresh).await.ok(200);
    assert_eq!(site.asked().len(), 2);
}

#[tokio::test]
async fn a_document_that_is_not_to_be_believed_makes_no_app() {
    let app = TestApp::issuing_with(&[SWITCH, PRIVATE]).await;
    let browser = Browser::of_owner(&app).await;
    let site = site(|address, path| {
        let with = |member: &str, value: Value| {
            let mut changed = document(address);
            changed[member] = value;
            Reply::json(&changed)
        };
        match path {
            "/sound" => Reply::json(&document(address)),
            "/other" => with("client_id", json!("https://tide.example/")),
            "/nameless" => with("client_id", Value::Null),
            "/secret" => with("client_secret", json!("s")),
            "/proof" => with("token_endpoint_auth_method", json!("client_secret_basic")),
            "/flow" => with("grant_types", json!(["client_credentials"])),
            "/refresh" => with("grant_types", json!(["refresh_token"])),
            "/redirect" => with("redirect_uris", json!(["javascript:alert(1)"])),
            "/long" => with("client_uri", json!("x".repeat(5 << 10))),
            "/endless" => Reply::json(&document(address)).in_manner(Manner::Endless),
            "/broken" => Reply::json(&document(address)).in_manner(Manner::Broken),
            "/moved" => Reply::redirect("/sound"),
            "/text" => Reply::of("application/json", "no document"),
            _ => Reply::status(404),
        }
    })
    .await;
    let ask = async |id: String| app_at(&app, id).ask(&browser, &[]).await.status;
    assert_eq!(ask(format!("{}/sound", site.base)).await, 200);
    for path in [
        "/other",
        "/nameless",
        "/secret",
        "/proof",
        "/flow",
        "/refresh",
        "/redirect",
        "/long",
        "/endless",
        "/broken",
        "/moved",
        "/text",
        "/absent",
    ] {
        assert_eq!(ask(format!("{}{path}", site.base)).await, 400, "{path}");
    }
    let asked = site.asked().len();
    for spelling in ["/", "", "/a/../sound", "/sound#part", "/sound with space"] {
        let id = format!("{}{spelling}", site.base);
        assert_eq!(ask(id).await, 400, "{spelling}");
    }
    let named = site.base.replace("http://", "http://ada:word@");
    assert_eq!(ask(format!("{named}/sound")).await, 400);
    assert_eq!(site.asked().len(), asked);
}
