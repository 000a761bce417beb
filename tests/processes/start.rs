//! One key, one effect: starts that race, and a start whose server dies before it answers.

use futures_util::future::join_all;

use crate::harness::Site;
use crate::harness::client::Keyed;
use crate::harness::database::Beside;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_identical_starts_over_two_servers_have_one_effect() {
    let site = Site::shared_database().await;
    let servers = [site.start(0).await, site.start(1).await];
    let ana = site.caller("ana").await;
    let clients = servers.each_ref().map(|server| server.client(&ana));
    let mut beside = Beside::open(site.database()).await;
    beside.close_gate("run_started").await;
    let request = Keyed::start("one-key-for-all", "List the ferries");
    let sent = (0..64).map(|number| {
        let (client, request) = (clients[number % 2].clone(), request.clone());
        tokio::spawn(async move { client.send(&request).await })
    });
    let sent: Vec<_> = sent.collect();
    // One server's start stands before its commit and the other's waits behind it.
    beside.held().await;
    beside.waiting("wait_event <> 'advisory'", 1).await;
    beside.open_gate().await;
    let answers = join_all(sent).await.into_iter().map(Result::unwrap);
    let mut bodies = Vec::new();
    let mut fresh = 0;
    for answer in answers {
        if answer.status == 201 {
            fresh += usize::from(!answer.is_replay());
            bodies.push(answer.text);
        } else {
            let answer = answer.expect(409, "idempotency_in_progress");
            let details = &answer.body["details"];
            assert!(details["lease_expires_at"].is_string() && details["run_id"].is_string());
        }
    }
    assert_eq!(fresh, 1, "of {} receipts one is no replay", bodies.len());
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "every receipt is the same: {bodies:?}");
    assert_eq!(beside.runs().await, 1);
    beside.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_whose_server_dies_between_commit_and_answer_is_replayed() {
    let site = Site::shared_database().await;
    let server = site.start(0).await;
    let ana = site.caller("ana").await;
    let client = server.client(&ana);
    let mut beside = Beside::open(site.database()).await;
    beside.close_gate("run_started").await;
    let request = Keyed::start("a-key-of-its-own", "List the ferries");
    let first = tokio::spawn({
        let request = request.clone();
        async move { client.try_send(&request).await }
    });
    beside.held().await;
    // The database goes on by itself: it commits for a server that is no more.
    server.kill().await;
    beside.open_gate().await;
    assert!(first.await.unwrap().is_err(), "nobody was left to answer");
    let server = site.start(0).await;
    let client = server.client(&ana);
    let again = client.send(&request).await.ok(201);
    assert!(again.is_replay());
    assert_eq!(again.version(), 1);
    assert_eq!(client.inspect(&again.run_id()).await.version(), 1);
    assert_eq!(client.send(&request).await.text, again.text);
    assert_eq!(beside.runs().await, 1);
    beside.check().await;
}
