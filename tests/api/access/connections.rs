use helix::testing::TestApp;

use super::app::{OAuthApp, runs};
use super::browser::{Browser, field};

#[tokio::test]
async fn the_owner_sees_an_app_pauses_it_and_ends_it() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    runs(&app, &pair.access).await.ok(200);
    let page = browser.get("/connections").await.ok(200).text;
    for said in [
        "Tide",
        "live",
        "an app on this computer",
        "agent runs",
        "Firefox on Linux",
    ] {
        assert!(page.contains(said), "{said}");
    }
    let grant = field(&page, "grantId");
    browser
        .press("/connections/pause", &[("grantId", &grant)])
        .await
        .ok(303);
    runs(&app, &pair.access)
        .await
        .expect(403, "account_policy_blocked");
    browser
        .press("/connections/resume", &[("grantId", &grant)])
        .await
        .ok(303);
    runs(&app, &pair.access).await.ok(200);
    browser
        .press("/connections/revoke", &[("grantId", &grant)])
        .await
        .ok(303);
    runs(&app, &pair.access).await.expect(401, "unauthorized");
    client
        .refresh(&pair.refresh)
        .await
        .expect(400, "invalid_grant");
    assert!(
        browser
            .get("/connections")
            .await
            .ok(200)
            .text
            .contains("revoked by you")
    );
}

#[tokio::test]
async fn connecting_an_app_again_replaces_its_earlier_connection() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (_, first) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let (_, second) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let (_, other) = OAuthApp::connected(&app, &mut browser, "Ebb").await;
    runs(&app, &first.access).await.expect(401, "unauthorized");
    runs(&app, &second.access).await.ok(200);
    runs(&app, &other.access).await.ok(200);
}
