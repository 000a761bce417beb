use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use helix::testing::TestApp;
use serde_json::json;

use super::seed::Seed;
use crate::harness::{Client, RUNS};

const STEPS: u64 = 40;

/// Continues a run until its steps are spent; other writers of the run move it all the time.
async fn write(client: &Client<'_>, run: &str, writer: usize) {
    for number in 0.. {
        let seen = client.inspect(run).await.ok(200);
        let spent = seen.body["budget"]["steps_used"].as_u64() == Some(STEPS);
        if spent || seen.body["lifecycle_status"] == "cancelled" {
            return;
        }
        let body = json!({"expected_version": seen.version(), "instruction": "go"});
        let answer = client
            .continue_run(run, &format!("writer-{writer}-{number:04}"), &body)
            .await;
        let lost = ["version_conflict", "run_busy", "run_not_resumable"].contains(&answer.code());
        assert!(answer.status == 200 || lost, "{}", answer.text);
        if answer.code() == "run_not_resumable" {
            return;
        }
    }
}

/// Ends a run that other writers may still move.
async fn end(client: &Client<'_>, run: &str) {
    for number in 0.. {
        let version = client.inspect(run).await.ok(200).version();
        let cancel = json!({"expected_version": version, "reason": "all written"});
        let ended = client
            .cancel(run, &format!("cancel-at-the-end-{number}"), &cancel)
            .await;
        if ended.code() != "version_conflict" {
            assert!(
                ended.status == 200 || ended.code() == "run_not_resumable",
                "{}",
                ended.text
            );
            return;
        }
    }
}

/// Polls page by page until the run has ended; every event comes once, in order.
async fn poll(client: &Client<'_>, run: &str, mut seed: Seed) -> u64 {
    let mut after = 0;
    loop {
        let (limit, wait) = (1 + seed.below(7), seed.below(2) * 500);
        let path = format!("{RUNS}/{run}/events?after_seq={after}&limit={limit}&wait_ms={wait}");
        let page = client.get(&path).await.ok(200).body;
        for event in page["events"].as_array().unwrap() {
            assert_eq!(event["seq"], after + 1, "the next event and no other");
            after += 1;
            if ends(event["event_type"].as_str().unwrap()) {
                return after;
            }
        }
        assert_eq!(page["next_after_seq"], after);
    }
}

/// Follows the event stream to its end, reconnecting where it was cut at random.
async fn follow(client: &Client<'_>, run: &str, mut seed: Seed) -> u64 {
    let mut after: u64 = 0;
    loop {
        let request = client
            .request(reqwest::Method::GET, &format!("{RUNS}/{run}/events"))
            .header("Accept", "text/event-stream")
            .header("Last-Event-ID", after.to_string());
        let response = request.send().await.unwrap();
        if response.status().as_u16() == 204 {
            // Cut between the last event and the word that it was the last.
            return after;
        }
        assert_eq!(response.status().as_u16(), 200);
        let mut body = response.bytes_stream();
        let (mut text, mut left) = (String::new(), 1 + seed.below(40));
        while let Some(piece) = body.next().await {
            text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
            while let Some((message, rest)) = text.split_once("\n\n") {
                let field = |name: &str| {
                    message
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .map(str::to_owned)
                };
                if let Some(id) = field("id: ") {
                    assert_eq!(
                        id.parse::<u64>().unwrap(),
                        after + 1,
                        "the next event and no other"
                    );
                    after += 1;
                    left = left.saturating_sub(1);
                } else if field("event: ").is_some_and(|name| name == "closed") {
                    return after;
                }
                text = rest.to_owned();
            }
            if left == 0 {
                break;
            }
        }
    }
}

fn ends(name: &str) -> bool {
    matches!(
        name,
        "run_completed" | "run_failed" | "budget_exhausted" | "run_cancelled"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_every_event_once_and_in_order_while_thirty_two_write() {
    let mut seed = Seed::fresh();
    let mut app = TestApp::start().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let mut runs = Vec::new();
    for number in 0..8 {
        let body = json!({"objective": "List", "budget": {"max_steps": STEPS}});
        runs.push(
            client
                .started(&format!("written-by-many-{number}"), &body)
                .await,
        );
    }
    let writers = (0..32).map(|writer| {
        let (client, run) = (client.at(writer % 2), runs[writer % 8].clone());
        async move {
            write(&client, &run, writer).await;
            if writer < 8 {
                end(&client, &run).await;
            }
        }
    });
    // Each run is polled through one server and followed through the other.
    let polls = runs.iter().enumerate().map(|(number, run)| {
        let (client, seed) = (client.at(number % 2), seed.fork());
        async move { poll(&client, run, seed).await }
    });
    let polls: Vec<_> = polls.collect();
    let follows = runs.iter().enumerate().map(|(number, run)| {
        let (client, seed) = (client.at((number + 1) % 2), seed.fork());
        async move { follow(&client, run, seed).await }
    });
    let follows: Vec<_> = follows.collect();
    let all = async { tokio::join!(join_all(writers), join_all(polls), join_all(follows)) };
    let (_, polled, followed) = tokio::time::timeout(Duration::from_secs(120), all)
        .await
        .expect("readers reach the end");
    assert_eq!(polled, followed);
    assert!(polled.iter().all(|seen| *seen > STEPS), "{polled:?}");
    app.finish().await;
}
