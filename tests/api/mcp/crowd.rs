//! Many callers over few connections.

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use helix::testing::TestApp;
use serde_json::{Value, json};

use super::client::call;
use crate::harness::Client;

const CALLERS: usize = 64;
const CALLS: usize = 100;

fn mark(number: usize) -> String {
    format!("canary-{number:02}-of-this-caller-alone")
}

/// Every message has the id 1, so nothing but the server tells the answers apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_goes_to_whoever_asked_and_holds_nothing_of_another() {
    let app = TestApp::start().await;
    let mut clients = Vec::new();
    for number in 0..CALLERS {
        let subject = format!("caller-{number:02}");
        clients.push(Client::new(&app, &app.caller(&subject).await));
    }
    let runs = join_all(
        clients
            .iter()
            .enumerate()
            .map(|(number, client)| async move {
                let plan = json!({"objective": mark(number)});
                let start = json!({"idempotency_key": "the-same-key-for-all", "request": plan});
                let started = call(client, "helix_run_start", &start).await;
                let run = started["structuredContent"]["run"]["run_id"].as_str();
                run.expect("a run").to_owned()
            }),
    )
    .await;
    let calls = (0..CALLS).flat_map(|_| 0..CALLERS);
    let answers = stream::iter(calls.map(|number| {
        let (client, run) = (&clients[number], &runs[number]);
        async move {
            let result = call(client, "helix_run_inspect", &json!({"run_id": run})).await;
            (number, result)
        }
    }))
    .buffer_unordered(CALLERS)
    .collect::<Vec<(usize, Value)>>()
    .await;
    assert_eq!(answers.len(), CALLERS * CALLS);
    for (number, result) in answers {
        assert_eq!(
            result["structuredContent"]["run"]["objective"],
            mark(number)
        );
        assert_eq!(result["structuredContent"]["run"]["run_id"], runs[number]);
        let text = result.to_string();
        let others = text.matches("canary-").count();
        let own = text.matches(&mark(number)).count();
        assert_eq!(others, own, "{text}");
    }
    app.finish().await;
}
