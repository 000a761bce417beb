//! Events by page and by long poll.

use std::time::Duration;

use helix::testing::{Script, TestApp};
use serde_json::{Value, json};

use crate::harness::{Answer, Client, RUNS};

/// A run that took one turn: five events, version 3.
async fn completed(app: &TestApp, client: &Client<'_>) -> String {
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    app.script.answer(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    run
}

fn seqs(page: &Answer) -> Vec<u64> {
    let events = page.body["events"].as_array().expect("events");
    events
        .iter()
        .map(|event| event["seq"].as_u64().expect("a place"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_exact_at_both_ends() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = completed(&app, &client).await;
    let page = async |query: &str| client.get(&format!("{RUNS}/{run}/events{query}")).await;
    for (query, expected, next, more) in [
        ("?limit=3", vec![1, 2, 3], 3, true),
        ("?limit=3&after_seq=3", vec![4, 5], 5, false),
        ("?limit=5", vec![1, 2, 3, 4, 5], 5, false),
        ("?limit=4", vec![1, 2, 3, 4], 4, true),
        ("", vec![1, 2, 3, 4, 5], 5, false),
        ("?after_seq=5", vec![], 5, false),
        ("?after_seq=999", vec![], 999, false),
        (
            "?after_seq=0&limit=200&wait_ms=25000",
            vec![1, 2, 3, 4, 5],
            5,
            false,
        ),
        ("?after_seq=4&wait_ms=0", vec![5], 5, false),
    ] {
        let page = page(query).await.ok(200);
        assert_eq!(seqs(&page), expected, "{query}");
        assert_eq!(page.body["next_after_seq"], next, "{query}");
        assert_eq!(page.body["has_more"], more, "{query}");
        let keys: Vec<&String> = page.body.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            ["events", "has_more", "next_after_seq", "run_id", "schema"]
        );
        assert_eq!(page.body["schema"], "helix.agent_run.events_page.v1");
        assert_eq!(page.header("etag"), "");
    }
    for query in [
        "limit=0",
        "limit=201",
        "limit=ten",
        "limit=",
        "limit=+3",
        "limit=3&limit=3",
        "after_seq=-1",
        "after_seq=1.5",
        "after_seq=99999999999999999999",
        "after_seq=%31%00",
        "cursor=3",
        "after_seq=0&order=desc",
        "wait_ms=25001",
        "wait_ms=-1",
        "wait_ms=1s",
        "After_Seq=1",
        "after_seq[]=1",
        "=1",
    ] {
        let refused = page(&format!("?{query}"))
            .await
            .expect(400, "invalid_request");
        assert!(
            refused.body["details"]["issues"][0]["path"].is_array(),
            "{query}"
        );
    }
    let many: Vec<String> = (0..10_000).map(|n| format!("p{n}=1")).collect();
    page(&format!("?{}", many[..200].join("&")))
        .await
        .expect(400, "invalid_request");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_has_the_fields_of_its_kind_and_those_of_a_step_one_time() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = completed(&app, &client).await;
    let page = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
    let events = page.body["events"].as_array().unwrap();
    let operation = &events[1]["payload"]["operation_ref"];
    assert!(operation.as_str().unwrap().starts_with("op_"));
    let expected = [
        (
            "run_started",
            json!({
                "version": 1, "lifecycle_status": "waiting", "completion_status": "needs_more_evidence",
                "terminal_authority_status": "not_evaluated",
            }),
        ),
        (
            "continuation_received",
            json!({"operation_ref": operation, "version": 2, "steps_used": 1}),
        ),
        (
            "evidence_reentered",
            json!({
                "version": 3, "observation_refs": [], "evidence_refs": ["evidence:test:1"],
                "receipt_refs": [], "evidence_is_terminal_answer": false,
            }),
        ),
        (
            "terminal_authority_evaluated",
            json!({
                "version": 3, "terminal_authority_status": "authorized", "terminal_product_projected": true,
            }),
        ),
        (
            "run_completed",
            json!({
                "version": 3, "lifecycle_status": "completed", "completion_status": "completed",
                "failure_code": null,
            }),
        ),
    ];
    for ((event, (kind, payload)), seq) in events.iter().zip(expected).zip(1..) {
        let id = event["event_id"].as_str().unwrap();
        assert!(id.starts_with("evt_"));
        let whole = json!({
            "schema": "helix.agent_run.event.v1", "event_id": id, "run_id": run, "seq": seq,
            "event_type": kind, "payload": payload, "created_at": event["created_at"],
            "answer_authority": false, "assistant_answer": false, "terminal_eligible": false,
            "raw_content_included": false,
        });
        assert_eq!(*event, whole);
    }
    assert_eq!(events.len(), 5);
    assert_eq!(events[2]["created_at"], events[4]["created_at"]);
    let shown = client.inspect(&run).await.ok(200);
    assert_eq!(shown.body["updated_at"], events[4]["created_at"]);
    assert_eq!(shown.body["completed_at"], events[4]["created_at"]);
    let again = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
    assert_eq!(again.body, page.body);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_wakes_with_the_event_it_waited_for() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    let path = format!("{RUNS}/{run}/events?after_seq=1&wait_ms=25000");
    let waiting = std::time::Instant::now();
    let other = client.at(1);
    let (here, there, ()) = tokio::join!(client.get(&path), other.get(&path), async {
        // Both polls are open once their requests were answered for by a later one.
        client.inspect(&run).await.ok(200);
        let cancel = json!({"expected_version": 1});
        client
            .cancel(&run, "ferry-stop-0001", &cancel)
            .await
            .ok(200);
    });
    for page in [here.ok(200), there.ok(200)] {
        assert_eq!(seqs(&page), [2]);
    }
    assert!(
        waiting.elapsed() < Duration::from_secs(10),
        "{:?}",
        waiting.elapsed()
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_ends_empty_at_its_time_and_refused_when_its_caller_is_unlinked() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    let before = std::time::Instant::now();
    let path = |wait: u64| format!("{RUNS}/{run}/events?after_seq=1&wait_ms={wait}");
    let page = client.get(&path(300)).await.ok(200);
    assert_eq!(
        (seqs(&page), &page.body["next_after_seq"]),
        (vec![], &json!(1))
    );
    assert!(before.elapsed() >= Duration::from_millis(300));
    let (waiting, longest) = (std::time::Instant::now(), path(25_000));
    let (answer, ()) = tokio::join!(client.get(&longest), app.unlink(&ana));
    answer.expect(403, "account_not_linked");
    assert!(
        waiting.elapsed() < Duration::from_secs(10),
        "{:?}",
        waiting.elapsed()
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_pages_while_a_run_grows_misses_nothing() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    let (seen, ()) = tokio::join!(
        async {
            let (mut seen, mut after): (Vec<Value>, u64) = (Vec::new(), 0);
            while seen
                .last()
                .is_none_or(|last| last["event_type"] != "run_cancelled")
            {
                let query = format!("after_seq={after}&limit=2&wait_ms=25000");
                let page = client
                    .get(&format!("{RUNS}/{run}/events?{query}"))
                    .await
                    .ok(200);
                seen.extend(page.body["events"].as_array().unwrap().clone());
                after = page.body["next_after_seq"].as_u64().unwrap();
            }
            seen
        },
        async {
            let mut version = 1;
            for turn in 0..8 {
                let body = json!({"expected_version": version, "instruction": "go"});
                let key = format!("ferry-turn-{turn:04}");
                version = client
                    .continue_run(&run, &key, &body)
                    .await
                    .ok(200)
                    .version();
            }
            let body = json!({"expected_version": version});
            client.cancel(&run, "ferry-stop-0001", &body).await.ok(200);
        }
    );
    let all = client
        .get(&format!("{RUNS}/{run}/events?limit=200"))
        .await
        .ok(200);
    assert_eq!(Value::from(seen), all.body["events"]);
    app.finish().await;
}
