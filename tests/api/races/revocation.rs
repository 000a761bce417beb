//! Ten thousand revocations against use, on every door (`access` 2, rule 4).
//!
//! One race is one reader, who uses a credential in a closed loop, against its revocation through the real
//! door; a few readers share a credential. Where there are two servers, it is used through the second and
//! revoked through the first. What must stay true: a request that begins after the revocation was
//! answered gets nothing, and neither does one that begins after another was refused.

mod agents;
mod events;
mod people;
mod workers;
mod workspaces;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures_util::future::join_all;
use helix::testing::{Setup, TestApp};
use reqwest::{Method, RequestBuilder};
use tokio::sync::Semaphore;

use crate::access::browser::{Browser, encoded};
use crate::harness::Answer;

/// Credentials that are revoked at the same time, each with readers of its own.
const LANES: usize = 10;

const UNLINKED: usize = 1_800;
const PAUSED: usize = 2_200;
const ENDED_BY_ITSELF: usize = 1_600;
const DISCONNECTED: usize = 40;
const NAMED: usize = 1_600;
const DISCONNECTED_FROM_WORK: usize = 20;
const SIGNED_OUT: usize = 900;
const ENDED_FROM_ELSEWHERE: usize = 90;
const WORKERS: usize = 1_500;
const STREAMS: usize = 250;
const _: () = assert!(
    UNLINKED
        + PAUSED
        + ENDED_BY_ITSELF
        + DISCONNECTED
        + NAMED
        + DISCONNECTED_FROM_WORK
        + SIGNED_OUT
        + ENDED_FROM_ELSEWHERE
        + WORKERS
        + STREAMS
        == 10_000
);

/// How often a lane revokes, of so many races with so many readers at a time.
const fn rounds(races: usize, readers: usize) -> usize {
    races / LANES / readers
}

/// What somebody asks for again and again, and what they may be told.
struct Reader<'a> {
    ask: Box<dyn Fn() -> RequestBuilder + Send + Sync + 'a>,
    /// Status, and a text that stands in what is given and in no refusal.
    given: (u16, String),
    refused: (u16, &'static str),
}

#[derive(Debug, Clone, Copy)]
enum Told {
    Given,
    Refused,
}

/// How far a race has come.
struct Course {
    /// A place for each reader that was given something.
    used: Semaphore,
    sent: AtomicBool,
    answered: AtomicBool,
}

#[derive(Debug, Default)]
struct Tally {
    races: usize,
    /// Answers between the revocation and its own answer: without them nothing has raced.
    given_meanwhile: usize,
    refused_meanwhile: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.races += other.races;
        self.given_meanwhile += other.given_meanwhile;
        self.refused_meanwhile += other.refused_meanwhile;
    }

    /// Asserts that all lanes together have run so many races, and that they were some.
    #[track_caller]
    fn expect(lanes: &[Self], races: usize) {
        let mut all = Self::default();
        for lane in lanes {
            all.add(lane);
        }
        assert_eq!(all.races, races);
        assert!(all.given_meanwhile + all.refused_meanwhile > 0, "{all:?}");
    }
}

impl Reader<'_> {
    fn judge(&self, answer: &Answer) -> Told {
        let (status, word) = &self.given;
        if answer.status == *status && answer.text.contains(word) {
            return Told::Given;
        }
        let told = (answer.status, answer.code());
        assert_eq!(told, self.refused, "{}", answer.text);
        assert!(word.is_empty() || !answer.text.contains(word));
        Told::Refused
    }

    async fn read(&self, course: &Course) -> Tally {
        let mut tally = Tally::default();
        let (mut used, mut refused) = (false, false);
        loop {
            // Nothing of the request has been written yet.
            let late = course.answered.load(Ordering::SeqCst);
            let told = self.judge(&Answer::of(from_afar((self.ask)())).await);
            let meanwhile = usize::from(course.sent.load(Ordering::SeqCst) && !late);
            match told {
                Told::Given => {
                    assert!(!late, "something was given after the revocation's answer");
                    assert!(!refused, "something was given after a refusal");
                    tally.given_meanwhile += meanwhile;
                    if !used {
                        course.used.add_permits(1);
                    }
                    used = true;
                }
                Told::Refused => {
                    assert!(used, "refused before anything was revoked");
                    refused = true;
                    tally.refused_meanwhile += meanwhile;
                }
            }
            if late {
                return tally;
            }
        }
    }
}

/// As many races as there are readers: the credential is revoked once each has used it.
async fn race(readers: &[Reader<'_>], revoke: impl Future<Output = ()>) -> Tally {
    let course = Course {
        used: Semaphore::new(0),
        sent: AtomicBool::new(false),
        answered: AtomicBool::new(false),
    };
    let all = u32::try_from(readers.len()).unwrap();
    let revoked = async {
        course.used.acquire_many(all).await.unwrap().forget();
        course.sent.store(true, Ordering::SeqCst);
        revoke.await;
        course.answered.store(true, Ordering::SeqCst);
    };
    let read = join_all(readers.iter().map(|reader| reader.read(&course)));
    let (tallies, ()) = tokio::join!(read, revoked);
    let mut sum = Tally {
        races: readers.len(),
        ..Tally::default()
    };
    for tally in &tallies {
        sum.add(tally);
    }
    sum
}

/// The servers believe what each request says of where it comes from.
const PROXY: (&str, &str) = ("TRUST_PROXY", "loopback");

/// From an address of its own, so that none asks too often.
fn from_afar(request: RequestBuilder) -> RequestBuilder {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let [_, a, b, c] = NEXT.fetch_add(1, Ordering::SeqCst).to_be_bytes();
    request.header("X-Forwarded-For", format!("10.{a}.{b}.{c}"))
}

/// Two servers that trust one issuer elsewhere.
async fn two() -> TestApp {
    let mut app = TestApp::with(Setup {
        environment: vec![(PROXY.0, PROXY.1.to_owned())],
        ..Setup::default()
    })
    .await;
    app.add_server().await;
    app
}

/// Two servers under one public address, that of the first, which issue their tokens themselves.
async fn two_issuing() -> TestApp {
    let mut app = TestApp::issuing_with(&[PROXY]).await;
    let base = app.url("");
    app.add_server_with(&[("public_url", &base)]).await;
    app
}

/// The connections that a page shows.
async fn connections(browser: &Browser<'_>) -> BTreeSet<String> {
    let page = browser.get("/connections").await.ok(200).text;
    let mark = "name=\"grantId\" value=\"";
    let forms = page.split(mark).skip(1);
    forms
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

/// A form of the page of connections, with a mark that was read before.
async fn press(browser: &Browser<'_>, csrf: &str, path: &str, field: (&str, &str)) {
    let form = browser.form(path, &[("csrf", csrf), field]);
    Answer::of(from_afar(form)).await.ok(303);
}

/// A form of an app.
async fn post_form(app: &TestApp, path: &str, fields: &[(&str, &str)]) -> Answer {
    let request = app
        .client()
        .request(Method::POST, app.url(path))
        .header("Content-Type", "application/x-www-form-urlencoded");
    Answer::of(from_afar(request.body(encoded(fields)))).await
}
