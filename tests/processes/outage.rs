//! Servers outlive their database.

use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::harness::client::{Answer, Client, Keyed};
use crate::harness::database::Beside;
use crate::harness::process::pid;
use crate::harness::{Site, until};

const LIMIT: Duration = Duration::from_secs(40);

/// Starts runs one after the other until told to stop; each answer is a success, or typed and
/// retryable.
struct Light {
    stop: tokio::sync::watch::Sender<bool>,
    callers: Vec<tokio::task::JoinHandle<Vec<(Keyed, Answer)>>>,
}

impl Light {
    fn on(client: &Client, name: &str) -> Self {
        let stop = tokio::sync::watch::Sender::new(false);
        let callers = (0..4).map(|caller| {
            let (client, stopped, name) =
                (client.clone(), stop.subscribe(), format!("{name}-{caller}"));
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                for number in 0.. {
                    if *stopped.borrow() {
                        break;
                    }
                    let request = Keyed::start(&format!("{name}-{number:04}"), "List the ferries");
                    let answer = client.send(&request).await;
                    if answer.is_ok() {
                        acknowledged.push((request, answer));
                    } else {
                        refused(&answer);
                    }
                }
                acknowledged
            })
        });
        Self {
            callers: callers.collect(),
            stop,
        }
    }

    /// Everything that was acknowledged meanwhile is there.
    async fn off(self, client: &Client) -> usize {
        self.stop.send_replace(true);
        let mut count = 0;
        for caller in self.callers {
            for (request, answer) in caller.await.unwrap() {
                assert_eq!(client.send(&request).await.ok(201).text, answer.text);
                count += 1;
            }
        }
        count
    }
}

#[track_caller]
fn refused(answer: &Answer) {
    assert_eq!(answer.body["retryable"], true, "{}", answer.text);
    assert!(
        answer.status == 503 && !answer.header("retry-after").is_empty(),
        "{}",
        answer.text
    );
}

/// An ordinary start succeeds again without a hand.
async fn recovered(client: &Client, key: &str) {
    let request = Keyed::start(key, "List the ferries");
    until("starts succeed again", LIMIT, async || {
        let answer = client.send(&request).await;
        if !answer.is_ok() {
            refused(&answer);
        }
        answer.is_ok().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_outlives_its_backends_and_its_postmaster() {
    let site = Site::embedded();
    let mut server = site.start(0).await;
    let ana = site.caller("ana").await;
    let client = server.client(&ana);
    for (round, blow) in ["backends", "postmaster", "backends", "postmaster"]
        .iter()
        .enumerate()
    {
        let light = Light::on(&client, &format!("light-{round}"));
        recovered(&client, &format!("warming-{round}")).await;
        if *blow == "backends" {
            let mut beside = Beside::open(site.database()).await;
            let ended = beside
                .number("select count(pg_terminate_backend(pid)) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()")
                .await;
            assert!(ended > 0);
        } else {
            kill_process(postmaster(&site), Signal::KILL).unwrap();
        }
        client.get("/healthz").await.ok(200);
        recovered(&client, &format!("again-up-{round}")).await;
        assert!(light.off(&client).await > 0);
        assert!(server.is_running());
    }
    until("ready again", LIMIT, async || {
        (client.get("/readyz").await.status == 200).then_some(())
    })
    .await;
    Beside::open(site.database()).await.check().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_has_fallen_silent_is_a_typed_failure_in_bounded_time() {
    let site = Site::embedded();
    let server = site.start(0).await;
    let ana = site.caller("ana").await;
    let client = server.client(&ana);
    let run = client
        .send(&Keyed::start("before-it", "List the ferries"))
        .await
        .ok(201)
        .run_id();
    // Every process of the cluster stands still: connections stay open and nothing answers.
    let all = processes_of(postmaster(&site).as_raw_nonzero().get());
    for one in &all {
        kill_process(*one, Signal::STOP).unwrap();
    }
    client.get("/healthz").await.ok(200);
    let requests = (0..8).map(|number| {
        let (client, run) = (client.clone(), run.clone());
        tokio::spawn(async move {
            if number % 2 == 0 {
                client
                    .send(&Keyed::start(
                        &format!("silence-{number}"),
                        "List the ferries",
                    ))
                    .await
            } else {
                client.get(&format!("/api/v1/agent-runs/{run}")).await
            }
        })
    });
    let requests: Vec<_> = requests.collect();
    for request in requests {
        let answer = tokio::time::timeout(Duration::from_secs(30), request).await;
        refused(&answer.expect("an answer in bounded time").unwrap());
    }
    assert_eq!(client.get("/readyz").await.status, 503);
    for one in &all {
        kill_process(*one, Signal::CONT).unwrap();
    }
    recovered(&client, "after-it-00").await;
    assert_eq!(client.inspect(&run).await.version(), 1);
    server.stop().await;
}

fn postmaster(site: &Site) -> rustix::process::Pid {
    let file = std::fs::read_to_string(site.data_dir(0).join("pg/postmaster.pid")).unwrap();
    pid(file.lines().next().unwrap().parse().unwrap())
}

/// A process and its children, the parent first.
fn processes_of(parent: i32) -> Vec<rustix::process::Pid> {
    let children =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    let children = children
        .split_whitespace()
        .map(|id| pid(id.parse().unwrap()));
    std::iter::once(pid(parent.cast_unsigned()))
        .chain(children)
        .collect()
}
