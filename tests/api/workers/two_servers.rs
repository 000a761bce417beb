//! The process a worker came to need not be the one that executes its turn.

use serde_json::json;

use super::client::{QUOTE, Worker, app, go, product, started, started_bare};
use crate::harness::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_continued_at_one_server_is_solved_at_another() {
    let mut app = app().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await.at(1);
    let run = started(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        worker.heartbeat(&turn).await.ok(200);
        let source = worker.find(&turn).await;
        let said = product(source, QUOTE);
        let there = worker.complete(&turn, &said).await.ok(200);
        let here = worker.at(0).complete(&turn, &said).await.ok(200);
        assert_eq!(there.body, here.body);
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    assert_eq!(done.ok(200).statuses(), "completed/completed/authorized");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_at_the_other_server_reaches_the_worker_at_its_next_heartbeat() {
    let mut app = app().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        let cancel = json!({"expected_version": 2});
        client
            .at(1)
            .cancel(&run, "ferry-stop-0001", &cancel)
            .await
            .ok(200);
        for server in [0, 1] {
            let heard = worker.at(server).heartbeat(&turn).await.ok(200);
            assert_eq!(heard.body["cancel_requested"], true);
        }
        worker
            .complete(&turn, &json!({}))
            .await
            .expect(409, "attempt_fenced");
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.expect(409, "outcome_unknown");
    app.finish().await;
}
