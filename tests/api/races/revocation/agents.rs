//! Runs over REST and by tools: an account unlinked, an app paused, disconnected, or done with its token.

use std::time::Duration;

use futures_util::future::join_all;
use helix::testing::TestApp;
use reqwest::Method;
use serde_json::json;

use super::{
    DISCONNECTED, ENDED_BY_ITSELF, LANES, PAUSED, Reader, Tally, UNLINKED, connections, from_afar,
    post_form, press, race, rounds, two, two_issuing,
};
use crate::access::app::{OAuthApp, Pair};
use crate::access::browser::Browser;
use crate::harness::{Answer, Client, RUNS};
use crate::mcp::client as mcp;
use crate::work::person::Person;

const BINDINGS: &str = "/api/account/session/agent-bindings";
/// A run over REST and by its tool.
const FACES: usize = 2;
/// Links of one binding: its history is read at each.
const OF_ONE_BINDING: usize = 30;

/// A run over REST and by its tool, through the second server.
fn readers<'a>(
    client: &Client<'a>,
    run: &str,
    refused: (u16, &'static str),
) -> [Reader<'a>; FACES] {
    let client = client.at(1);
    let over_rest = {
        let (client, path) = (client.clone(), format!("{RUNS}/{run}"));
        move || client.request(Method::GET, &path)
    };
    let call = json!({"name": "helix_run_inspect", "arguments": {"run_id": run}});
    let call = mcp::request(1, "tools/call", &call).to_string();
    let by_tool = move || mcp::message(&client, call.clone());
    let given = || (200, run.to_owned());
    [
        Reader {
            ask: Box::new(over_rest),
            given: given(),
            refused,
        },
        Reader {
            ask: Box::new(by_tool),
            given: given(),
            refused,
        },
    ]
}

fn with<'a>(app: &'a TestApp, token: &str) -> Client<'a> {
    Client {
        app,
        token: token.to_owned(),
        server: 0,
    }
}

async fn run_of(client: &Client<'_>) -> String {
    let plan = json!({"objective": "List the ferries"});
    client.started("ferry-plan-0001", &plan).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unlinked_account_is_given_no_run_after_the_answer() {
    let app = two().await;
    let (ben, account) = Person::other(&app, "ben").await;
    let lane = async |lane: usize| {
        let mut tally = Tally::default();
        for group in 0..rounds(UNLINKED, FACES) / OF_ONE_BINDING {
            let tenant = format!("harbour-{lane}-{group}");
            let caller = app.linked_too(account, "ben", &tenant).await;
            let client = Client::new(&app, &caller);
            let run = run_of(&client).await;
            let readers = readers(&client, &run, (403, "account_not_linked"));
            let path = format!("{BINDINGS}/{}", caller.binding_ref);
            for _ in 0..OF_ONE_BINDING {
                let unlinked = async {
                    let lane = ben.browser.lane(Method::DELETE, &path);
                    let unlinked = Answer::of(from_afar(lane)).await;
                    assert_eq!(unlinked.ok(200).body["already_revoked"], false);
                };
                tally.add(&race(&readers, unlinked).await);
                app.link_again(&caller).await;
            }
        }
        tally
    };
    Tally::expect(&join_all((0..LANES).map(lane)).await, UNLINKED);
    app.finish().await;
}

/// Apps of one person, each with a run that it started, and the form mark of their browser.
struct Fleet<'a> {
    browser: Browser<'a>,
    csrf: String,
    apps: Vec<Connected<'a>>,
}

struct Connected<'a> {
    oauth: OAuthApp<'a>,
    pair: Pair,
    grant: String,
    run: String,
}

