use helix::testing::TestApp;

use super::app::{OAuthApp, runs};
use super::browser::{Browser, EMAIL, PASSPHRASE};
use crate::races::beside::{APPENDS, Beside, stands};

const NEW: &str = "four small boats in a harbour";

#[tokio::test]
async fn another_passphrase_ends_every_other_session_and_no_app() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let mut second = Browser::new(&app);
    second.sign_in(EMAIL, PASSPHRASE).await.ok(303);
    let (_, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    let change = [
        ("passphrase", PASSPHRASE),
        ("passphrase_new", NEW),
        ("passphrase_confirm", NEW),
    ];
    let wrong = [
        ("passphrase", NEW),
        ("passphrase_new", NEW),
        ("passphrase_confirm", NEW),
    ];
    browser.press("/account/passphrase", &wrong).await.ok(401);
    browser.press("/account/passphrase", &change).await.ok(303);
    browser.get("/").await.ok(200);
    second.get("/").await.ok(303);
    second.sign_in(EMAIL, PASSPHRASE).await.ok(401);
    second.sign_in(EMAIL, NEW).await.ok(303);
    runs(&app, &pair.access).await.ok(200);
}

/// The codes on the sheet that `browser` asks for.
async fn sheet(browser: &mut Browser<'_>) -> Vec<String> {
    let page = browser
        .press("/account/recovery-sheet", &[("passphrase", PASSPHRASE)])
        .await
        .ok(200);
    let codes = page.text.split("<li><code>").skip(1);
    codes
        .map(|rest| rest.split("</code>").next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_recovery_code_sets_a_new_passphrase_once() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    assert!(browser.get("/").await.text.contains("account#sheet"));
    let older = sheet(&mut browser).await;
    let codes = sheet(&mut browser).await;
    assert_eq!((codes.len(), older.len()), (10, 10));
    assert!(!browser.get("/").await.text.contains("account#sheet"));
    let mut lost = Browser::new(&app);
    let recover = async |lost: &mut Browser<'_>, email: &str, code: &str| {
        let form = [
            ("email", email),
            ("code", code),
            ("passphrase", NEW),
            ("passphrase_confirm", NEW),
        ];
        lost.submit("/recover", &form).await
    };
    recover(&mut lost, EMAIL, &older[0]).await.ok(401);
    recover(&mut lost, "eve@harbour.example", &codes[0])
        .await
        .ok(401);
    recover(&mut lost, EMAIL, &codes[0].to_lowercase().replace('-', " "))
        .await
        .ok(303);
    lost.get("/").await.ok(200);
    browser.get("/").await.ok(303);
    recover(&mut Browser::new(&app), EMAIL, &codes[0])
        .await
        .ok(401);
    recover(&mut Browser::new(&app), EMAIL, &codes[1])
        .await
        .ok(303);
}

#[tokio::test]
async fn a_deleted_account_can_do_nothing_and_is_read_by_nobody() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    browser
        .press("/account/delete", &[("passphrase", "not this one")])
        .await
        .ok(401);
    runs(&app, &pair.access).await.ok(200);
    let held = browser.cookie.clone();
    browser
        .press("/account/delete", &[("passphrase", PASSPHRASE)])
        .await
        .ok(200);
    browser.cookie = held;
    browser.get("/").await.ok(303);
    runs(&app, &pair.access).await.expect(401, "unauthorized");
    client
        .refresh(&pair.refresh)
        .await
        .expect(400, "invalid_grant");
    Browser::new(&app).sign_in(EMAIL, PASSPHRASE).await.ok(401);
    // The server waits for an owner again, and the address is free.
    let path = app.setup_path().await;
    Browser::new(&app).set_up(&path).await.ok(303);
}

#[tokio::test]
async fn what_is_over_is_forgotten_and_what_lives_is_kept() {
    let app = TestApp::issuing().await;
    let mut browser = Browser::of_owner(&app).await;
    let (client, pair) = OAuthApp::connected(&app, &mut browser, "Tide").await;
    OAuthApp::register(&app, "Ebb").await;
    assert_eq!(app.clean_up().await, 0);
    app.advance(std::time::Duration::from_secs(8 * 86_400))
        .await;
    // The used consent form, the setup link, the access token and the app that nobody allowed.
    assert_eq!(app.clean_up().await, 4);
    let next = client.refresh(&pair.refresh).await.ok(200);
    runs(&app, next.body["access_token"].as_str().unwrap())
        .await
        .ok(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passphrase_that_is_changed_meanwhile_proves_nothing() {
    let app = TestApp::issuing().await;
    let browser = Browser::of_owner(&app).await;
    let csrf = browser.csrf().await;
    let sign_in = [("email", EMAIL), ("passphrase", PASSPHRASE)];
    let proof = [("csrf", csrf.as_str()), ("passphrase", PASSPHRASE)];
    let other = [("passphrase_new", NEW), ("passphrase_confirm", NEW)];
    let change = [&proof[..], &other[..]].concat();
    for (path, form) in [
        ("/sign-in", &sign_in[..]),
        ("/account/passphrase", &change),
        ("/account/recovery-sheet", &proof),
        ("/account/delete", &proof),
    ] {
        // The look at the passphrase passes, the commit waits.
        let mut beside = Beside::open(&app).await;
        beside
            .run("begin; lock table access.passphrase in exclusive mode")
            .await;
        let mut asking = browser.clone();
        let meanwhile = async {
            stands(&app, APPENDS, 1).await;
            beside
                .run("update access.passphrase set set_at_ms = set_at_ms + 1; commit")
                .await;
        };
        let (answer, ()) = tokio::join!(asking.submit(path, form), meanwhile);
        assert_eq!(answer.status, 401, "{path}: {}", answer.text);
    }
    browser.get("/").await.ok(200);
    let sessions = "select count(*) from access.session";
    let mut beside = Beside::open(&app).await;
    assert_eq!(beside.number(sessions).await, 1);
    app.finish().await;
}
