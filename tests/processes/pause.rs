//! Servers that die or sleep in the middle of a turn.

use std::time::Duration;

use rustix::process::Signal;

use crate::harness::client::{Client, Keyed};
use crate::harness::database::Beside;
use crate::harness::{Site, until};

/// Whatever a turn of the built-in solver ends with.
const RESULTS: &str = "evidence_reentered,terminal_authority_evaluated,run_waiting,run_blocked,run_completed,run_failed,input_requested,budget_exhausted";
const SECOND: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(20);

async fn short_turns() -> Site {
    Site::shared_database()
        .await
        .set("HELIX_AGENT_TURN_TIMEOUT_MS", "1000")
}

/// A run whose first turn is claimed and whose server is killed before the turn is stored.
async fn crashed_turn(
    site: &Site,
    beside: &mut Beside,
    token: &crate::harness::Caller,
    key: &str,
) -> (String, Keyed) {
    let server = site.start(0).await;
    let client = server.client(token);
    let run = client
        .send(&Keyed::start(key, "List the ferries"))
        .await
        .ok(201)
        .run_id();
    beside.close_gate(RESULTS).await;
    let turn = Keyed::continue_run(&run, &format!("{key}-turn"), 1);
    let sent = tokio::spawn({
        let turn = turn.clone();
        async move { client.try_send(&turn).await }
    });
    beside.held().await;
    server.kill().await;
    beside.break_gate().await;
    assert!(sent.await.unwrap().is_err(), "nobody was left to answer");
    (run, turn)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_killed_in_the_middle_is_taken_over_by_the_next_continue() {
    let site = short_turns().await;
    site.start(0).await.stop().await;
    let ana = site.caller("ana").await;
    let mut beside = Beside::open(site.database()).await;
    let (run, turn) = crashed_turn(&site, &mut beside, &ana, "taken-over").await;
    let server = site.start(0).await;
    let client = server.client(&ana);
    let next = Keyed::continue_run(&run, "the-next-turn", 2);
    client.send(&next).await.expect(409, "run_busy");
    client
        .send(&turn)
        .await
        .expect(409, "idempotency_in_progress");
    beside.advance(62 * SECOND).await;
    let taken = client
        .send(&Keyed {
            key: "the-next-turn-2".to_owned(),
            ..next
        })
        .await
        .ok(200);
    assert_eq!(taken.body["budget"]["steps_used"], 2);
    let names = client.event_names(&run).await;
    assert_eq!(
        names[..4],
        [
            "run_started",
            "continuation_received",
            "runtime_recovered",
            "continuation_received"
        ]
    );
    assert_ne!(taken.body["lifecycle_status"], "running");
    unknown_after_its_lease(&client, &mut beside, &turn, &run).await;
    beside.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_killed_in_the_middle_is_freed_by_itself() {
    let site = short_turns().await;
    site.start(0).await.stop().await;
    let ana = site.caller("ana").await;
    let mut beside = Beside::open(site.database()).await;
    let (run, turn) = crashed_turn(&site, &mut beside, &ana, "set-free").await;
    let server = site.start(0).await;
    let client = server.client(&ana);
    assert_eq!(
        client.inspect(&run).await.body["lifecycle_status"],
        "running"
    );
    beside.advance(95 * SECOND).await;
    let freed = until("the run waits again", LIMIT, async || {
        let seen = client.inspect(&run).await;
        (seen.body["lifecycle_status"] == "waiting").then_some(seen)
    })
    .await;
    assert_eq!(
        (freed.version(), &freed.body["budget"]["steps_used"]),
        (3, &1.into())
    );
    assert_eq!(
        client.event_names(&run).await.last().unwrap(),
        "runtime_recovered"
    );
    unknown_after_its_lease(&client, &mut beside, &turn, &run).await;
    client
        .send(&Keyed::continue_run(&run, "on-it-goes", 3))
        .await
        .ok(200);
    beside.check().await;
}

async fn unknown_after_its_lease(client: &Client, beside: &mut Beside, turn: &Keyed, run: &str) {
    beside.advance(121 * SECOND).await;
    let unknown = client.send(turn).await.expect(409, "outcome_unknown");
    assert_eq!(unknown.body["details"]["run_id"], run);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_slept_through_its_claim_cannot_finish() {
    let site = short_turns().await;
    let (sleeper, other) = (site.start(0).await, site.start(1).await);
    let ana = site.caller("ana").await;
    let (asleep, awake) = (sleeper.client(&ana), other.client(&ana));
    let run = asleep
        .send(&Keyed::start("a-long-sleep", "List the ferries"))
        .await
        .ok(201)
        .run_id();
    let mut beside = Beside::open(site.database()).await;
    beside.close_gate("continuation_received").await;
    let first = tokio::spawn({
        let (asleep, turn) = (
            asleep.clone(),
            Keyed::continue_run(&run, "the-sleepers-turn", 1),
        );
        async move { asleep.send(&turn).await }
    });
    beside.held().await;
    // The claim is committed while its owner sleeps.
    sleeper.signal(Signal::STOP);
    beside.open_gate().await;
    until("the claim is committed", LIMIT, async || {
        (awake.inspect(&run).await.version() == 2).then_some(())
    })
    .await;
    awake
        .send(&Keyed::continue_run(&run, "too-early-turn", 2))
        .await
        .expect(409, "run_busy");
    beside.advance(62 * SECOND).await;
    let second = awake
        .send(&Keyed::continue_run(&run, "the-other-turn", 2))
        .await
        .ok(200);
    let before = awake.event_names(&run).await;
    sleeper.signal(Signal::CONT);
    let lost = first.await.unwrap().expect(409, "outcome_unknown");
    assert_eq!(lost.body["details"]["run_id"], run);
    assert_eq!(lost.body["details"]["claimed_version"], 2);
    for client in [&asleep, &awake] {
        assert_eq!(client.event_names(&run).await, before);
        assert_eq!(client.inspect(&run).await.body, second.body);
    }
    beside.check().await;
}
