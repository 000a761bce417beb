use std::time::Duration;

use futures_util::StreamExt;
use helix::testing::TestApp;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::seed::Seed;
use crate::harness::{Answer, Client, RUNS};

const CLIENTS: usize = 10_000;
const GROUP: usize = 200;
const AT_ONCE: usize = 64;
const LIMIT: Duration = Duration::from_secs(20);

/// One request as bytes: a start, a turn, a cancel or a read.
fn request(token: &str, run: &str, number: usize) -> Vec<u8> {
    let (path, body) = match number % 4 {
        0 => (RUNS.to_owned(), json!({"objective": "List"})),
        1 => (
            format!("{RUNS}/{run}/continue"),
            json!({"expected_version": 1, "instruction": "go"}),
        ),
        2 => (
            format!("{RUNS}/{run}/cancel"),
            json!({"expected_version": 9_999, "reason": "no"}),
        ),
        _ => (String::new(), json!(null)),
    };
    let head = if path.is_empty() {
        format!("GET {RUNS}/{run}/events?after_seq=0&wait_ms=0 HTTP/1.1\r\n")
    } else {
        format!(
            "POST {path} HTTP/1.1\r\nIdempotency-Key: hung-up-{number:06}\r\nContent-Length: {}\r\n",
            body.to_string().len()
        )
    };
    let tail = if path.is_empty() {
        String::new()
    } else {
        body.to_string()
    };
    format!("{head}Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n{tail}").into_bytes()
}

/// Sends a random part of a request and is gone, politely or not.
async fn hang_up(address: String, bytes: Vec<u8>, mut seed: Seed) {
    let mut line = TcpStream::connect(&address).await.unwrap();
    // Half of the requests are sent whole: their clients leave before the answer.
    let sent = if seed.below(2) == 0 {
        bytes.len()
    } else {
        seed.below(bytes.len())
    };
    // The server may have had enough first.
    let _refused = line.write_all(&bytes[..sent]).await;
    for _ in 0..seed.below(20) {
        tokio::task::yield_now().await;
    }
    if seed.below(2) == 0 {
        // A reset instead of a farewell.
        line.set_zero_linger().unwrap();
    }
    drop(line);
}

/// Waits until no turn of the run is under way.
async fn settled(client: &Client<'_>, run: &str) -> Answer {
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    loop {
        tick.tick().await;
        let seen = client.inspect(run).await.ok(200);
        if seen.body["lifecycle_status"] != "running" {
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_callers_that_hang_up_harm_nobody() {
    let mut seed = Seed::fresh();
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let mut runs = Vec::new();
    for number in 0..64 {
        runs.push(
            client
                .started(
                    &format!("hung-up-on-{number:03}"),
                    &json!({"objective": "List"}),
                )
                .await,
        );
    }
    let address = app.url("").trim_start_matches("http://").to_owned();
    for group in 0..CLIENTS / GROUP {
        let calls = (group * GROUP..(group + 1) * GROUP).map(|number| {
            let bytes = request(&client.token, &runs[number % runs.len()], number);
            hang_up(address.clone(), bytes, seed.fork())
        });
        let calls = futures_util::stream::iter(calls).buffer_unordered(AT_ONCE);
        calls.collect::<Vec<()>>().await;
        // Those who stay are served, and the crowd never outruns the server.
        client.inspect(&runs[0]).await.ok(200);
    }
    for number in 0..1_000 {
        let key = format!("afterwards-{number:04}");
        client
            .start(&key, &json!({"objective": "List"}))
            .await
            .ok(201);
    }
    // Every turn that was claimed has been executed: nothing waits for its lease.
    for run in &runs {
        let ended = settled(&client, run);
        let ended = tokio::time::timeout(LIMIT, ended)
            .await
            .expect("no turn is stuck");
        let names = client.event_names(run).await;
        let turns = names
            .iter()
            .filter(|name| *name == "continuation_received")
            .count();
        assert_eq!(ended.body["budget"]["steps_used"], turns);
        assert!(turns <= 1, "one version, one turn: {names:?}");
    }
    // A key that was hung up on has one effect, whoever asks again.
    for number in (0..400).step_by(4) {
        let key = format!("hung-up-{number:06}");
        let first = client
            .start(&key, &json!({"objective": "List"}))
            .await
            .ok(201);
        let second = client
            .start(&key, &json!({"objective": "List"}))
            .await
            .ok(201);
        assert_eq!(
            (
                second.text,
                second.headers["idempotency-replayed"].to_str().unwrap()
            ),
            (first.text, "true")
        );
    }
    app.finish().await;
}
