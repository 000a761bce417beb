//! A workspace over REST and by tools: a named token and an app, ended by the owner.

use futures_util::future::join_all;
use helix::testing::TestApp;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    DISCONNECTED_FROM_WORK, LANES, NAMED, Reader, Tally, from_afar, race, rounds, two, two_issuing,
};
use crate::access::app::OAuthApp;
use crate::harness::{Answer, Client};
use crate::mcp::client as mcp;
use crate::work::apps::connected;
use crate::work::client::text;
use crate::work::person::Person;

/// A workspace over REST and by its tool.
const FACES: usize = 2;

/// The workspace over REST and by its tool, through the second server.
fn readers<'a>(app: &'a TestApp, owner: &Person<'_>, token: &str) -> [Reader<'a>; FACES] {
    let client = Client {
        app,
        token: token.to_owned(),
        server: 1,
    };
    let over_rest = {
        let (client, path) = (client.clone(), owner.path(""));
        move || client.request(Method::GET, &path)
    };
    let call = json!({"name": "workspace_get", "arguments": {}});
    let call = mcp::request(1, "tools/call", &call).to_string();
    let by_tool = move || mcp::message_to(&client, "/workspace/mcp", call.clone());
    let given = || (200, owner.workspace.clone());
    let refused = (401, "unauthorized");
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

async fn post(owner: &Person<'_>, rest: &str, body: &Value) -> Answer {
    let request = owner.request(Method::POST, &owner.path(rest));
    Answer::of(from_afar(request.body(body.to_string()))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_token_is_given_nothing_of_its_workspace_after_the_answer() {
    let app = two().await;
    let mut owners = Vec::new();
    for number in 0..LANES {
        owners.push(Person::other(&app, &format!("owner-{number}")).await.0);
    }
    let wish = json!({ "name": "night", "scopes": ["brief:read"], "reach": { "kind": "all" } });
    let lane = async |owner: &Person<'_>| {
        let mut tally = Tally::default();
        for _ in 0..rounds(NAMED, FACES) {
            let made = post(owner, "/tokens", &wish).await.ok(201).body;
            let readers = readers(&app, owner, &text(&made["token"]));
            let path = format!("/tokens/{}/revoke", text(&made["token_id"]));
            let revoked = async {
                post(owner, &path, &json!({})).await.ok(200);
            };
            tally.add(&race(&readers, revoked).await);
        }
        tally
    };
    Tally::expect(&join_all(owners.iter().map(lane)).await, NAMED);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_is_given_nothing_of_a_workspace_after_its_connection_ended() {
    let app = two_issuing().await;
    let mut owner = Person::owner(&app).await;
    let client = OAuthApp::register(&app, "Tide").await;
    let mut tally = Tally::default();
    for _ in 0..DISCONNECTED_FROM_WORK / FACES {
        let (agent, _) = connected(&client, &mut owner, &[("reach", "all")]).await;
        let listed = owner.get("/connections").await.ok(200).body;
        let lines = listed["connections"].as_array().unwrap();
        let live = lines.iter().find(|line| line["state"] == "live").unwrap();
        let path = format!("/connections/{}/revoke", text(&live["connection_id"]));
        let readers = readers(&app, &owner, &agent.token);
        let revoked = async {
            owner.post(&path, &json!({})).await.ok(200);
        };
        tally.add(&race(&readers, revoked).await);
    }
    Tally::expect(&[tally], DISCONNECTED_FROM_WORK);
    app.finish().await;
}
