use helix::testing::TestApp;
use reqwest::Url;

use super::app::{OAuthApp, Pair, REDIRECT, RUN_SCOPES, parameter, runs};
use super::browser::{Browser, EMAIL, PASSPHRASE, field};
use crate::races::beside::Beside;

#[tokio::test]
async fn an_app_that_is_allowed_reads_the_accounts_runs() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let page = client.ask(&browser, &[]).await.ok(200);
    for said in [
        "an app on this computer",
        "Tide",
        "unverified",
        "Start, continue and cancel agent runs",
    ] {
        assert!(page.text.contains(said), "{said}");
    }
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("form-action 'self' http://127.0.0.1:*")
            || policy.contains("form-action 'self' http://127.0.0.1"),
        "{policy}"
    );
    let url = client.allowed_by(&mut browser, &[]).await;
    assert!(url.as_str().starts_with(REDIRECT));
    assert_eq!(parameter(&url, "state").as_deref(), Some("a state & more"));
    assert_eq!(
        parameter(&url, "iss").as_deref(),
        Some(app.url("").as_str())
    );
    let issued = client
        .exchange(&parameter(&url, "code").unwrap(), &[])
        .await
        .ok(200);
    assert_eq!(issued.header("cache-control"), "no-store");
    assert_eq!(issued.body["token_type"], "bearer");
    assert_eq!(issued.body["expires_in"], 3600);
    assert_eq!(issued.body["scope"], RUN_SCOPES);
    assert_eq!(issued.body["resource"], app.url("/mcp"));
    let pair = Pair::of(&issued.body);
    runs(&app, &pair.access).await.ok(200);
    // A refresh token opens no door.
    runs(&app, &pair.refresh).await.expect(401, "unauthorized");
}

#[tokio::test]
async fn somebody_who_is_not_signed_in_decides_with_address_and_passphrase() {
    let app = TestApp::issuing().await;
    Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let mut browser = Browser::new(&app);
    let page = client.ask(&browser, &[]).await.ok(200);
    let handle = field(&page.text, "oauthreq");
    let mut form = vec![
        ("oauthreq", handle.as_str()),
        ("email", EMAIL),
        ("passphrase", "not the passphrase"),
        ("scopes", "helix.agent_runs.read"),
        ("action", "allow"),
    ];
    let refused = browser.submit("/authorize", &form).await.ok(401);
    // Shown again with the same question and the same ticks.
    assert_eq!(field(&refused.text, "oauthreq"), handle);
    form[2].1 = PASSPHRASE;
    let answer = browser.submit("/authorize", &form).await.ok(303);
    let code = parameter(&Url::parse(answer.header("location")).unwrap(), "code").unwrap();
    let issued = client.exchange(&code, &[]).await.ok(200);
    assert_eq!(issued.body["scope"], "helix.agent_runs.read");
    assert!(browser.cookie.is_none(), "deciding signs nobody in");
    // Answered once.
    browser.submit("/authorize", &form).await.ok(400);
}

#[tokio::test]
async fn a_denied_app_is_told_so_and_gets_nothing() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let page = client.ask(&browser, &[]).await.ok(200);
    let handle = field(&page.text, "oauthreq");
    let form = [("oauthreq", handle.as_str()), ("action", "deny")];
    let answer = browser.submit("/authorize", &form).await.ok(303);
    let url = Url::parse(answer.header("location")).unwrap();
    assert_eq!(parameter(&url, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(&url, "code"), None);
    browser.submit("/authorize", &form).await.ok(400);
}

#[tokio::test]
async fn nothing_ticked_is_refused_with_a_message() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let page = client.ask(&browser, &[]).await.ok(200);
    let handle = field(&page.text, "oauthreq");
    let form = [
        ("oauthreq", handle.as_str()),
        ("passphrase", PASSPHRASE),
        ("action", "allow"),
    ];
    let answer = browser.submit("/authorize", &form).await.ok(400);
    assert!(answer.text.contains("Tick at least one thing"));
}

