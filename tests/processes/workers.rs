//! Turns of external workers over processes that die, sleep and share one database.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::Site;
use crate::harness::client::{Answer, Client, Keyed};
use crate::harness::database::Beside;
use crate::harness::process::Server;

const SECOND: Duration = Duration::from_secs(1);

async fn site() -> Site {
    let site = Site::shared_database().await.set("HELIX_SOLVER", "worker");
    // Migrated before two servers meet on it.
    site.start(0).await.stop().await;
    site
}

/// A worker token, made as an operator makes it.
async fn token(site: &Site) -> String {
    let create = ["worker", "token", "create", "--name", "harbour", "--json"];
    let made = site.run(0, &create, "").await.object();
    made["token"].as_str().unwrap().to_owned()
}

/// A worker that comes to one server.
struct Worker {
    client: Client,
}

impl Worker {
    fn at(server: &Server, token: &str) -> Self {
        Self {
            client: Client::new(server.url.clone(), token.to_owned()),
        }
    }

    async fn post(&self, verb: &str, body: Value) -> Answer {
        let request = Keyed {
            path: format!("/api/v1/agent-workers/{verb}"),
            key: "no-key-is-asked".to_owned(),
            body,
        };
        self.client.send(&request).await
    }

    async fn claim(&self) -> Value {
        let body = json!({"worker": "w1", "wait_ms": 25_000});
        self.post("claim", body).await.ok(200).body
    }

    async fn heartbeat(&self, turn: &Value) -> Answer {
        self.post("heartbeat", json!({"turn_token": turn["turn_token"]}))
            .await
    }

    async fn complete(&self, turn: &Value) -> Answer {
        let body = json!({"turn_token": turn["turn_token"], "product": {"unresolved": ["all"]}});
        self.post("complete", body).await
    }
}

