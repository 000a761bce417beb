use helix::testing::TestApp;

use super::browser::{Browser, PASSPHRASE};

#[tokio::test]
async fn a_setup_link_makes_one_owner_and_signs_them_in() {
    let app = TestApp::issuing().await;
    let path = app.setup_path().await;
    let mut browser = Browser::new(&app);
    assert!(
        browser
            .get(&path)
            .await
            .ok(200)
            .text
            .contains("Create the account")
    );
    let made = browser.set_up(&path).await.ok(303);
    assert_eq!(made.header("location"), "/");
    let cookie = made.header("set-cookie").to_owned();
    for part in ["helix_session=hx_ss_", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(part), "{part} in {cookie}");
    }
    assert!(
        browser
            .get("/")
            .await
            .ok(200)
            .text
            .contains("Good to see you, Ada")
    );
    // Used up, for whoever comes second.
    let mut second = Browser::new(&app);
    second.set_up(&path).await.ok(404);
    second.get(&path).await.ok(404);
}

#[tokio::test]
async fn eight_browsers_with_one_link_make_one_account() {
    let app = TestApp::issuing().await;
    let path = app.setup_path().await;
    let mut browsers: Vec<Browser<'_>> = (0..8).map(|_| Browser::new(&app)).collect();
    let answers =
        futures_util::future::join_all(browsers.iter_mut().map(|one| one.set_up(&path))).await;
    let made = answers.iter().filter(|answer| answer.status == 303).count();
    assert_eq!(made, 1, "{answers:?}");
    let signed_in = browsers
        .iter()
        .filter(|browser| browser.cookie.is_some())
        .count();
    assert_eq!(signed_in, 1);
}

#[tokio::test]
async fn a_newer_link_replaces_an_older_one_and_none_is_made_for_a_server_with_an_owner() {
    let app = TestApp::issuing().await;
    let (older, newer) = (app.setup_path().await, app.setup_path().await);
    let mut browser = Browser::new(&app);
    browser.set_up(&older).await.ok(404);
    browser.set_up(&newer).await.ok(303);
    assert!(app.try_setup_path().await.is_none());
}

#[tokio::test]
async fn a_form_with_a_fault_is_shown_again_and_uses_nothing_up() {
    let app = TestApp::issuing().await;
    let path = app.setup_path().await;
    let mut browser = Browser::new(&app);
    for (changed, value, said) in [
        (
            "passphrase",
            "short",
            "The two passphrases are not the same.",
        ),
        ("email", "ada", "email: is not an address."),
        ("name", "", "name: "),
        ("name", "A\u{1f}da", "name: "),
    ] {
        let mut form = vec![
            ("name", "Ada"),
            ("email", "ada@harbour.example"),
            ("passphrase", PASSPHRASE),
            ("passphrase_confirm", PASSPHRASE),
        ];
        form.iter_mut()
            .filter(|(name, _)| *name == changed)
            .for_each(|field| field.1 = value);
        let answer = browser.submit(&path, &form).await.ok(400);
        assert!(answer.text.contains(said), "{said} in {}", answer.text);
        assert!(!answer.text.contains(PASSPHRASE));
    }
    browser.set_up(&path).await.ok(303);
}
