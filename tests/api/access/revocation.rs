use helix::testing::TestApp;

use super::app::{OAuthApp, post_form, runs};
use super::browser::Browser;

#[tokio::test]
async fn a_revoked_access_token_is_dead_alone_and_a_refresh_token_takes_its_grant_along() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    // Of another app by its own word: nothing changes, and nobody is told.
    let foreign = [("token", pair.access.as_str()), ("client_id", "nobody")];
    post_form(&app, "/token", &foreign).await.ok(200);
    runs(&app, &pair.access).await.ok(200);
    post_form(&app, "/revoke", &[("token", &pair.access)])
        .await
        .ok(200);
    runs(&app, &pair.access).await.expect(401, "unauthorized");
    let next = super::app::Pair::of(&client.refresh(&pair.refresh).await.ok(200).body);
    post_form(&app, "/token", &[("token", &next.refresh)])
        .await
        .ok(200);
    runs(&app, &next.access).await.expect(401, "unauthorized");
    client
        .refresh(&next.refresh)
        .await
        .expect(400, "invalid_grant");
    post_form(&app, "/revoke", &[("token", "made up")])
        .await
        .ok(200);
}
