//! What a product may say, and what becomes of it.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection};

use super::client::{QUOTE, Turn, Worker, app, go, product, source_of, started, started_bare};
use crate::harness::{Answer, Client};

const READ: &str = "research-library.read_document";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quoted_span_becomes_evidence_and_completes_the_run() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        let source = worker.find(&turn).await;
        worker
            .complete(&turn, &product(source, QUOTE))
            .await
            .ok(200)
    };
    let (done, receipt) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    let done = done.ok(200);
    assert_eq!(done.statuses(), "completed/completed/authorized");
    assert_eq!(done.body["latest_result"]["final_answer_source"], "worker");
    let refs = done.body["evidence"]["evidence_refs"].as_array().unwrap();
    let item = refs[0].as_str().unwrap().replace(':', "%3A");
    let item = client
        .get(&format!("{}/{run}/evidence/{item}", crate::harness::RUNS))
        .await
        .ok(200);
    assert_eq!(item.body["quote"], QUOTE);
    // The receipt names the step that the log holds.
    let receipt = receipt.body;
    assert_eq!(receipt["run_id"], run);
    assert_eq!(
        (&receipt["run_version"], &receipt["version"]),
        (&json!(2), &json!(3))
    );
    for name in [
        "lifecycle_status",
        "completion_status",
        "terminal_authority_status",
    ] {
        assert_eq!(receipt[name], done.body[name], "{name}");
    }
    let names = client.event_names(&run).await;
    assert_eq!(receipt["seq"], json!(names.len()));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quote_that_is_not_in_the_source_never_becomes_evidence() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let altered = QUOTE.replace('7', "8");
    for (number, read) in [(1, true), (2, true), (3, false)] {
        let run = started(&client, &format!("ferry-plan-{number:04}")).await;
        let body = go(1);
        let work = async {
            let turn = worker.claim().await;
            let source = if read { worker.find(&turn).await } else { 0 };
            let product = match number {
                1 => product(source, &altered),
                // A source that nobody named, and one that was not read.
                2 => product(source + 7, QUOTE),
                _ => product(source, QUOTE),
            };
            worker.complete(&turn, &product).await.ok(200);
        };
        let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
        let done = done.ok(200);
        assert_eq!(
            done.body["completion_status"], "needs_more_evidence",
            "{number}"
        );
        assert_eq!(done.body["evidence"]["evidence_refs"], json!([]));
        assert!(done.body["latest_result"]["terminal_product"].is_null());
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_product_again_has_the_same_receipt_and_another_one_none() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let said = json!({"unresolved": ["the fare"]});
    let work = async {
        let turn = worker.claim().await;
        let (one, same) =
            tokio::join!(worker.complete(&turn, &said), worker.complete(&turn, &said));
        assert_eq!(one.ok(200).body, same.ok(200).body);
        turn
    };
    let (done, turn) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    let version = done.ok(200).version();
    let again = worker.complete(&turn, &said).await.ok(200);
    assert_eq!(again.body["version"], version);
    worker
        .complete(&turn, &json!({"unresolved": ["the dog"]}))
        .await
        .expect(409, "attempt_fenced");
    worker.heartbeat(&turn).await.expect(409, "attempt_fenced");
    assert_eq!(client.inspect(&run).await.version(), version);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_out_of_form_is_refused_and_the_attempt_goes_on() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        for hostile in [
            json!("done"),
            json!({"terminal_authority_status": "authorized"}),
            json!({"evidence_refs": ["evidence:made-up"]}),
            json!({"claims": [{"text": "t", "spans": [4]}]}),
            json!({"quoted_spans": [{"source": 0, "start": 0, "end": 1, "quote": "q".repeat(2_001)}]}),
        ] {
            let refused = worker.complete(&turn, &hostile).await;
            let refused = refused.expect(400, "invalid_request");
            assert!(refused.body["details"]["issues"].is_array());
        }
        worker.heartbeat(&turn).await.ok(200);
        worker.complete(&turn, &json!({})).await.ok(200);
    };
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_with_credential_material_is_replaced_as_any_solvers_is() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        let said = json!({"summary": "Authorization: Bearer abcdefghijkl"});
        worker.complete(&turn, &said).await.ok(200)
    };
    let (done, receipt) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    let done = done.ok(200);
    assert_eq!(done.statuses(), "waiting/blocked/blocked");
    assert!(!done.text.contains("abcdefghijkl"));
    assert_eq!(
        receipt.body["failure_code"],
        "protected_sensitive_content_rejected"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_admitted_capabilities_answer_and_each_call_leaves_its_receipt() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        let denied = worker
            .tool(&turn, "repo.search", json!({"query": "q", "limit": 1}))
            .await;
        let denied = denied.expect(403, "account_policy_blocked");
        assert_eq!(
            denied.body["details"],
            json!({"denied_capabilities": ["repo.search"]})
        );
        worker
            .tool(&turn, "no.such.tool", json!({}))
            .await
            .expect(403, "account_policy_blocked");
        worker
            .tool(&turn, READ, json!({"query": 7}))
            .await
            .expect(400, "invalid_request");
        let forged = Turn {
            token: "A".repeat(43),
            ..turn.clone()
        };
        worker
            .tool(&forged, READ, arguments("ferry"))
            .await
            .expect(409, "attempt_fenced");
        let answered = several(&worker, &turn).await;
        let source = source_of(&answered[0].body);
        worker
            .complete(&turn, &product(source, QUOTE))
            .await
            .ok(200);
        answered
    };
    let (done, answered) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    let done = done.ok(200);
    // Both calls have read the passage; either may be the one that vouches for it.
    let receipts = done.body["evidence"]["receipt_refs"].to_string();
    let named = |answer: &Answer| receipts.contains(answer.body["receipt_ref"].as_str().unwrap());
    assert!(answered.iter().any(named), "{receipts}");
    let mut beside = PgConnection::connect_with(&app.database().options)
        .await
        .unwrap();
    let recorded: i64 =
        sqlx::query_scalar("select count(*) from es.event where kind = 'tool_receipt_recorded'")
            .fetch_one(&mut beside)
            .await
            .unwrap();
    assert_eq!(recorded, 5, "two refused, one in error, two answered");
    beside.close().await.unwrap();
    app.finish().await;
}

