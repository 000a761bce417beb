use helix::testing::TestApp;
use reqwest::Method;

use super::browser::{Browser, EMAIL, PASSPHRASE, encoded};
use crate::harness::Answer;

#[tokio::test]
async fn the_right_passphrase_signs_in_whatever_the_case_of_the_address() {
    let app = TestApp::issuing().await;
    Browser::of_owner(&app).await;
    let mut browser = Browser::new(&app);
    let answer = browser
        .sign_in(" Ada@Harbour.Example ", PASSPHRASE)
        .await
        .ok(303);
    assert_eq!(answer.header("location"), "/connections");
    browser.get("/").await.ok(200);
}

#[tokio::test]
async fn a_wrong_passphrase_and_an_unknown_address_look_alike() {
    let app = TestApp::issuing().await;
    Browser::of_owner(&app).await;
    let mut browser = Browser::new(&app);
    let wrong = browser
        .sign_in(EMAIL, "three tall ship at sea")
        .await
        .ok(401);
    let unknown = browser
        .sign_in("eve@harbour.example", PASSPHRASE)
        .await
        .ok(401);
    assert_eq!(
        wrong.text.replace(EMAIL, ""),
        unknown.text.replace("eve@harbour.example", "")
    );
    assert!(browser.cookie.is_none());
}

#[tokio::test]
async fn pages_of_people_send_others_to_sign_in_and_back() {
    let app = TestApp::issuing().await;
    let browser = Browser::new(&app);
    let answer = browser.get("/connections?done=x").await.ok(303);
    assert_eq!(
        answer.header("location"),
        "/sign-in?next=%2Fconnections%3Fdone%3Dx"
    );
}

#[tokio::test]
async fn signing_out_ends_the_session_and_no_other() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let mut second = Browser::new(&app);
    second.sign_in(EMAIL, PASSPHRASE).await.ok(303);
    let held = browser.cookie.clone();
    browser.press("/sign-out", &[]).await.ok(303);
    browser.cookie = held;
    browser.get("/").await.ok(303);
    second.get("/").await.ok(200);
}

#[tokio::test]
async fn a_session_is_ended_from_another_browser() {
    let app = TestApp::issuing().await;
    let browser = Browser::of_owner(&app).await;
    let mut second = Browser::new(&app);
    second.sign_in(EMAIL, PASSPHRASE).await.ok(303);
    let page = second.get("/connections").await.ok(200).text;
    let sessions: Vec<&str> = page
        .split("name=\"session\" value=\"")
        .skip(1)
        .map(|rest| &rest[..40])
        .collect();
    assert_eq!(sessions.len(), 2, "{page}");
    let own = page.find("this one").unwrap();
    let first_card = page.find(&format!("value=\"{}\"", sessions[0])).unwrap();
    let other = if own < first_card {
        sessions[1]
    } else {
        sessions[0]
    };
    second
        .press("/connections/sessions/end", &[("session", other)])
        .await
        .ok(303);
    browser.get("/").await.ok(303);
    second.get("/").await.ok(200);
}

#[tokio::test]
async fn a_cookie_alone_changes_nothing() {
    let app = TestApp::issuing().await;
    let browser = Browser::of_owner(&app).await;
    let csrf = browser.csrf().await;
    let body = encoded(&[("csrf", csrf.as_str())]);
    let own = app.url("");
    let post = |origin: Option<&str>, site: Option<&str>, body: &str| {
        let mut request = browser
            .request(Method::POST, "/sign-out")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body.to_owned());
        if let Some(origin) = origin {
            request = request.header("Origin", origin);
        }
        if let Some(site) = site {
            request = request.header("Sec-Fetch-Site", site);
        }
        Answer::of(request)
    };
    for (origin, site, body) in [
        (None, None, body.as_str()),
        (
            Some("https://evil.example"),
            Some("same-origin"),
            body.as_str(),
        ),
        (Some("null"), None, body.as_str()),
        (Some(own.as_str()), Some("cross-site"), body.as_str()),
        (Some(own.as_str()), Some("same-site"), body.as_str()),
        (Some(own.as_str()), Some("same-origin"), ""),
        (
            Some(own.as_str()),
            Some("same-origin"),
            "csrf=0123456789abcdef0123456789abcdef",
        ),
    ] {
        let answer = post(origin, site, body).await;
        assert_eq!(answer.status, 403, "{origin:?} {site:?} {body}");
        assert!(answer.header("content-type").starts_with("text/html"));
    }
    browser.get("/").await.ok(200);
    post(Some(&own), Some("same-origin"), &body).await.ok(303);
    browser.get("/").await.ok(303);
}

#[tokio::test]
async fn failing_again_and_again_makes_one_wait_and_locks_nobody_out() {
    let app = TestApp::issuing().await;
    let owner = Browser::of_owner(&app).await;
    let mut thief = Browser::new(&app);
    for _ in 0..6 {
        thief.sign_in(EMAIL, "a wrong passphrase").await.ok(401);
    }
    let told = thief.sign_in(EMAIL, "a wrong passphrase").await.ok(429);
    assert_eq!(told.header("retry-after"), "2");
    // The right one waits as well: nothing was looked at.
    thief.sign_in(EMAIL, PASSPHRASE).await.ok(429);
    owner.get("/").await.ok(200);
    app.advance(std::time::Duration::from_secs(3)).await;
    thief.sign_in(EMAIL, PASSPHRASE).await.ok(303);
}

#[tokio::test]
async fn where_a_form_comes_from_is_judged_before_what_it_is() {
    let app = TestApp::issuing().await;
    let browser = Browser::new(&app);
    let post = |origin: &str, host: Option<&str>| {
        let mut request = browser
            .request(Method::POST, "/sign-in")
            .header("Content-Type", "application/json")
            .header("Origin", origin)
            .body("{}");
        if let Some(host) = host {
            request = request.header("Host", host);
        }
        Answer::of(request)
    };
    let own = app.url("");
    let answer = post(&own, Some("evil.example")).await;
    assert_eq!(answer.status, 403);
    assert!(answer.text.contains("host name"), "{}", answer.text);
    let answer = post("https://evil.example", None).await;
    assert_eq!(answer.status, 403, "{}", answer.text);
    let answer = post(&own, None).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
}
