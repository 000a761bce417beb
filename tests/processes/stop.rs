//! SIGTERM under load: what was promised is kept, and the process ends well.

use std::time::Duration;

use rustix::process::Signal;

use crate::harness::Site;
use crate::harness::client::Keyed;
use crate::harness::database::Beside;
use crate::harness::seed::Seed;
use crate::storm::Storm;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_stops_under_sixteen_callers_keep_every_acknowledged_effect() {
    let mut seed = Seed::fresh();
    let site = Site::shared_database().await;
    let mut server = site.start(0).await;
    let ana = site.caller("ana").await;
    let mut runs = 0;
    for round in 0..20 {
        let client = server.client(&ana);
        let storm = Storm::begin(&client, round, 1 + seed.below(100), &mut seed);
        storm.reached().await;
        server.signal(Signal::TERM);
        let status = server.ended(Duration::from_secs(15)).await;
        assert_eq!(status.code(), Some(0), "round {round}");
        assert!(
            client.try_get("/healthz").await.is_err(),
            "nobody listens any more"
        );
        let done = storm.ended().await;
        server = site.start(0).await;
        runs += done.retried(&server.client(&ana)).await.len();
        let mut beside = Beside::open(site.database()).await;
        assert_eq!(beside.runs().await, i64::try_from(runs).unwrap());
        beside.check().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_does_not_wait_for_a_turn_that_does_not_end() {
    let site = Site::shared_database().await;
    let mut server = site.start(0).await;
    let ana = site.caller("ana").await;
    let client = server.client(&ana);
    let run = client
        .send(&Keyed::start("cut-short", "List the ferries"))
        .await
        .ok(201)
        .run_id();
    let mut beside = Beside::open(site.database()).await;
    beside
        .close_gate("run_waiting,run_blocked,run_completed,run_failed,input_requested")
        .await;
    let turn = Keyed::continue_run(&run, "a-turn-without-end", 1);
    let sent = tokio::spawn({
        let (client, turn) = (client.clone(), turn.clone());
        async move { client.try_send(&turn).await }
    });
    beside.held().await;
    server.signal(Signal::TERM);
    let status = server.ended(Duration::from_secs(30)).await;
    assert_eq!(status.code(), Some(0));
    let answered = sent.await.unwrap().is_ok_and(|answer| answer.is_ok());
    assert!(!answered, "a turn that was not stored is not acknowledged");
    beside.break_gate().await;
    let server = site.start(0).await;
    let client = server.client(&ana);
    client
        .send(&turn)
        .await
        .expect(409, "idempotency_in_progress");
    beside.advance(Duration::from_secs(211)).await;
    crate::harness::until("the run waits again", Duration::from_secs(20), async || {
        (client.inspect(&run).await.body["lifecycle_status"] == "waiting").then_some(())
    })
    .await;
    beside.check().await;
}
