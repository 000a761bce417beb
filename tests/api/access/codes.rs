use futures_util::future::join_all;
use helix::testing::TestApp;

use super::app::{OAuthApp, Pair, REDIRECT, VERIFIER, post_form, runs};
use super::browser::Browser;

#[tokio::test]
async fn eight_redemptions_of_one_code_succeed_once_and_kill_what_they_gave() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let code = client.code_from(&mut browser).await;
    let answers = join_all((0..8).map(|_| client.exchange(&code, &[]))).await;
    let won: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .collect();
    assert_eq!(won.len(), 1);
    for lost in answers.iter().filter(|answer| answer.status != 200) {
        lost.clone().expect(400, "invalid_grant");
    }
    // Whoever came second had the code too, so nobody keeps anything.
    let pair = Pair::of(&won[0].body);
    runs(&app, &pair.access).await.expect(401, "unauthorized");
    client
        .refresh(&pair.refresh)
        .await
        .expect(400, "invalid_grant");
}

#[tokio::test]
async fn a_wrong_verifier_client_or_redirect_uses_nothing_up_until_the_fifth() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let other = OAuthApp::register(&app, "Ebb").await;
    let wrong = VERIFIER.replace("-1", "-2");
    let code = client.code_from(&mut browser).await;
    for with in [
        ("code_verifier", wrong.as_str()),
        ("code_verifier", "short"),
        ("client_id", other.client_id.as_str()),
        ("redirect_uri", "http://127.0.0.1:7002/back"),
    ] {
        client
            .exchange(&code, &[with])
            .await
            .expect(400, "invalid_grant");
    }
    client.exchange(&code, &[]).await.ok(200);
    let code = client.code_from(&mut browser).await;
    for _ in 0..5 {
        client
            .exchange(&code, &[("code_verifier", &wrong)])
            .await
            .expect(400, "invalid_grant");
    }
    client
        .exchange(&code, &[])
        .await
        .expect(400, "invalid_grant");
}

#[tokio::test]
async fn a_token_request_that_is_not_one_is_refused_with_its_code() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let code = client.code_from(&mut browser).await;
    for (with, status, error) in [
        (("client_id", "nobody"), 401, "invalid_client"),
        (("grant_type", "password"), 400, "unsupported_grant_type"),
        (("grant_type", ""), 400, "invalid_request"),
        (("code_verifier", ""), 400, "invalid_request"),
        (("code", "hx_ac_made_up"), 400, "invalid_grant"),
        (
            ("resource", "https://other.example.org/mcp"),
            400,
            "invalid_target",
        ),
    ] {
        client.exchange(&code, &[with]).await.expect(status, error);
    }
    let twice = [
        ("grant_type", "authorization_code"),
        ("grant_type", "authorization_code"),
    ];
    post_form(&app, "/token", &twice)
        .await
        .expect(400, "invalid_request");
    let in_url = format!("/token?code={code}");
    let fields = [
        ("grant_type", "authorization_code"),
        ("redirect_uri", REDIRECT),
    ];
    post_form(&app, &in_url, &fields)
        .await
        .expect(400, "invalid_request");
    // Still good after all that.
    client.exchange(&code, &[]).await.ok(200);
}

#[tokio::test]
async fn a_lost_answer_is_made_up_for_and_an_old_token_ends_the_grant() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, first) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let second = Pair::of(&client.refresh(&first.refresh).await.ok(200).body);
    let sibling = Pair::of(&client.refresh(&first.refresh).await.ok(200).body);
    for access in [&first.access, &second.access, &sibling.access] {
        runs(&app, access).await.ok(200);
    }
    client.refresh(&first.refresh).await.ok(200);
    // Three successors; a fourth is told to read what is stored.
    let fourth = client
        .refresh(&first.refresh)
        .await
        .expect(429, "temporarily_unavailable");
    assert_eq!(fourth.header("retry-after"), "1");
    let next = Pair::of(&client.refresh(&second.refresh).await.ok(200).body);
    // The line goes on below, so the first is a grandparent.
    client
        .refresh(&first.refresh)
        .await
        .expect(400, "invalid_grant");
    client
        .refresh(&next.refresh)
        .await
        .expect(400, "invalid_grant");
    for access in [&first.access, &next.access] {
        runs(&app, access).await.expect(401, "unauthorized");
    }
}

#[tokio::test]
async fn eight_refreshes_of_one_token_give_three_pairs_at_most() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let answers = join_all((0..8).map(|_| client.refresh(&pair.refresh))).await;
    let given = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(given, 3);
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer.status, 200 | 429))
    );
    runs(&app, &pair.access).await.ok(200);
}

#[tokio::test]
async fn another_apps_refresh_token_changes_nothing() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let other = OAuthApp::register(&app, "Ebb").await;
    other
        .refresh(&pair.refresh)
        .await
        .expect(400, "invalid_grant");
    client.refresh(&pair.refresh).await.ok(200);
}

#[tokio::test]
async fn a_refresh_may_narrow_and_never_widen() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let refresh = async |token: &str, scope: &str| {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", client.client_id.as_str()),
            ("scope", scope),
        ];
        post_form(&app, "/token", &fields).await
    };
    refresh(&pair.refresh, "helix.rooms.manage")
        .await
        .expect(400, "invalid_scope");
    let narrowed = refresh(&pair.refresh, "helix.agent_runs.read")
        .await
        .ok(200);
    assert_eq!(narrowed.body["scope"], "helix.agent_runs.read");
    let pair = Pair::of(&narrowed.body);
    let whole = refresh(&pair.refresh, "").await.ok(200);
    assert_eq!(whole.body["scope"], super::app::RUN_SCOPES);
}
