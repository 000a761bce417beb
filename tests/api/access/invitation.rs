//! Links by which somebody chooses a passphrase.

use std::time::Duration;

use helix::testing::TestApp;

use super::browser::{Browser, PASSPHRASE};

const EMAIL: &str = "ben@harbour.example";
const NEW: &str = "four small boats in a harbour";

fn chosen(passphrase: &str) -> [(&str, &str); 2] {
    [("passphrase", passphrase), ("passphrase2", passphrase)]
}

#[tokio::test]
async fn whoever_is_invited_chooses_a_passphrase_once_and_signs_in_with_it() {
    let app = TestApp::issuing().await;
    Browser::of_owner(&app).await;
    let (path, _) = app.invitation_path(EMAIL, "Ben").await;
    let mut ben = Browser::new(&app);
    ben.sign_in(EMAIL, PASSPHRASE).await.ok(401);
    ben.get(&path).await.ok(200);
    let differ = [("passphrase", PASSPHRASE), ("passphrase2", NEW)];
    ben.submit(&path, &differ).await.ok(400);
    ben.submit(&path, &chosen("too short")).await.ok(400);
    let foreign = ben
        .form(&path, &chosen(PASSPHRASE))
        .header("Origin", "https://evil.example");
    crate::harness::Answer::of(foreign).await.ok(403);
    ben.submit(&path, &chosen(PASSPHRASE)).await.ok(303);
    assert!(ben.get("/").await.ok(200).text.contains("Ben"));
    Browser::new(&app).submit(&path, &chosen(NEW)).await.ok(404);
    Browser::new(&app).get(&path).await.ok(404);
    Browser::new(&app).sign_in(EMAIL, PASSPHRASE).await.ok(303);
    app.finish().await;
}

#[tokio::test]
async fn a_reset_link_sets_another_passphrase_and_ends_every_session() {
    let app = TestApp::issuing().await;
    let account = app.second_person(EMAIL, "Ben", PASSPHRASE).await;
    let mut before = Browser::new(&app);
    before.sign_in(EMAIL, PASSPHRASE).await.ok(303);
    let older = app.reset_path(account).await;
    let path = app.reset_path(account).await;
    let mut after = Browser::new(&app);
    // A newer link takes the place of an older one.
    after.submit(&older, &chosen(NEW)).await.ok(404);
    after.submit(&path, &chosen(NEW)).await.ok(303);
    after.get("/").await.ok(200);
    before.get("/").await.ok(303);
    before.sign_in(EMAIL, PASSPHRASE).await.ok(401);
    before.sign_in(EMAIL, NEW).await.ok(303);
    app.finish().await;
}

#[tokio::test]
async fn links_are_over_after_an_hour_and_after_thirty_days() {
    let app = TestApp::issuing().await;
    app.freeze().await;
    let (invitation, account) = app.invitation_path(EMAIL, "Ben").await;
    let reset = app.reset_path(account).await;
    let browser = Browser::new(&app);
    app.advance(Duration::from_secs(3_599)).await;
    browser.get(&reset).await.ok(200);
    app.advance(Duration::from_secs(2)).await;
    browser.get(&reset).await.ok(404);
    app.advance(Duration::from_secs(30 * 86_400 - 3_602)).await;
    browser.get(&invitation).await.ok(200);
    app.advance(Duration::from_secs(2)).await;
    browser.get(&invitation).await.ok(404);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_use_one_link_at_once_one_gets_in() {
    let app = TestApp::issuing().await;
    let (path, _) = app.invitation_path(EMAIL, "Ben").await;
    let (mut one, mut other) = (Browser::new(&app), Browser::new(&app));
    let (first, second) = (chosen(PASSPHRASE), chosen(NEW));
    let (first, second) = tokio::join!(one.submit(&path, &first), other.submit(&path, &second));
    let mut answers = [first.status, second.status];
    answers.sort_unstable();
    assert_eq!(answers, [303, 404]);
    app.finish().await;
}
