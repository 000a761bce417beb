//! Endpoints that are told of runs: a real receiver on a socket, which checks every signature by
//! the published algorithm.

mod ends;
mod kinds;
mod marks;
mod receiver;
mod retries;
mod scope;
mod secrets;

use helix::testing::{Setup, TestApp};
use serde_json::{Value, json};

use crate::harness::{Answer, Client};

/// A server that may send to loopback, its clock stopped.
async fn app() -> TestApp {
    app_with(&[]).await
}

async fn app_with(environment: &[(&'static str, &str)]) -> TestApp {
    let mut setup = Setup::default();
    setup
        .environment
        .push(("HELIX_WEBHOOK_ALLOW_PRIVATE", "1".to_owned()));
    let more = environment.iter();
    setup
        .environment
        .extend(more.map(|(name, value)| (*name, (*value).to_owned())));
    let app = TestApp::with(setup).await;
    app.freeze().await;
    app
}

async fn started(client: &Client<'_>, key: &str) -> String {
    client.started(key, &json!({"objective": "List"})).await
}

/// One turn that answers with these fields.
async fn turn(client: &Client<'_>, run: &str, version: u64, fields: &Value) -> Answer {
    client.app.script.answer(fields);
    let body = json!({"expected_version": version, "instruction": "go"});
    let key = format!("{run}-{version:04}");
    client.continue_run(run, &key, &body).await.ok(200)
}

/// A run that is cancelled, so that there is one thing to tell.
async fn cancelled(client: &Client<'_>, key: &str) -> String {
    let run = started(client, key).await;
    let body = json!({"expected_version": 1});
    client
        .cancel(&run, &format!("{key}-end"), &body)
        .await
        .ok(200);
    run
}

/// The states of deliveries, newest first.
fn states(deliveries: &[Value]) -> Vec<&str> {
    let state = |line: &'_ Value| line["state"].as_str().map(str::len);
    assert!(deliveries.iter().all(|line| state(line).is_some()));
    deliveries
        .iter()
        .filter_map(|line| line["state"].as_str())
        .collect()
}
