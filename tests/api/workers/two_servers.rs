//! The process a worker came to need not be the one that executes its turn.

use std::collections::BTreeSet;

use futures_util::future::join_all;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_workers_at_both_servers_take_each_turn_once() {
    const TURNS: usize = 12;
    let mut app = app().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let mut runs = BTreeSet::new();
    for number in 0..TURNS {
        runs.insert(started_bare(&client, &format!("ferry-plan-{number:04}")).await);
    }
    let body = go(1);
    let turns = runs.iter().enumerate().map(|(number, run)| {
        let client = client.at(number % 2);
        let body = &body;
        async move {
            client
                .continue_run(run, "ferry-turn-0001", body)
                .await
                .ok(200)
                .version()
        }
    });
    let workers = (0..4).map(|number| {
        let worker = worker.at(number % 2);
        async move {
            let mut taken = Vec::new();
            for _ in 0..TURNS / 4 {
                let turn = worker.claim().await;
                assert_eq!(turn.given["attempt"], 1);
                worker.complete(&turn, &json!({})).await.ok(200);
                taken.push(turn.given["run_id"].as_str().unwrap().to_owned());
            }
            taken
        }
    });
    let (versions, taken) = tokio::join!(join_all(turns), join_all(workers));
    assert_eq!(versions, [3; TURNS]);
    let taken: Vec<String> = taken.concat();
    assert_eq!(taken.len(), TURNS);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), runs);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_against_a_cancel_at_the_other_server_ends_each_run_once() {
    const ROUNDS: usize = 30;
    let mut app = app().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let (body, nothing) = (go(1), json!({}));
    let cancel = json!({"expected_version": 2});
    let mut received = 0;
    for round in 0..ROUNDS {
        let run = started_bare(&client, &format!("ferry-plan-{round:04}")).await;
        let race = async {
            let turn = worker.claim().await;
            let there = client.at(1);
            let withdraw = async {
                // A little later each time, so that both sides win some.
                for _ in 0..round / 3 {
                    worker.at(1).heartbeat(&turn).await;
                }
                there.cancel(&run, "ferry-stop-0001", &cancel).await
            };
            tokio::join!(worker.complete(&turn, &nothing), withdraw)
        };
        let turn = client.continue_run(&run, "ferry-turn-0001", &body);
        let (continued, (completed, cancelled)) = tokio::join!(turn, race);
        let names = client.event_names(&run).await;
        if completed.status == 200 {
            received += 1;
            continued.ok(200);
            cancelled.expect(409, "version_conflict");
            assert!(!names.contains(&"run_cancelled".to_owned()), "{names:?}");
        } else {
            completed.expect(409, "attempt_fenced");
            cancelled.ok(200);
            continued.expect(409, "outcome_unknown");
            assert_eq!(names.last().unwrap(), "run_cancelled");
        }
    }
    assert!(received > 0, "no product was in time");
    app.finish().await;
}