/// A continue that is on its way.
fn sent(
    client: &Client,
    run: &str,
    key: &str,
    version: u64,
) -> tokio::task::JoinHandle<Option<Answer>> {
    let (client, turn) = (client.clone(), Keyed::continue_run(run, key, version));
    tokio::spawn(async move { client.try_send(&turn).await.ok() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_one_process_is_solved_through_another() {
    let site = site().await;
    let (here, there) = (site.start(0).await, site.start(1).await);
    let ana = site.caller("ana").await;
    let worker = Worker::at(&there, &token(&site).await);
    let client = here.client(&ana);
    let run = client
        .send(&Keyed::start("ferry-plan", "List"))
        .await
        .run_id();
    let continued = sent(&client, &run, "ferry-turn", 1);
    let turn = worker.claim().await;
    assert_eq!(turn["run_id"], run);
    let heard = worker.heartbeat(&turn).await.ok(200);
    assert_eq!(heard.body["cancel_requested"], false);
    let receipt = worker.complete(&turn).await.ok(200);
    let done = continued.await.unwrap().unwrap().ok(200);
    assert_eq!(receipt.body["version"], done.body["version"]);
    assert_eq!(worker.complete(&turn).await.ok(200).body, receipt.body);
    Beside::open(site.database()).await.check().await;
    here.stop().await;
    there.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_process_of_a_turn_is_killed_its_worker_is_fenced_and_the_run_goes_on() {
    let site = site().await;
    let (here, there) = (site.start(0).await, site.start(1).await);
    let ana = site.caller("ana").await;
    let worker = Worker::at(&there, &token(&site).await);
    let mut beside = Beside::open(site.database()).await;
    let run = there
        .client(&ana)
        .send(&Keyed::start("ferry-plan", "List"))
        .await
        .run_id();
    let continued = sent(&here.client(&ana), &run, "ferry-turn", 1);
    let turn = worker.claim().await;
    here.kill().await;
    assert!(
        continued.await.unwrap().is_none(),
        "nobody was left to answer"
    );
    beside.advance(21 * SECOND).await;
    worker.heartbeat(&turn).await.expect(409, "attempt_fenced");
    worker.complete(&turn).await.expect(409, "attempt_fenced");
    let client = there.client(&ana);
    client
        .send(&Keyed::continue_run(&run, "too-early", 2))
        .await
        .expect(409, "run_busy");
    beside.advance(180 * SECOND).await;
    let continued = sent(&client, &run, "the-next-turn", 2);
    let again = worker.claim().await;
    assert_eq!(
        (&again["run_id"], &again["attempt"]),
        (&json!(run), &json!(1))
    );
    assert_ne!(again["run_version"], turn["run_version"]);
    worker.heartbeat(&turn).await.expect(409, "attempt_fenced");
    worker.complete(&again).await.ok(200);
    continued.await.unwrap().unwrap().ok(200);
    beside.check().await;
    there.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_in_flight_on_one_process_is_cancelled_through_another() {
    let site = site().await;
    let (here, there) = (site.start(0).await, site.start(1).await);
    let ana = site.caller("ana").await;
    let worker = Worker::at(&here, &token(&site).await);
    let client = here.client(&ana);
    let run = client
        .send(&Keyed::start("ferry-plan", "List"))
        .await
        .run_id();
    let continued = sent(&client, &run, "ferry-turn", 1);
    let turn = worker.claim().await;
    let cancelled = there
        .client(&ana)
        .send(&Keyed::cancel(&run, "ferry-stop", 2))
        .await
        .ok(200);
    assert_eq!(cancelled.body["lifecycle_status"], "cancelled");
    let heard = worker.heartbeat(&turn).await.ok(200);
    assert_eq!(heard.body["cancel_requested"], true);
    // Answered long before the turn's two minutes are over: the cancel has reached the turn itself.
    let ended = continued.await.unwrap().unwrap();
    ended.expect(409, "outcome_unknown");
    worker.complete(&turn).await.expect(409, "attempt_fenced");
    let names = client.event_names(&run).await;
    assert_eq!(names.last().unwrap(), "run_cancelled");
    Beside::open(site.database()).await.check().await;
    here.stop().await;
    there.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_workers_turn_is_the_second_attempt_of_the_next_worker_at_another_process() {
    let site = site().await;
    let (here, there) = (site.start(0).await, site.start(1).await);
    let ana = site.caller("ana").await;
    let (silent, next) = (
        Worker::at(&here, &token(&site).await),
        Worker::at(&there, &token(&site).await),
    );
    let mut beside = Beside::open(site.database()).await;
    let client = here.client(&ana);
    let run = client
        .send(&Keyed::start("ferry-plan", "List"))
        .await
        .run_id();
    let continued = sent(&client, &run, "ferry-turn", 1);
    let lost = silent.claim().await;
    beside.advance(31 * SECOND).await;
    let turn = next.claim().await;
    assert_eq!(
        (&turn["run_id"], &turn["attempt"]),
        (&json!(run), &json!(2))
    );
    silent.complete(&lost).await.expect(409, "attempt_fenced");
    next.complete(&turn).await.ok(200);
    continued.await.unwrap().unwrap().ok(200);
    beside.check().await;
    here.stop().await;
    there.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_stopped_fails_none_of_its_turns() {
    let site = site().await;
    let (here, there) = (site.start(0).await, site.start(1).await);
    let ana = site.caller("ana").await;
    let worker = Worker::at(&there, &token(&site).await);
    let client = there.client(&ana);
    let run = client
        .send(&Keyed::start("ferry-plan", "List"))
        .await
        .run_id();
    let continued = sent(&here.client(&ana), &run, "ferry-turn", 1);
    worker.claim().await;
    here.stop().await;
    continued.await.unwrap();
    // It can be taken over, as after a crash.
    let left = client.inspect(&run).await;
    assert_eq!(left.body["lifecycle_status"], "running");
    Beside::open(site.database()).await.check().await;
    there.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_to_a_process_that_sleeps_wait_in_a_bounded_number_and_are_answered_when_it_wakes() {
    let site = site().await;
    let (here, there) = (site.start(0).await, site.start(1).await);
    let ana = site.caller("ana").await;
    let worker = Worker::at(&there, &token(&site).await);
    let client = there.client(&ana);
    let run = client
        .send(&Keyed::start("ferry-plan", "List"))
        .await
        .run_id();
    let continued = sent(&here.client(&ana), &run, "ferry-turn", 1);
    let turn = worker.claim().await;
    here.signal(Signal::STOP);
    let call =
        json!({"turn_token": turn["turn_token"], "capability": "docs.search", "arguments": {}});
    let mut calls: FuturesUnordered<_> =
        (0..9).map(|_| worker.post("tool", call.clone())).collect();
    let turned_away = calls.next().await.unwrap().ok(503);
    assert_eq!(turned_away.header("retry-after"), "1");
    here.signal(Signal::CONT);
    while let Some(answer) = calls.next().await {
        // The run admits no tool, and only the process of the turn can say so.
        answer.expect(403, "account_policy_blocked");
    }
    let done = worker.complete(&turn).await.ok(200);
    assert_eq!(done.body["version"], 3);
    continued.await.unwrap().unwrap().ok(200);
    Beside::open(site.database()).await.check().await;
    here.stop().await;
    there.stop().await;
}
