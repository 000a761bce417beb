//! Pages, the lane of their scripts and a person's workspace: a session ended by itself, and by another.

use futures_util::future::join_all;
use helix::testing::TestApp;
use reqwest::Method;

use super::{
    ENDED_FROM_ELSEWHERE, LANES, Reader, SIGNED_OUT, Tally, from_afar, press, race, rounds,
    two_issuing,
};
use crate::access::browser::{Browser, PASSPHRASE, field};
use crate::harness::Answer;
use crate::work::client::ROOT;

const BINDINGS: &str = "/api/account/session/agent-bindings";
/// What each session is used for.
const THINGS: usize = 3;
/// An account has 50 sessions at most.
const AT_ONCE: usize = 30;

/// The same three things as a browser sees them at the second server.
fn readers<'a>(browser: &Browser<'a>, csrf: &str) -> [Reader<'a>; THINGS] {
    let ask = |path: &'static str| {
        let mut browser = browser.clone();
        browser.server = 1;
        Box::new(move || browser.request(Method::GET, path))
    };
    [
        Reader {
            ask: ask("/"),
            given: (200, csrf.to_owned()),
            refused: (303, ""),
        },
        Reader {
            ask: ask(BINDINGS),
            given: (200, "helix.agent_account_bindings.v1".to_owned()),
            refused: (401, "session_required"),
        },
        Reader {
            ask: ask(ROOT),
            given: (200, "\"workspaces\"".to_owned()),
            refused: (401, "unauthorized"),
        },
    ]
}

/// The address of somebody who can sign in.
async fn somebody(app: &TestApp, number: usize) -> String {
    let email = format!("person-{number}@harbour.example");
    app.second_person(&email, "Ben", PASSPHRASE).await;
    email
}

/// The form mark of a session.
async fn csrf_of(browser: &Browser<'_>) -> String {
    let page = browser.request(Method::GET, "/connections");
    field(&Answer::of(from_afar(page)).await.ok(200).text, "csrf")
}

fn signed_in(app: &TestApp, cookie: String) -> Browser<'_> {
    let mut browser = Browser::new(app);
    browser.cookie = Some(cookie);
    browser
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_signed_out_is_shown_nothing_after_the_answer() {
    let app = two_issuing().await;
    let lane = async |number: usize| {
        let email = somebody(&app, number).await;
        let mut tally = Tally::default();
        for _ in 0..rounds(SIGNED_OUT, THINGS) / AT_ONCE {
            for cookie in app.sessions(&email, PASSPHRASE, AT_ONCE).await {
                let browser = signed_in(&app, cookie);
                let csrf = csrf_of(&browser).await;
                let form = from_afar(browser.form("/sign-out", &[("csrf", &csrf)]));
                let ended = async {
                    Answer::of(form).await.ok(303);
                };
                tally.add(&race(&readers(&browser, &csrf), ended).await);
            }
        }
        tally
    };
    Tally::expect(&join_all((0..LANES).map(lane)).await, SIGNED_OUT);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ended_from_elsewhere_is_shown_nothing_after_the_answer() {
    let app = two_issuing().await;
    let lane = async |number: usize| {
        let email = somebody(&app, number).await;
        let mut cookies = app.sessions(&email, PASSPHRASE, 1).await;
        let other = signed_in(&app, cookies.remove(0));
        let own = field(&other.get("/connections").await.ok(200).text, "session");
        let csrf = csrf_of(&other).await;
        let mut tally = Tally::default();
        for _ in 0..rounds(ENDED_FROM_ELSEWHERE, THINGS) {
            let mut cookies = app.sessions(&email, PASSPHRASE, 1).await;
            let browser = signed_in(&app, cookies.remove(0));
            let page = other.get("/connections").await.ok(200).text;
            let named = page.split("name=\"session\" value=\"").skip(1);
            let id = named
                .map(|rest| rest.split('"').next().unwrap())
                .find(|id| *id != own)
                .unwrap();
            let readers = readers(&browser, &csrf_of(&browser).await);
            let path = "/connections/sessions/end";
            let ended = press(&other, &csrf, path, ("session", id));
            tally.add(&race(&readers, ended).await);
        }
        tally
    };
    let lanes = join_all((0..LANES).map(lane)).await;
    Tally::expect(&lanes, ENDED_FROM_ELSEWHERE);
    app.finish().await;
}
