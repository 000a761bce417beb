//! Apps that want more than they were given (`access` 13, K14–K16, K18–K22, K35).

use std::time::Duration;

use futures_util::future::join_all;
use helix::testing::{TestApp, person_routes};
use reqwest::Method;
use serde_json::json;

use crate::access::app::{OAuthApp, Pair, REDIRECT, VERIFIER, post_form, register, runs};
use crate::access::browser::{Browser, EMAIL, PASSPHRASE, encoded, field};
use crate::harness::Answer;

#[tokio::test]
async fn a_verifier_out_of_bounds_buys_no_token_and_uses_nothing_up() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let code = client.code_from(&mut browser).await;
    for verifier in [&VERIFIER[..42], "v".repeat(129).as_str()] {
        let refused = client.exchange(&code, &[("code_verifier", verifier)]).await;
        refused.expect(400, "invalid_grant");
    }
    client.exchange(&code, &[]).await.ok(200);
}

#[tokio::test]
async fn no_redirect_that_leads_elsewhere_than_it_seems_is_registered() {
    let app = TestApp::issuing().await;
    for redirect in [
        "http://evil",
        "https://me:pw@notes.example.org/back",
        "https://notes.example.org/back#part",
        "javascript:alert(1)",
        "data:text/html,hello",
        "https://*.example.org/back",
        "http://127.0.0.1.evil/back",
        "http://localhost@evil/back",
        "https://notes.example.org\\@evil.example/",
        "http://0.0.0.0:7001/back",
        "https://notes.example.org/a\tb",
    ] {
        let document = json!({"client_name": "Tide", "redirect_uris": [redirect]});
        let refused = register(&app, &document).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "invalid_redirect_uri"),
            "{redirect}"
        );
    }
    let nul = json!({"redirect_uris": ["https://notes.example.org/\0"]});
    register(&app, &nul).await.ok(400);
}

#[tokio::test]
async fn an_authorization_is_answered_nowhere_but_at_the_registered_redirect() {
    let app = TestApp::issuing().await;
    let browser = Browser::of_owner(&app).await;
    let back = "https://notes.example.org/oauth/back";
    let document = json!({
        "client_name": "Tide", "redirect_uris": [back, REDIRECT],
        "token_endpoint_auth_method": "none",
    });
    let registered = register(&app, &document).await.ok(201);
    let client = OAuthApp {
        app: &app,
        client_id: registered.body["client_id"].as_str().unwrap().to_owned(),
    };
    for other in [
        "https://notes.example.org/oauth/other",
        "https://notes.example.org/oauth/x/../back",
        "https://notes.example.org/oauth/x/%2e%2e/back",
        "https://notes.example.org/oauth/back?x=1",
        "http://localhost:7001/back",
        "http://[::1]:7001/back",
        "https://127.0.0.1:7001/back",
    ] {
        let refused = client.ask(&browser, &[("redirect_uri", other)]).await;
        assert_eq!(refused.status, 400, "{other}");
        assert_eq!(refused.header("location"), "", "{other}");
    }
    for known in [back, "http://127.0.0.1:51999/back"] {
        client
            .ask(&browser, &[("redirect_uri", known)])
            .await
            .ok(200);
    }
}

#[tokio::test]
async fn a_refresh_token_used_again_late_ends_the_grant() {
    let app = TestApp::issuing().await;
    app.freeze().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, first) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let second = Pair::of(&client.refresh(&first.refresh).await.ok(200).body);
    app.advance(Duration::from_secs(31)).await;
    for token in [&first.refresh, &second.refresh] {
        client.refresh(token).await.expect(400, "invalid_grant");
    }
    runs(&app, &second.access).await.expect(401, "unauthorized");
}

#[tokio::test]
async fn a_consent_from_elsewhere_or_too_late_gives_nothing() {
    let app = TestApp::issuing().await;
    app.freeze().await;
    let browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let page = client.ask(&browser, &[]).await.ok(200);
    let handle = field(&page.text, "oauthreq");
    let form = encoded(&[
        ("oauthreq", handle.as_str()),
        ("passphrase", PASSPHRASE),
        ("scopes", "helix.agent_runs.read"),
        ("action", "allow"),
    ]);
    let own = app.url("");
    let post = async |origin: &str, site: &str| {
        let request = browser
            .request(Method::POST, "/authorize")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Origin", origin)
            .header("Sec-Fetch-Site", site);
        Answer::of(request.body(form.clone())).await
    };
    for (origin, site) in [
        (own.as_str(), "cross-site"),
        ("https://evil.example", "same-origin"),
        ("null", "cross-site"),
    ] {
        post(origin, site).await.ok(403);
    }
    app.advance(Duration::from_secs(11 * 60)).await;
    post(&own, "same-origin").await.ok(400);
    let listed = browser.get("/connections").await.ok(200);
    assert!(!listed.text.contains("grantId"));
}

