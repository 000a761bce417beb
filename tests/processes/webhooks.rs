//! Webhooks of servers that are killed, and what is left of them on the disk.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::client::{Client, Keyed};
use crate::harness::database::Beside;
use crate::harness::{Site, until};

const LIMIT: Duration = Duration::from_secs(30);
const MARK: &str = "Sanderlingaddress";

/// One request, read to its end, its answer still owed.
struct Owed {
    stream: TcpStream,
    id: String,
    text: String,
}

struct Receiver {
    listener: TcpListener,
    url: String,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self {
            listener,
            url: format!("http://{address}/in?token={MARK}"),
        }
    }

    async fn next(&self) -> Owed {
        let accepted = tokio::time::timeout(LIMIT, self.listener.accept()).await;
        let (mut stream, _) = accepted.expect("a request comes").unwrap();
        let mut bytes = Vec::new();
        loop {
            let mut part = [0; 4_096];
            let read = stream.read(&mut part).await.unwrap();
            assert!(read > 0, "a whole request comes");
            bytes.extend_from_slice(&part[..read]);
            let text = String::from_utf8(bytes.clone()).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let header = |name: &str| {
                let mut lines = head.lines();
                lines
                    .find_map(|line| line.strip_prefix(name))
                    .map(str::to_owned)
            };
            let length: usize = header("content-length: ").unwrap().parse().unwrap();
            if body.len() == length {
                let (id, text) = (header("webhook-id: ").unwrap(), body.to_owned());
                return Owed { stream, id, text };
            }
        }
    }
}

impl Owed {
    async fn accept(mut self) -> String {
        let answer = b"HTTP/1.1 204 Taken\r\n\r\n";
        self.stream.write_all(answer).await.unwrap();
        self.id
    }
}

/// An endpoint for everything, made as the operator makes it.
async fn endpoint(site: &Site, url: &str) -> Value {
    let events = "run.completed,run.failed,run.budget_exhausted,run.cancelled,run.needs_input,\
                  run.blocked,run.needs_more_evidence,run.conflict_detected";
    let create = [
        "webhook", "create", "--url", url, "--events", events, "--json",
    ];
    site.run(0, &create, "").await.object()
}

async fn deliveries(site: &Site) -> Vec<Value> {
    let ended = site.run(0, &["webhook", "deliveries", "--json"], "").await;
    let ended = ended.expect(0);
    let object = |line: &str| serde_json::from_str(line).unwrap();
    ended.out.lines().map(object).collect()
}

async fn cancelled(client: &Client, key: &str) -> String {
    let run = client
        .send(&Keyed::start(key, "List the ferries"))
        .await
        .ok(201)
        .run_id();
    let cancel = Keyed::cancel(&run, &format!("{key}-end"), 1);
    client.send(&cancel).await.ok(200);
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_server_is_killed_before_the_answer_is_sent_again_with_its_id() {
    let site = Site::shared_database().await;
    let site = site.set("HELIX_WEBHOOK_ALLOW_PRIVATE", "1");
    let server = site.start(0).await;
    let ana = site.caller("ana").await;
    let receiver = Receiver::start().await;
    endpoint(&site, &receiver.url).await;
    let run = cancelled(&server.client(&ana), "killed-0001").await;
    let first = receiver.next().await;
    server.kill().await;
    // Two take its place; the lease of the dead one runs out for both.
    let (one, two) = (site.start(0).await, site.start(1).await);
    let mut beside = Beside::open(site.database()).await;
    beside.advance(Duration::from_secs(31)).await;
    let again = receiver.next().await;
    assert_eq!((&first.id, &first.text), (&again.id, &again.text));
    let told: Value = serde_json::from_str(&again.text).unwrap();
    assert_eq!(told["data"]["run_id"], json!(run));
    again.accept().await;
    let sent = until("the message is delivered", LIMIT, async || {
        let sent = deliveries(&site).await;
        (sent[0]["state"] == "delivered").then_some(sent)
    })
    .await;
    assert_eq!(sent.len(), 1);
    let attempts = sent[0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    assert!(attempts[0]["status"].is_null() && attempts[1]["status"] == 204);
    one.stop().await;
    two.stop().await;
    beside.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_made_for_every_run_although_the_server_is_killed_at_each() {
    let site = Site::shared_database().await;
    let site = site.set("HELIX_WEBHOOK_ALLOW_PRIVATE", "1");
    let receiver = Receiver::start().await;
    site.start(0).await.stop().await;
    let ana = site.caller("ana").await;
    endpoint(&site, &receiver.url).await;
    let mut runs = BTreeSet::new();
    for number in 0..4 {
        let server = site.start(0).await;
        runs.insert(cancelled(&server.client(&ana), &format!("killed-{number:04}")).await);
        server.kill().await;
    }
    let mut beside = Beside::open(site.database()).await;
    beside.advance(Duration::from_secs(31)).await;
    let server = site.start(0).await;
    let mut told = BTreeSet::new();
    while told.len() < runs.len() {
        let owed = receiver.next().await;
        let body: Value = serde_json::from_str(&owed.text).unwrap();
        told.insert(body["data"]["run_id"].as_str().unwrap().to_owned());
        // Whoever sent it may have been killed since.
        let Owed { mut stream, .. } = owed;
        let _gone = stream.write_all(b"HTTP/1.1 204 Taken\r\n\r\n").await;
    }
    assert_eq!(told, runs);
    until("everything is delivered", LIMIT, async || {
        let sent = deliveries(&site).await;
        let done = sent.iter().all(|line| line["state"] == "delivered");
        (done && sent.len() == runs.len()).then_some(())
    })
    .await;
    server.stop().await;
    beside.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_the_address_nor_a_secret_of_an_endpoint_is_in_any_file() {
    let site = Site::embedded()
        .set("HELIX_WEBHOOK_ALLOW_PRIVATE", "1")
        .set("HELIX_LOG_LEVEL", "trace");
    let server = site.start(0).await;
    let ana = site.caller("ana").await;
    let receiver = Receiver::start().await;
    let made = endpoint(&site, &receiver.url).await;
    let rotate = [
        "webhook",
        "rotate",
        made["webhook_id"].as_str().unwrap(),
        "--json",
    ];
    let rotated = site.run(0, &rotate, "").await.object();
    cancelled(&server.client(&ana), "marked-0001").await;
    receiver.next().await.accept().await;
    Beside::open(site.database()).await.run("checkpoint").await;
    server.stop().await;
    let mut marks = vec![MARK.as_bytes().to_vec()];
    for object in [&made, &rotated] {
        let secret = object["secret"].as_str().unwrap();
        let bare = secret.strip_prefix("whsec_").unwrap();
        marks.push(bare.as_bytes().to_vec());
        marks.push(STANDARD.decode(bare).unwrap());
    }
    let mut files = 0;
    for entry in walkdir::WalkDir::new(site.path()) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            files += 1;
            let bytes = std::fs::read(entry.path()).unwrap();
            for mark in &marks {
                let found = bytes.windows(mark.len()).any(|part| part == mark);
                assert!(!found, "{}", entry.path().display());
            }
        }
    }
    assert!(files > 100, "the cluster's files were read");
}
