//! Whose runs an endpoint is told of, and from when.

use helix::testing::Script;

use super::receiver::Receiver;
use super::{app, cancelled, started, states, turn};
use crate::harness::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_hears_of_its_own_accounts_runs_alone() {
    let app = app().await;
    let (ana, ben) = (app.caller("ana").await, app.caller("ben").await);
    let receiver = Receiver::start().await;
    app.webhook(&ana, &receiver.url, &[]).await;
    cancelled(&Client::new(&app, &ben), "ferry-plan-0001").await;
    let run = cancelled(&Client::new(&app, &ana), "ferry-plan-0001").await;
    app.settle().await;
    let got = receiver.got();
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].body()["data"]["run_id"], run);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_hears_of_nothing_that_was_before_it() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    cancelled(&client, "ferry-plan-0001").await;
    let run = started(&client, "ferry-plan-0002").await;
    let before = turn(&client, &run, 1, &Script::nothing()).await;
    let (first, second) = (Receiver::start().await, Receiver::start().await);
    // In the very millisecond of what was before: the clock stands still.
    app.webhook(&ana, &first.url, &[]).await;
    let after = turn(&client, &run, before.version(), &Script::nothing()).await;
    app.webhook(&ana, &second.url, &[]).await;
    turn(&client, &run, after.version(), &Script::success()).await;
    app.settle().await;
    assert_eq!(first.kinds(), ["run.needs_more_evidence", "run.completed"]);
    assert_eq!(second.kinds(), ["run.completed"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_told_of_runs_whose_identity_was_unlinked_or_linked_again_since() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.fail(1);
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    app.unlink(&ana).await;
    app.advance(std::time::Duration::from_secs(10)).await;
    app.link_again(&ana).await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 1);
    assert_eq!(states(&app.deliveries(&hook).await), ["withdrawn"]);
    cancelled(&client, "ferry-plan-0002").await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 2, "it is linked again");
    // A run that is ended by the sweeper while nobody may read it.
    started(&client, "ferry-plan-0003").await;
    app.unlink(&ana).await;
    app.advance(std::time::Duration::from_secs(366 * 24 * 3_600))
        .await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 2);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_and_plain_addresses_are_refused_unless_the_operator_opens_the_network() {
    let app = helix::testing::TestApp::start().await;
    let ana = app.caller("ana").await;
    for url in [
        "http://127.0.0.1:9/in",
        "https://127.0.0.1/in",
        "https://localhost/in",
        "https://[fd00::1]/in",
        "https://10.0.0.7/in?token=kestrel",
    ] {
        let refused = app.try_webhook(&ana, url, &[]).await.unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("the url"), "{refused}");
        assert!(!refused.contains("kestrel"), "{refused}");
    }
    app.finish().await;
}
