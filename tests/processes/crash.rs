//! kill -9 at random moments on a durable cluster.

use std::collections::BTreeMap;

use helix_postgres::Cluster;
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::harness::client::{Client, RUNS};
use crate::harness::database::Beside;
use crate::harness::process::{Server, pid};
use crate::harness::seed::Seed;
use crate::harness::{Caller, Site};
use crate::storm::Storm;

const ROUNDS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_under_sixteen_callers_lose_nothing_and_double_nothing() {
    let mut seed = Seed::fresh();
    let site = Site::embedded();
    let mut server = site.start(0).await;
    let ana = site.caller("ana").await;
    let mut runs = BTreeMap::new();
    for round in 0..ROUNDS {
        let client = server.client(&ana);
        let storm = Storm::begin(&client, round, 1 + seed.below(60), &mut seed);
        storm.reached().await;
        kill(&site, server, round).await;
        let done = storm.ended().await;
        server = site.start(0).await;
        let client = server.client(&ana);
        assert!(done.acknowledged() > 0);
        let again = done.retried(&client).await;
        let some = again.values().nth(seed.below(again.len())).unwrap();
        prove(&site, &client, some).await;
        runs.extend(again);
        let mut beside = Beside::open(site.database()).await;
        assert_eq!(
            beside.runs().await,
            i64::try_from(runs.len()).unwrap(),
            "a run for each start key"
        );
        beside.check().await;
    }
    agree(&site, &ana, &server).await;
    server.stop().await;
}

/// In every third round its Postgres dies with it, and before it.
async fn kill(site: &Site, server: Server, round: usize) {
    if round % 3 == 2 {
        let postmaster =
            std::fs::read_to_string(site.data_dir(0).join("pg/postmaster.pid")).unwrap();
        let postmaster = pid(postmaster.lines().next().unwrap().parse().unwrap());
        server.signal(Signal::STOP);
        kill_process(postmaster, Signal::KILL).unwrap();
    }
    server.kill().await;
}

/// A run's log, taken home, verifies; its stored state is what its events say.
async fn prove(site: &Site, client: &Client, run: &str) {
    let log = client.get(&format!("{RUNS}/{run}/log")).await.ok(200).text;
    std::fs::write(site.path().join("run.ndjson"), &log).unwrap();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    for (seq, line) in lines.iter().enumerate().skip(1) {
        assert_eq!(line["seq"], seq, "no gap");
    }
    assert_eq!(lines[0]["head"]["seq"], lines.len() - 1);
    site.run(0, &["verify", "run.ndjson"], "").await.expect(0);
    site.run(0, &["replay", run], "").await.expect(0);
}

/// Views equal their rebuild, read by a second process beside the server.
async fn agree(site: &Site, ana: &Caller, server: &Server) {
    let ended = site
        .run(0, &["projections", "rebuild", "--check", "--json"], "")
        .await
        .expect(0);
    assert!(!ended.out.is_empty());
    assert!(Cluster::attach(&site.data_dir(0)).unwrap().is_some());
    server.client(ana).get(RUNS).await.ok(200);
}