/// Whether an answer is a page, which no frame may show.
#[track_caller]
fn framed_by_nobody(answer: &Answer, path: &str) -> bool {
    let page = answer.header("content-type").starts_with("text/html");
    if page {
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        let policy = answer.header("content-security-policy");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
    }
    page
}

#[tokio::test]
async fn no_page_is_shown_in_a_frame() {
    let app = TestApp::issuing().await;
    let owner = Browser::of_owner(&app).await;
    let nobody = Browser::new(&app);
    let routes = person_routes().into_iter();
    for (_, route) in routes.filter(|(method, _)| *method == "GET") {
        let path = route
            .replace("{link}", "hx_lk_unknown")
            .replace("{workspace}", "ws_00000000-0000-7000-8000-000000000001");
        let mut pages = 0;
        for browser in [&owner, &nobody] {
            pages += usize::from(framed_by_nobody(&browser.get(&path).await, &path));
        }
        assert!(pages > 0, "{path}");
    }
    let client = OAuthApp::register(&app, "Tide").await;
    let consent = client.ask(&owner, &[]).await.ok(200);
    assert!(framed_by_nobody(&consent, "/authorize"));
}

#[tokio::test]
async fn a_name_made_to_deceive_is_shown_as_plain_text_below_the_host() {
    let app = TestApp::issuing().await;
    let browser = Browser::of_owner(&app).await;
    let long = "n".repeat(10_000);
    for (name, shown) in [
        (
            "<b onmouseover=x>Helix</b>",
            "&#60;b onmouseover=x&#62;Helix&#60;/b&#62;",
        ),
        ("Ti\u{202e}de", "Tide"),
        (long.as_str(), &long[..80]),
        ("H\u{435}lix", "H\u{435}lix"),
    ] {
        let client = OAuthApp::register(&app, name).await;
        let page = client.ask(&browser, &[]).await.ok(200).text;
        assert!(page.contains(shown), "{page}");
        assert!(!page.contains("<b onmouseover"), "{page}");
        assert!(!page.contains('\u{202e}') && !page.contains(&long[..81]));
        let host = page.find("an app on this computer").unwrap();
        assert!(host < page.find(shown).unwrap(), "{page}");
    }
    let control = json!({"client_name": "Ti\u{7}de", "redirect_uris": [REDIRECT]});
    register(&app, &control).await.ok(400);
}

#[tokio::test]
async fn tokens_are_asked_for_by_a_form_in_a_post_and_no_other_way() {
    let app = TestApp::issuing().await;
    let url = app.url("/token");
    Answer::of(app.client().get(&url)).await.ok(405);
    let body = json!({"grant_type": "refresh_token", "refresh_token": "x"});
    Answer::of(app.client().post(&url).json(&body))
        .await
        .expect(400, "invalid_request");
    post_form(&app, "/token?grant_type=refresh_token", &[])
        .await
        .expect(400, "invalid_request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_passphrases_is_turned_away_and_other_doors_stay_open() {
    let app = TestApp::issuing_with(&[("TRUST_PROXY", "loopback")]).await;
    let mut browser = Browser::of_owner(&app).await;
    let (_, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let form = [
        ("email", EMAIL),
        ("passphrase", "not the passphrase"),
        ("next", "/"),
    ];
    let nobody = Browser::new(&app);
    let tries = join_all((0..60).map(|number| {
        let request = nobody.form("/sign-in", &form);
        Answer::of(request.header("X-Forwarded-For", format!("10.0.1.{number}")))
    }));
    let others = join_all((0..20).map(|_| runs(&app, &pair.access)));
    let (tries, others) = tokio::join!(tries, others);
    let turned_away = tries.iter().filter(|answer| answer.status == 429).count();
    assert!(turned_away > 0);
    for answer in tries {
        assert!(matches!(answer.status, 401 | 429), "{}", answer.text);
    }
    for answer in others {
        answer.ok(200);
    }
}