fn arguments(query: &str) -> Value {
    json!({"query": query, "source": null, "start": null, "end": null})
}

/// Calls at once, each with its own answer.
async fn several(worker: &Worker<'_>, turn: &Turn) -> Vec<Answer> {
    let (one, other) = tokio::join!(
        worker.tool(turn, READ, arguments("ferry Vik")),
        worker.tool(turn, READ, arguments("dogs"))
    );
    let answers = vec![one.ok(200), other.ok(200)];
    for answer in &answers {
        assert_eq!(answer.body["outcome"], "answered");
    }
    assert_ne!(
        answers[0].body["receipt_ref"],
        answers[1].body["receipt_ref"]
    );
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_worker_asks_and_answers_is_sealed_wherever_it_is_kept() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    // Messages are gone with their turn, so every state of theirs is copied aside.
    let mut beside = PgConnection::connect_with(&app.database().options)
        .await
        .unwrap();
    beside
        .execute(
            "create table public.kept (message bytea);
             create function public.keep() returns trigger language plpgsql security definer as $$
             begin
                 insert into public.kept values (new.request || coalesce(new.answer, ''));
                 return null;
             end $$;
             create trigger keep after insert or update on worker.message
                 for each row execute function public.keep();",
        )
        .await
        .unwrap();
    let run = started(&client, "ferry-plan-0001").await;
    let body = go(1);
    let work = async {
        let turn = worker.claim().await;
        let source = worker.find(&turn).await;
        worker
            .complete(&turn, &product(source, QUOTE))
            .await
            .ok(200);
        turn
    };
    let (done, turn) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), work);
    done.ok(200);
    let kept: Vec<Vec<u8>> = sqlx::query_scalar("select message from public.kept")
        .fetch_all(&mut beside)
        .await
        .unwrap();
    assert!(kept.len() >= 3, "a call, its answer and a product");
    let offers: Vec<String> = sqlx::query_scalar("select o::text from worker.offer o")
        .fetch_all(&mut beside)
        .await
        .unwrap();
    for text in [
        "ferry",
        "Vik",
        "harbour",
        turn.token.as_str(),
        worker.token.as_str(),
    ] {
        for message in &kept {
            let found = message
                .windows(text.len())
                .any(|part| part == text.as_bytes());
            assert!(!found, "{text}");
        }
        assert!(!offers.concat().contains(text), "{text}");
    }
    // The process that executed the turn cleans up behind it.
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    loop {
        tick.tick().await;
        let left: i64 = sqlx::query_scalar("select count(*) from worker.message")
            .fetch_one(&mut beside)
            .await
            .unwrap();
        if left == 0 {
            break;
        }
    }
    beside.close().await.unwrap();
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_is_remembered_for_a_day_and_then_forgotten() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let (done, turn) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), async {
        let turn = worker.claim().await;
        worker.complete(&turn, &json!({})).await.ok(200);
        turn
    });
    done.ok(200);
    app.advance(Duration::from_secs(24 * 3600)).await;
    worker.complete(&turn, &json!({})).await.ok(200);
    app.advance(Duration::from_secs(300)).await;
    // The sweep comes by itself.
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    loop {
        tick.tick().await;
        let again = worker.complete(&turn, &json!({})).await;
        if again.status == 409 {
            again.expect(409, "attempt_fenced");
            break;
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bearer_of_one_turn_acts_on_no_other() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let (one, other) = (Worker::new(&app).await, Worker::new(&app).await);
    let first = started_bare(&client, "ferry-plan-0001").await;
    let second = started_bare(&client, "ferry-plan-0002").await;
    let body = go(1);
    let work = async {
        let (mine, theirs) = (one.claim().await, other.claim().await);
        assert_ne!(mine.given["run_id"], theirs.given["run_id"]);
        // Held by another worker, or mixed of two: neither is an attempt.
        one.heartbeat(&theirs).await.expect(409, "attempt_fenced");
        one.complete(&theirs, &json!({}))
            .await
            .expect(409, "attempt_fenced");
        let mixed = Turn {
            token: format!("{}{}", &mine.token[..20], &theirs.token[20..]),
            ..mine.clone()
        };
        one.heartbeat(&mixed).await.expect(409, "attempt_fenced");
        let receipt = one.complete(&mine, &json!({})).await.ok(200);
        assert_eq!(receipt.body["run_id"], mine.given["run_id"]);
        other.complete(&theirs, &json!({})).await.ok(200);
    };
    let (one, other, ()) = tokio::join!(
        client.continue_run(&first, "ferry-turn-0001", &body),
        client.continue_run(&second, "ferry-turn-0001", &body),
        work
    );
    assert_eq!((one.ok(200).version(), other.ok(200).version()), (3, 3));
    app.finish().await;
}
