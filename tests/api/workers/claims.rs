//! Who gets a turn, what it is told, and when nobody does.

use std::time::Duration;

use helix::testing::{AccountType, TestApp};
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::client::{CLAIM, PLAN, Worker, app, app_with, go, started, started_bare};
use crate::harness::{Answer, Client};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_told_of_its_turn_and_of_no_owner() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started(&client, "ferry-plan-0001").await;
    let body = go(1);
    let turn = client.continue_run(&run, "ferry-turn-0001", &body);
    let work = async {
        let turn = worker.claim().await;
        let given = &turn.given;
        assert_eq!(given["run_id"], run);
        assert_eq!(
            (&given["run_version"], &given["attempt"]),
            (&json!(2), &json!(1))
        );
        let input = &given["input"];
        assert_eq!(input["objective"], PLAN);
        assert_eq!(input["instruction"], "go");
        assert_eq!(input["runVersion"], 2);
        assert_eq!(input["remainingSteps"], 11);
        assert_eq!(
            input["allowedTools"],
            json!(["research-library.read_document"])
        );
        assert_eq!(
            input["requiredEvidence"],
            json!(["research_library_evidence"])
        );
        assert_eq!(
            input["capabilities"][0]["id"],
            "research-library.read_document"
        );
        for text in ["harbour-coop", "\"ana\"", "principal", "subject", "tenant"] {
            assert!(!given.to_string().contains(text), "{text}");
        }
        // The bearer of an attempt is delivered as it is, and nothing else looks like one.
        assert_eq!(turn.token.len(), 43);
        worker.complete(&turn, &json!({})).await.ok(200);
    };
    let (done, ()) = tokio::join!(turn, work);
    assert_eq!(
        done.ok(200).statuses(),
        "waiting/needs_more_evidence/blocked"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_reach_the_worker_with_the_instruction() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let asked = json!({"questions": [{"question_id": "q-port", "prompt": "Which port?"}]});
    let body = go(1);
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), async {
        let turn = worker.claim().await;
        worker.complete(&turn, &asked).await.ok(200);
    });
    let done = done.ok(200);
    assert_eq!(done.body["completion_status"], "needs_input");
    let body = json!({"expected_version": 3, "instruction": "go on",
        "answers": [{"question_id": "q-port", "value": "Vik"}]});
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0002", &body), async {
        let turn = worker.claim().await;
        let told = turn.given["input"]["instruction"].as_str().unwrap();
        assert!(told.starts_with("go on\n\n"), "{told}");
        assert!(told.ends_with("q-port: \"Vik\""), "{told}");
        assert_eq!(
            turn.given["input"]["pendingQuestions"][0]["question_id"],
            "q-port"
        );
        worker.complete(&turn, &json!({})).await.ok(200);
    });
    assert_eq!(done.ok(200).version(), 5);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_ask_for_one_turn_and_exactly_one_gets_it() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let (first, second) = (Worker::new(&app).await, Worker::new(&app).await);
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let (one, other) = tokio::join!(first.try_claim(1_500), second.try_claim(1_500));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 204]);
        let (worker, given) = if one.status == 200 {
            (&first, one.body)
        } else {
            (&second, other.body)
        };
        let token = given["turn_token"].as_str().unwrap();
        let body = json!({"turn_token": token, "product": {}});
        worker.post(super::client::COMPLETE, &body).await.ok(200);
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_goes_to_a_worker_whose_capabilities_hold_all_its_tools() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let (library, bare) = (
        started(&client, "ferry-plan-0001").await,
        started_bare(&client, "ferry-plan-0002").await,
    );
    let body = go(1);
    let first = client.continue_run(&library, "ferry-turn-0001", &body);
    let work = async {
        // The first turn is offered: a worker that cannot read the library does not get it.
        let narrow = json!({"worker": "w", "capabilities": ["docs.search"], "wait_ms": 25_000});
        let claimed = worker.post(CLAIM, &narrow);
        let second = client.continue_run(&bare, "ferry-turn-0002", &body);
        let (second, ()) = tokio::join!(second, async {
            let given = claimed.await.ok(200).body;
            assert_eq!(given["run_id"], bare);
            let done = json!({"turn_token": given["turn_token"], "product": {}});
            worker.post(super::client::COMPLETE, &done).await.ok(200);
        });
        second.ok(200);
        let wide = json!({"worker": "w", "wait_ms": 25_000,
            "capabilities": ["docs.search", "research-library.read_document"]});
        let given = worker.post(CLAIM, &wide).await.ok(200).body;
        assert_eq!(given["run_id"], library);
        let done = json!({"turn_token": given["turn_token"], "product": {}});
        worker.post(super::client::COMPLETE, &done).await.ok(200);
    };
    let (first, ()) = tokio::join!(first, work);
    first.ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_turn_that_waits_longest_is_given_first() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let mut runs = Vec::new();
    let mut turns = Vec::new();
    for number in 1..=3 {
        let run = started_bare(&client, &format!("ferry-plan-{number:04}")).await;
        let (token, url) = (
            client.token.clone(),
            app.url(&format!("{}/{run}/continue", crate::harness::RUNS)),
        );
        let request = app.client().post(url).bearer_auth(token);
        let request = request
            .header("Idempotency-Key", "ferry-turn-0001")
            .body(go(1).to_string());
        turns.push(tokio::spawn(Answer::of(request)));
        open_offers(&app, number).await;
        runs.push(run);
    }
    for run in &runs {
        let turn = worker.claim().await;
        assert_eq!(turn.given["run_id"], *run);
        worker.complete(&turn, &json!({})).await.ok(200);
    }
    for turn in turns {
        turn.await.unwrap().ok(200);
    }
    app.finish().await;
}