async fn fleet(app: &TestApp, count: usize) -> Fleet<'_> {
    let mut browser = Browser::of_owner(app).await;
    let mut apps = Vec::new();
    let mut known = connections(&browser).await;
    for number in 0..count {
        let (oauth, pair) = OAuthApp::connected(app, &mut browser, &format!("Tide {number}")).await;
        let now = connections(&browser).await;
        let plan = json!({"objective": "List the ferries"});
        let run = with(app, &pair.access)
            .started(&format!("ferry-plan-{number:04}"), &plan)
            .await;
        apps.push(Connected {
            oauth,
            pair,
            grant: now.difference(&known).next().unwrap().clone(),
            run,
        });
        known = now;
    }
    Fleet {
        csrf: browser.csrf().await,
        browser,
        apps,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_app_is_given_no_run_after_the_answer() {
    let app = two_issuing().await;
    let fleet = fleet(&app, LANES).await;
    let lane = async |one: &Connected<'_>| {
        let client = with(&app, &one.pair.access);
        let readers = readers(&client, &one.run, (403, "account_policy_blocked"));
        let grant = ("grantId", one.grant.as_str());
        let mut tally = Tally::default();
        for _ in 0..rounds(PAUSED, FACES) {
            let (browser, csrf) = (&fleet.browser, &fleet.csrf);
            let paused = press(browser, csrf, "/connections/pause", grant);
            tally.add(&race(&readers, paused).await);
            press(browser, csrf, "/connections/resume", grant).await;
        }
        tally
    };
    Tally::expect(&join_all(fleet.apps.iter().map(lane)).await, PAUSED);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_access_token_that_its_app_revoked_is_given_no_run_after_the_answer() {
    let app = two_issuing().await;
    let fleet = fleet(&app, LANES).await;
    let lane = async |one: &Connected<'_>| {
        let mut pair = one.pair.clone();
        let mut tally = Tally::default();
        for _ in 0..rounds(ENDED_BY_ITSELF, FACES) {
            let client = with(&app, &pair.access);
            let readers = readers(&client, &one.run, (401, "unauthorized"));
            let revoked = async {
                let fields = [("token", pair.access.as_str())];
                post_form(&app, "/revoke", &fields).await.ok(200);
            };
            tally.add(&race(&readers, revoked).await);
            let fields = [
                ("grant_type", "refresh_token"),
                ("refresh_token", pair.refresh.as_str()),
                ("client_id", one.oauth.client_id.as_str()),
            ];
            let refreshed = post_form(&app, "/token", &fields).await.ok(200);
            pair = Pair::of(&refreshed.body);
        }
        tally
    };
    let lanes = join_all(fleet.apps.iter().map(lane)).await;
    Tally::expect(&lanes, ENDED_BY_ITSELF);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnected_app_is_given_no_run_and_no_token_after_the_answer() {
    let app = two_issuing().await;
    app.freeze().await;
    let mut fleet = fleet(&app, LANES).await;
    let mut lanes = Vec::new();
    for _ in 0..rounds(DISCONNECTED, FACES) {
        let lane = async |one: &Connected<'_>| {
            let client = with(&app, &one.pair.access);
            let readers = readers(&client, &one.run, (401, "unauthorized"));
            let (browser, csrf) = (&fleet.browser, &fleet.csrf);
            let grant = ("grantId", one.grant.as_str());
            let revoked = press(browser, csrf, "/connections/revoke", grant);
            let tally = race(&readers, revoked).await;
            let refreshed = one.oauth.refresh(&one.pair.refresh).await;
            refreshed.expect(400, "invalid_grant");
            tally
        };
        lanes.extend(join_all(fleet.apps.iter().map(lane)).await);
        // So many passphrases are judged from one address in a quarter of an hour.
        app.advance(Duration::from_secs(16 * 60)).await;
        for one in &mut fleet.apps {
            let known = connections(&fleet.browser).await;
            let code = one.oauth.code_from(&mut fleet.browser).await;
            one.pair = Pair::of(&one.oauth.exchange(&code, &[]).await.ok(200).body);
            let now = connections(&fleet.browser).await;
            one.grant.clone_from(now.difference(&known).next().unwrap());
        }
    }
    Tally::expect(&lanes, DISCONNECTED);
    app.finish().await;
}
