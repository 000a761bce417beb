use std::time::Duration;

use futures_util::future::join_all;
use helix::testing::TestApp;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::beside::Beside;
use crate::harness::Client;

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seven_hundred_slow_and_silent_callers_hold_up_nobody() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let address = app.url("").trim_start_matches("http://").to_owned();
    let lines = join_all((0..700).map(|_| TcpStream::connect(&address))).await;
    let mut lines: Vec<TcpStream> = lines.into_iter().map(Result::unwrap).collect();
    let head = b"POST /api/v1/agent-runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaa";
    let mut second = tokio::time::interval(Duration::from_secs(1));
    for (at, byte) in head.iter().take(8).enumerate() {
        second.tick().await;
        for line in lines.iter_mut().take(500) {
            // The server may cut off whoever is too slow.
            let _cut = line.write_all(std::slice::from_ref(byte)).await;
        }
        let asked = std::time::Instant::now();
        let healthy = client.get("/healthz").await.ok(200);
        assert_eq!(healthy.body["status"], "ok");
        client
            .start(&format!("in-a-crowd-{at}"), &json!({"objective": "List"}))
            .await
            .ok(201);
        assert!(
            asked.elapsed() < Duration::from_secs(5),
            "answered in {:?}",
            asked.elapsed()
        );
    }
    // Whoever never finished its head has been cut off by now, or is soon.
    for line in &lines {
        tokio::time::timeout(LIMIT, closed(line))
            .await
            .expect("a silent caller is cut off");
    }
    app.finish().await;
}

/// Waits until the server has closed its side.
async fn closed(line: &TcpStream) {
    let mut buffer = [0; 1 << 10];
    loop {
        if line.readable().await.is_err() {
            return;
        }
        match line.try_read(&mut buffer) {
            Ok(0) => return,
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
            Ok(_) | Err(_) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exhausted_pool_is_a_typed_503_and_all_is_normal_after() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .started("before-the-crowd", &json!({"objective": "List"}))
        .await;
    let mut beside = Beside::open(&app).await;
    // Every read of a caller's row waits, each on a connection of the pool.
    beside
        .run("begin; lock table access.ledger in access exclusive mode")
        .await;
    let (answers, ()) = tokio::join!(
        join_all((0..300).map(|number| {
            let (client, run) = (client.clone(), run.clone());
            async move {
                if number % 2 == 0 {
                    client
                        .start(
                            &format!("in-the-crowd-{number}"),
                            &json!({"objective": "List"}),
                        )
                        .await
                } else {
                    client.inspect(&run).await
                }
            }
        })),
        async {
            client.get("/healthz").await.ok(200);
        }
    );
    for answer in &answers {
        let answer = answer.clone().expect(503, "internal_error");
        assert_eq!(answer.body["retryable"], true);
        assert!(!answer.header("retry-after").is_empty());
    }
    beside.run("rollback").await;
    let mut tick = tokio::time::interval(Duration::from_millis(50));
    let recovered = async {
        loop {
            tick.tick().await;
            if client.inspect(&run).await.status == 200 {
                return;
            }
        }
    };
    tokio::time::timeout(LIMIT, recovered)
        .await
        .expect("reads succeed again");
    client
        .start("after-the-crowd", &json!({"objective": "List"}))
        .await
        .ok(201);
    app.finish().await;
}
