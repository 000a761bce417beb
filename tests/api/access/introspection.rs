use helix::testing::TestApp;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::app::{OAuthApp, Pair, REDIRECT, RUN_SCOPES, post_form, register};
use super::browser::{Browser, encoded};
use crate::harness::Answer;

/// An app with a secret, and the secret.
async fn confidential<'a>(app: &'a TestApp, name: &str) -> (OAuthApp<'a>, String) {
    let document = json!({
        "client_name": name, "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "client_secret_post",
    });
    let body = register(app, &document).await.ok(201).body;
    let text = |member: &str| body[member].as_str().unwrap().to_owned();
    let client_id = text("client_id");
    (OAuthApp { app, client_id }, text("client_secret"))
}

/// The app's tokens for the account that `browser` is signed in to.
async fn pair(client: &OAuthApp<'_>, secret: &str, browser: &mut Browser<'_>) -> Pair {
    let code = client.code_from(browser).await;
    let answer = client.exchange(&code, &[("client_secret", secret)]).await;
    Pair::of(&answer.ok(200).body)
}

async fn asked(client: &OAuthApp<'_>, secret: &str, token: &str) -> Answer {
    let fields = [
        ("token", token),
        ("client_id", client.client_id.as_str()),
        ("client_secret", secret),
    ];
    post_form(client.app, "/introspect", &fields).await
}

fn by_header(client: &OAuthApp<'_>, secret: &str, path: &str) -> RequestBuilder {
    let request = client.app.client().post(client.app.url(path));
    request
        .basic_auth(&client.client_id, Some(secret))
        .header("Content-Type", "application/x-www-form-urlencoded")
}

#[tokio::test]
async fn an_app_with_a_secret_learns_what_its_own_tokens_are_good_for() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, secret) = confidential(&app, "Tide").await;
    let pair = pair(&client, &secret, &mut browser).await;
    let answer = asked(&client, &secret, &pair.access).await.ok(200);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    let issued_at = answer.body["iat"].as_i64().unwrap();
    let expected = |token_type: &str, expires_at: i64| {
        json!({
            "active": true, "scope": RUN_SCOPES, "client_id": client.client_id,
            "iat": issued_at, "exp": expires_at, "iss": app.url(""), "aud": app.url("/mcp"),
            "token_type": token_type,
        })
    };
    assert_eq!(answer.body, expected("bearer", issued_at + 3_600));
    let body = encoded(&[
        ("token", &pair.refresh),
        ("token_type_hint", "access_token"),
    ]);
    let answer = Answer::of(by_header(&client, &secret, "/introspect").body(body)).await;
    let expires_at = answer.body["exp"].as_i64().unwrap();
    assert_eq!(answer.ok(200).body, expected("refresh_token", expires_at));
}

#[tokio::test]
async fn whatever_is_no_live_token_of_the_app_is_only_not_active() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, secret) = confidential(&app, "Tide").await;
    let (other, other_secret) = confidential(&app, "Ebb").await;
    let pair = pair(&client, &secret, &mut browser).await;
    let inactive: Value = json!({"active": false});
    for token in [&pair.access, &pair.refresh] {
        let answer = asked(&other, &other_secret, token).await.ok(200);
        assert_eq!(answer.body, inactive);
    }
    let made_up = asked(&client, &secret, "made up").await.ok(200);
    assert_eq!(made_up.body, inactive);
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", pair.refresh.as_str()),
        ("client_id", client.client_id.as_str()),
        ("client_secret", secret.as_str()),
    ];
    let next = Pair::of(&post_form(&app, "/token", &fields).await.ok(200).body);
    assert_eq!(asked(&client, &secret, &pair.refresh).await.body, inactive);
    let live = asked(&client, &secret, &next.refresh).await;
    assert_eq!(live.body["active"], true);
    post_form(&app, "/revoke", &[("token", &next.refresh)])
        .await
        .ok(200);
    for token in [&pair.access, &next.access, &next.refresh] {
        assert_eq!(asked(&client, &secret, token).await.body, inactive);
    }
}

#[tokio::test]
async fn who_has_no_secret_or_the_wrong_one_is_told_nothing() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (public, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let (client, secret) = confidential(&app, "Ebb").await;
    let token = ("token", pair.access.as_str());
    for fields in [
        vec![token],
        vec![token, ("client_id", public.client_id.as_str())],
        vec![token, ("client_id", client.client_id.as_str())],
        vec![
            token,
            ("client_id", client.client_id.as_str()),
            ("client_secret", "wrong"),
        ],
    ] {
        let answer = post_form(&app, "/introspect", &fields).await;
        answer.expect(401, "invalid_client");
    }
    let body = encoded(&[token]);
    let wrong = by_header(&client, "wrong", "/introspect").body(body.clone());
    let answer = Answer::of(wrong).await;
    assert_eq!(answer.header("www-authenticate"), "Basic realm=\"Helix\"");
    answer.expect(401, "invalid_client");
    let in_url = by_header(&client, &secret, "/introspect?token=x").body(body);
    Answer::of(in_url).await.expect(400, "invalid_request");
    let nothing = by_header(&client, &secret, "/introspect");
    Answer::of(nothing).await.expect(400, "invalid_request");
}

#[tokio::test]
async fn introspection_is_no_matter_of_pages() {
    let app = TestApp::issuing().await;
    for method in [Method::GET, Method::OPTIONS] {
        let request = app.client().request(method, app.url("/introspect"));
        let answer = Answer::of(request.header("Origin", "https://page.example")).await;
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
        assert!([403, 405].contains(&answer.status), "{}", answer.status);
    }
}
