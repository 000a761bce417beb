//! The routes of external workers, whose token the operator ends.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::{LANES, Reader, Tally, WORKERS, race, rounds};
use crate::harness::Client;
use crate::workers::client::{CLAIM, HEARTBEAT, app};

/// Routes that a worker uses here.
const ROUTES: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_recognised_nowhere_after_its_token_ended() {
    let mut app = app().await;
    app.add_server().await;
    let lane = async |number: usize| {
        let mut tally = Tally::default();
        for _ in 0..rounds(WORKERS, ROUTES) {
            let (token, id) = app.worker_token(&format!("worker {number}")).await;
            let client = Client {
                app: &app,
                token,
                server: 1,
            };
            let ask = |path: &'static str, body: serde_json::Value| {
                let client = client.clone();
                Box::new(move || client.request(Method::POST, path).body(body.to_string()))
            };
            let readers: [Reader<'_>; ROUTES] = [
                Reader {
                    ask: ask(HEARTBEAT, json!({"turn_token": "none"})),
                    given: (409, "attempt_fenced".to_owned()),
                    refused: (401, "unauthorized"),
                },
                Reader {
                    ask: ask(CLAIM, json!({"worker": "w1", "wait_ms": 0})),
                    given: (204, String::new()),
                    refused: (401, "unauthorized"),
                },
            ];
            tally.add(&race(&readers, app.revoke_worker_token(id)).await);
        }
        tally
    };
    Tally::expect(&join_all((0..LANES).map(lane)).await, WORKERS);
    app.finish().await;
}
