//! Two servers on one data directory.

use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::harness::Site;
use crate::harness::client::Keyed;
use crate::harness::process::{Server, pid};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_is_told_who_is_there_and_may_follow_a_dead_one() {
    let site = Site::embedded();
    let server = site.start(0).await;
    let ana = site.caller("ana").await;
    let request = Keyed::start("kept-over-a-crash", "List the ferries");
    let started = server.client(&ana).send(&request).await.ok(201);
    let holder = server.pid().as_raw_nonzero().to_string();
    let refused = site.run(0, &["serve"], "").await.expect(3);
    assert!(
        refused.err.contains(&holder),
        "the holder is named: {}",
        refused.err
    );
    assert!(refused.err.contains("fix: "), "{}", refused.err);
    // The refused one has changed nothing for the first.
    assert_eq!(server.client(&ana).send(&request).await.text, started.text);

    let postmaster = std::fs::read_to_string(site.data_dir(0).join("pg/postmaster.pid")).unwrap();
    let postmaster = pid(postmaster.lines().next().unwrap().parse().unwrap());
    server.signal(Signal::STOP);
    kill_process(postmaster, Signal::KILL).unwrap();
    server.kill().await;
    let server = Server::spawn(site.command(0), site.log(0), Duration::from_secs(10)).await;
    let again = server.client(&ana).send(&request).await.ok(201);
    assert!(again.is_replay());
    assert_eq!(again.text, started.text);
    server.stop().await;
}
