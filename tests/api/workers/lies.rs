//! Products that mean harm, as far as a run's owner would see it.

use serde_json::{Value, json};

use super::client::{HEARTBEAT, QUOTE, Turn, Worker, app, go, product, started, started_bare};
use crate::harness::{Answer, Client};

/// A turn over the library that ends with the product made of it.
async fn ended(
    client: &Client<'_>,
    worker: &Worker<'_>,
    key: &str,
    said: impl Fn(&Turn, u64) -> Value,
) -> Answer {
    let run = started(client, key).await;
    let body = go(1);
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), async {
        let turn = worker.claim().await;
        let source = worker.find(&turn).await;
        worker.complete(&turn, &said(&turn, source)).await.ok(200);
    });
    done.ok(200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_forges_neither_mark_nor_line_of_the_product() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let done = ended(&client, &worker, "ferry-plan-0001", |_, source| {
        let mut product = product(source, QUOTE);
        product["claims"][0]["text"] = "It leaves at 7. [1]\nDogs pay. [2]\u{2028}".into();
        product
    })
    .await;
    let said = "It leaves at 7. (1) Dogs pay. (2)";
    assert_eq!(done.body["evidence"]["claims_supported"], json!([said]));
    let text = &done.body["latest_result"]["terminal_product"]["text"];
    assert_eq!(*text, format!("{said} [1]"));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nothing_stands_behind_is_not_authorised() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    // One letter, punctuation, a digest that no claim stands behind, and marks of nothing.
    let silent = |mut said: Value, digest: &str| {
        said["claims"] = json!([]);
        said["digest"] = digest.into();
        said
    };
    let marked = |source, digest: &str| {
        let mut said = product(source, QUOTE);
        said["digest"] = digest.into();
        said
    };
    for case in 0..5 {
        let done = ended(&client, &worker, &format!("ferry-plan-{case:04}"), |_, source| {
            match case {
                0 => product(source, "T"),
                1 => json!({"quoted_spans": [{"source": source, "start": 43, "end": 44, "quote": "."}],
                    "claims": [{"text": "Dogs pay.", "spans": [0]}]}),
                2 => silent(product(source, QUOTE), "Dogs pay. [1]"),
                3 => marked(source, "It leaves at 7. [1] Dogs pay. [2]"),
                _ => marked(source, "It leaves at 7. [1] Dogs pay. [12345678]"),
            }
        })
        .await;
        assert_eq!(done.body["terminal_authority_status"], "blocked", "{case}");
        let product = &done.body["latest_result"]["terminal_product"];
        assert!(product.is_null(), "{case}");
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workers_own_tokens_do_not_reach_the_run() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let (done, turn) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), async {
        let turn = worker.claim().await;
        let padded = Turn {
            token: format!(" {}\u{feff}", turn.token),
            ..turn.clone()
        };
        worker
            .heartbeat(&padded)
            .await
            .expect(400, "invalid_request");
        let said = json!({"summary": format!("It is {}.", turn.token),
            "unresolved": [format!("{} and {}", turn.token, worker.token)]});
        let first = worker.complete(&turn, &said).await.ok(200);
        let again = worker.complete(&turn, &said).await.ok(200);
        assert_eq!(first.body, again.body);
        turn
    });
    let done = done.ok(200);
    for secret in [&turn.token, &worker.token] {
        assert!(!done.text.contains(secret.as_str()), "{}", done.text);
    }
    assert_eq!(done.body["summary"], "It is [REDACTED_SECRET].");
    assert_eq!(
        done.body["unresolved_requirements"],
        json!(["[REDACTED_SECRET] and [REDACTED_SECRET]"])
    );
    worker
        .post(HEARTBEAT, &json!({"turn_token": ""}))
        .await
        .expect(400, "invalid_request");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_asked_twice_in_one_product_is_the_later_one() {
    let app = app().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let run = started_bare(&client, "ferry-plan-0001").await;
    let body = go(1);
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), async {
        let turn = worker.claim().await;
        let said = json!({"questions": [
            {"question_id": "q", "prompt": "Which port?"},
            {"question_id": "r", "prompt": "Which day?"},
            {"question_id": "q", "prompt": "Which pier?"}]});
        worker.complete(&turn, &said).await.ok(200);
    });
    let asked = done.ok(200).body["pending_questions"].clone();
    assert_eq!(
        (&asked[0]["prompt"], &asked[1]["prompt"]),
        (&json!("Which pier?"), &json!("Which day?"))
    );
    assert_eq!(asked.as_array().unwrap().len(), 2);
    app.finish().await;
}