/// Waits until so many turns stand open.
async fn open_offers(app: &TestApp, count: i64) {
    let mut connection = PgConnection::connect_with(&app.database().options)
        .await
        .unwrap();
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    loop {
        tick.tick().await;
        let open: i64 =
            sqlx::query_scalar("select count(*) from worker.offer where state = 'open'")
                .fetch_one(&mut connection)
                .await
                .unwrap();
        if open >= count {
            break;
        }
    }
    connection.close().await.unwrap();
}

/// Offers, as the oldest, a turn of a run that has none under way: what is left when a run was erased
/// or has moved on in the moment of a claim.
async fn offer_of_nothing(app: &TestApp, run: &str) {
    let mut connection = PgConnection::connect_with(&app.database().options)
        .await
        .unwrap();
    let made = sqlx::query(
        "insert into worker.offer (offer_id, lane, run_id, run_version, stream_version, key_id,
                claimed_at_ms, tools, shown, holder, holder_until_ms, deadline_ms, offered_at_ms)
         select gen_random_uuid(), s.lane, s.stream_id, 1, s.version, o.key_id, o.claimed_at_ms, o.tools,
                o.shown, gen_random_uuid(), o.holder_until_ms, o.deadline_ms, o.offered_at_ms - 1
           from es.stream s, worker.offer o
          where s.stream_id = $1::text::uuid and o.state = 'open'",
    )
    .bind(run.trim_start_matches("run_"))
    .execute(&mut connection)
    .await
    .unwrap();
    assert_eq!(made.rows_affected(), 1);
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_meets_an_offer_of_nothing_goes_on_to_the_next_turn() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let (idle, run) = (
        started_bare(&client, "ferry-plan-0001").await,
        started_bare(&client, "ferry-plan-0002").await,
    );
    let body = go(1);
    let work = async {
        open_offers(&app, 1).await;
        offer_of_nothing(&app, &idle).await;
        let turn = worker.claim().await;
        assert_eq!(turn.given["run_id"], run);
        worker.complete(&turn, &json!({})).await.ok(200);
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_without_a_turn_is_answered_with_nothing() {
    let app = app().await;
    let worker = Worker::new(&app).await;
    for wait in [0, 300] {
        let none = worker.try_claim(wait).await.ok(204);
        assert_eq!(none.text, "");
        assert_eq!(none.header("cache-control"), "no-store");
        assert!(none.header("x-request-id").starts_with("helix_req_"));
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_nobody_claims_in_the_time_set_for_it_leaves_its_run_resumable() {
    let app = app_with(&[("worker_claim_timeout_ms", "400")]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started_bare(&client, "ferry-plan-0001").await;
    let done = client
        .continue_run(&run, "ferry-turn-0001", &go(1))
        .await
        .ok(200);
    assert_eq!(done.statuses(), "waiting/blocked/blocked");
    let latest = &done.body["latest_result"];
    assert_eq!(
        (&latest["ok"], &latest["status"]),
        (&json!(false), &json!(424))
    );
    assert_eq!(latest["failure_code"], "worker_unavailable");
    assert_eq!(done.body["unresolved_requirements"], json!([]));
    let worker = Worker::new(&app).await;
    worker.try_claim(0).await.ok(204);
    let body = go(3);
    let (again, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0002", &body), async {
        let turn = worker.claim().await;
        assert_eq!(
            (&turn.given["run_version"], &turn.given["attempt"]),
            (&json!(4), &json!(1))
        );
        worker.complete(&turn, &json!({})).await.ok(200);
    });
    again.ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_nobody_claims_at_all_is_the_turn_timeout() {
    let app = app_with(&[("agent_turn_timeout_ms", "1000")]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started_bare(&client, "ferry-plan-0001").await;
    let done = client
        .continue_run(&run, "ferry-turn-0001", &go(1))
        .await
        .ok(200);
    assert_eq!(done.statuses(), "failed/failed/blocked");
    assert_eq!(
        done.body["latest_result"]["failure_code"],
        "helix_ask_timeout"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_worker_is_fenced_and_the_next_one_gets_the_second_attempt() {
    let app = app().await;
    let client = Client::new(&app, &app.linked("ana", "coop", AccountType::User).await);
    let (lost, next) = (Worker::new(&app).await, Worker::new(&app).await);
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let gone = lost.claim().await;
        lost.heartbeat(&gone).await.ok(200);
        app.advance(Duration::from_secs(31)).await;
        let turn = next.claim().await;
        assert_eq!(
            (&turn.given["run_id"], &turn.given["attempt"]),
            (&json!(run), &json!(2))
        );
        assert_eq!(turn.given["run_version"], gone.given["run_version"]);
        assert_ne!(turn.token, gone.token);
        lost.heartbeat(&gone).await.expect(409, "attempt_fenced");
        lost.tool(&gone, "docs.search", json!({}))
            .await
            .expect(409, "attempt_fenced");
        lost.complete(&gone, &json!({}))
            .await
            .expect(409, "attempt_fenced");
        let receipt = next.complete(&turn, &json!({})).await.ok(200);
        assert_eq!(receipt.body["attempt"], 2);
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    assert_eq!(done.ok(200).version(), 3);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heartbeat_keeps_the_turn_for_another_thirty_seconds() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let (worker, other) = (Worker::new(&app).await, Worker::new(&app).await);
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        let mut last = turn.given["lease_expires_at"].as_str().unwrap().to_owned();
        for _ in 0..4 {
            // Below the lease of the process that executes the turn, which it renews by itself.
            app.advance(Duration::from_secs(9)).await;
            let heard = beat(&worker, &turn).await;
            assert!(heard > last, "{heard} {last}");
            last = heard;
        }
        other.try_claim(0).await.ok(204);
        worker.complete(&turn, &json!({})).await.ok(200);
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.ok(200);
    app.finish().await;
}

/// A sign of life that is heard; the holder's own may come a moment later.
async fn beat(worker: &Worker<'_>, turn: &super::client::Turn) -> String {
    let mut tick = tokio::time::interval(Duration::from_millis(50));
    loop {
        tick.tick().await;
        let heard = worker.heartbeat(turn).await;
        if heard.status == 200 {
            assert_eq!(heard.body["cancel_requested"], false);
            return heard.body["lease_expires_at"].as_str().unwrap().to_owned();
        }
    }
}