#[tokio::test]
async fn a_question_of_one_session_is_answered_in_no_other() {
    let app = TestApp::issuing().await;
    let browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let page = client.ask(&browser, &[]).await.ok(200);
    let handle = field(&page.text, "oauthreq");
    let form = [
        ("oauthreq", handle.as_str()),
        ("email", EMAIL),
        ("passphrase", PASSPHRASE),
        ("scopes", "helix.agent_runs.read"),
        ("action", "allow"),
    ];
    let mut nobody = Browser::new(&app);
    nobody.submit("/authorize", &form).await.ok(403);
    let mut second = Browser::new(&app);
    second.sign_in(EMAIL, PASSPHRASE).await.ok(303);
    second.submit("/authorize", &form).await.ok(403);
}

#[tokio::test]
async fn faults_of_a_request_are_a_page_until_the_redirect_is_known_and_then_an_error_there() {
    let app = TestApp::issuing().await;
    let browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    for with in [
        ("client_id", "nobody"),
        ("redirect_uri", ""),
        ("redirect_uri", "http://127.0.0.1:7001/back/"),
        ("redirect_uri", "http://localhost:7001/back"),
        ("redirect_uri", "https://evil.example/"),
    ] {
        let answer = client.ask(&browser, &[with]).await.ok(400);
        assert!(
            answer.header("content-type").starts_with("text/html")
                && answer.header("location").is_empty()
        );
    }
    for (with, error) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("code_challenge", ""), "invalid_request"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge_method", ""), "invalid_request"),
        (
            ("resource", "https://other.example.org/mcp"),
            "invalid_target",
        ),
        (("resource", "/mcp"), "invalid_target"),
    ] {
        let answer = client.ask(&browser, &[with]).await.ok(303);
        let url = Url::parse(answer.header("location")).unwrap();
        assert_eq!(parameter(&url, "error").as_deref(), Some(error), "{with:?}");
        assert_eq!(
            parameter(&url, "iss").as_deref(),
            Some(app.url("").as_str())
        );
    }
    // Loopback redirects are free in their port.
    client
        .ask(&browser, &[("redirect_uri", "http://127.0.0.1:51999/back")])
        .await
        .ok(200);
}

#[tokio::test]
async fn a_full_account_connects_no_further_app_but_an_app_takes_its_own_place() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (tide, _) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    Beside::open(&app)
        .await
        .run(
            "with made as (
                 insert into access.ledger (row_id, kind, door, account_id, created_at_ms, expires_at_ms, rests_on, scopes)
                 select gen_random_uuid(), l.kind, l.door, l.account_id, l.created_at_ms, l.expires_at_ms, l.rests_on, l.scopes
                   from access.ledger l join access.oauth_grant g on g.row_id = l.row_id, generate_series(1, 199)
                 returning row_id)
             insert into access.oauth_grant (row_id, account_id, door, client_id, app_mac, key_id, body, given_at_ms)
             select m.row_id, g.account_id, g.door, 'other ' || m.row_id,
                    decode(repeat(md5(m.row_id::text), 2), 'hex'), g.key_id, g.body, g.given_at_ms
               from made m, (select * from access.oauth_grant) g",
        )
        .await;
    let ebb = OAuthApp::register(&app, "Ebb").await;
    let page = ebb.ask(&browser, &[]).await.ok(200);
    let handle = field(&page.text, "oauthreq");
    let mut form = vec![
        ("oauthreq", handle.as_str()),
        ("passphrase", PASSPHRASE),
        ("action", "allow"),
    ];
    form.extend(RUN_SCOPES.split(' ').map(|scope| ("scopes", scope)));
    let refused = browser.submit("/authorize", &form).await.ok(409);
    assert!(refused.text.contains("at most 200 connections"));
    let code = tide.code_from(&mut browser).await;
    tide.exchange(&code, &[]).await.ok(200);
    app.finish().await;
}
