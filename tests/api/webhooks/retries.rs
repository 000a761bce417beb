//! What becomes of a message that is not accepted at once.

use std::time::Duration;

use helix::testing::Script;

use super::receiver::{Receiver, Reply};

use super::{app, cancelled, states};
use crate::harness::Client;

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);
/// The longest waits after the first failure, the second and so on, in minutes.
const WAITS: [u32; 9] = [1, 6, 34, 133, 331, 661, 925, 1_321, 1_585];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_failed_is_sent_again_with_its_id_and_a_new_time() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.fail(1);
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 1);
    app.settle().await;
    assert_eq!(receiver.got().len(), 1, "not before its time");
    app.advance(6 * SECOND).await;
    app.settle().await;
    let got = receiver.got();
    let [first, second] = got.as_slice() else {
        panic!("{got:?}")
    };
    assert_eq!((first.id(), &first.text), (second.id(), &second.text));
    assert_eq!(second.timestamp(), first.timestamp() + 6);
    assert!(first.is_signed_by(&hook) && second.is_signed_by(&hook));
    app.advance(48 * HOUR).await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 2, "an accepted message is done");
    let sent = app.deliveries(&hook).await;
    assert_eq!(states(&sent), ["delivered"]);
    let attempts = sent[0]["attempts"].as_array().unwrap();
    assert_eq!(attempts[0]["status"], 500);
    assert_eq!(attempts[1]["status"], 204);
    assert!(attempts.iter().all(|one| one["duration_ms"].is_u64()));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_comes_back_gets_what_it_missed() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let away = Receiver::start().await;
    let hook = app.webhook(&ana, &away.url, &[]).await;
    let port = away.stop().await;
    for number in 0..3 {
        cancelled(&client, &format!("ferry-plan-{number:04}")).await;
        app.settle().await;
        app.advance(6 * SECOND).await;
    }
    let sent = app.deliveries(&hook).await;
    assert_eq!(states(&sent), ["pending", "pending", "pending"]);
    let last = |line: &serde_json::Value| line["attempts"][0]["failure"].clone();
    assert!(sent.iter().any(|line| last(line) == "unreachable"));
    // An attempt that is under way while the clock moves on loses its lease and would be made twice.
    app.settle().await;
    let back = Receiver::back(port).await;
    app.advance(HOUR).await;
    app.settle().await;
    assert_eq!(back.got().len(), 3);
    assert!(back.got().iter().all(|got| got.is_signed_by(&hook)));
    assert_eq!(
        states(&app.deliveries(&hook).await),
        ["delivered", "delivered", "delivered"]
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_may_ask_for_a_later_attempt() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    app.webhook(&ana, &receiver.url, &[]).await;
    receiver.reply([Reply::With(503, "retry-after: 600".to_owned())]);
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    app.advance(599 * SECOND).await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 1, "it asked for more");
    app.advance(2 * SECOND).await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 2);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_given_up_after_ten_attempts_and_its_endpoint_disabled_until_it_is_enabled() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.fail(10);
    cancelled(&client, "ferry-plan-0001").await;
    for (attempt, wait) in (1..).zip(WAITS) {
        app.settle().await;
        assert_eq!(receiver.got().len(), attempt);
        assert_eq!(app.webhook_line(&hook).await["status"], "active");
        app.advance(wait * 60 * SECOND).await;
    }
    app.settle().await;
    assert_eq!(states(&app.deliveries(&hook).await), ["dead"]);
    let line = app.webhook_line(&hook).await;
    assert_eq!(
        (&line["status"], &line["disabled_reason"]),
        (&"disabled".into(), &"failing".into())
    );
    let metrics = app.metrics(0).await;
    assert!(metrics.contains("helix_webhook_attempt_duration_seconds_count{result=\"failed\"}"));
    cancelled(&client, "ferry-plan-0002").await;
    app.settle().await;
    app.enable_webhook(&hook).await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 10, "what happened before is not told");
    cancelled(&client, "ferry-plan-0003").await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 11);
    assert_eq!(app.webhook_line(&hook).await["status"], "active");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_bad_message_neither_disables_an_endpoint_nor_holds_up_the_others() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.fail(1);
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    for (number, wait) in WAITS.into_iter().enumerate() {
        // The old message is refused once more, then a new one is accepted.
        receiver.fail(1);
        app.advance(wait * 60 * SECOND).await;
        app.settle().await;
        app.advance(10 * SECOND).await;
        cancelled(&client, &format!("ferry-plan-1{number:03}")).await;
        app.settle().await;
    }
    let sent = app.deliveries(&hook).await;
    assert_eq!(sent.last().unwrap()["state"], "dead");
    assert_eq!(states(&sent)[..9], ["delivered"; 9]);
    assert_eq!(app.webhook_line(&hook).await["status"], "active");
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_is_gone_is_not_asked_again() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    // The first attempt fails, so that both messages wait when the receiver says that it is gone.
    receiver.reply([Reply::Status(500), Reply::Status(410)]);
    cancelled(&client, "ferry-plan-0001").await;
    cancelled(&client, "ferry-plan-0002").await;
    app.settle().await;
    app.advance(HOUR).await;
    app.settle().await;
    app.advance(48 * HOUR).await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 2);
    let line = app.webhook_line(&hook).await;
    assert_eq!(line["disabled_reason"], "gone");
    let sent = app.deliveries(&hook).await;
    let mut states = states(&sent);
    states.sort_unstable();
    assert_eq!(states, ["dead", "withdrawn"]);
    app.tidy_webhooks().await;
    let metrics = app.metrics(0).await;
    assert!(metrics.contains("helix_webhook_disabled_endpoints 1"));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_is_a_failure_and_nobody_follows_it() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let (receiver, inside) = (Receiver::start().await, Receiver::start().await);
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.reply([Reply::With(307, format!("location: {}", inside.url))]);
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    assert!(inside.got().is_empty());
    let sent = app.deliveries(&hook).await;
    assert_eq!(sent[0]["attempts"][0]["failure"], "redirected");
    assert_eq!(states(&sent), ["pending"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_answer_is_a_success_by_its_status() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.reply([Reply::Endless]);
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    assert_eq!(states(&app.deliveries(&hook).await), ["delivered"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_on_request_tells_of_no_run_and_is_signed_like_the_others() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &["run.failed"]).await;
    let message = app.test_webhook(&hook).await;
    app.settle().await;
    let got = receiver.got();
    assert_eq!((got.len(), got[0].id()), (1, message.as_str()));
    assert!(got[0].is_signed_by(&hook));
    assert_eq!(got[0].body()["type"], "webhook.test");
    assert_eq!(got[0].body()["data"]["webhook_id"], hook.id());
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_told_in_its_order_also_while_an_earlier_message_fails() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.fail(2);
    let run = super::started(&client, "ferry-plan-0001").await;
    super::turn(&client, &run, 1, &Script::nothing()).await;
    app.settle().await;
    // It fails; the endpoint has rested when the next event of the run comes.
    app.advance(5 * SECOND).await;
    let cancel = serde_json::json!({"expected_version": 3});
    client
        .cancel(&run, "ferry-plan-0001-end", &cancel)
        .await
        .ok(200);
    app.settle().await;
    app.advance(6 * SECOND).await;
    app.settle().await;
    // Another run does not wait for it.
    cancelled(&client, "ferry-plan-0002").await;
    app.advance(60 * SECOND).await;
    app.settle().await;
    for _ in 0..3 {
        app.advance(HOUR).await;
        app.settle().await;
    }
    assert!(
        states(&app.deliveries(&hook).await)
            .iter()
            .all(|state| *state == "delivered")
    );
    let seqs = |accepted: &[super::receiver::Got]| -> Vec<(i64, String)> {
        let told = accepted.iter().map(super::receiver::Got::body);
        let told = told.filter(|body| body["data"]["run_id"] == run.as_str());
        told.map(|body| {
            (
                body["data"]["seq"].as_i64().unwrap(),
                body["type"].to_string(),
            )
        })
        .collect()
    };
    let got = receiver.got();
    let told = seqs(&got);
    let in_order = told.windows(2).all(|pair| pair[0].0 <= pair[1].0);
    assert!(in_order && told.len() >= 4, "{told:?}");
    assert_eq!(told.last().unwrap().1, "\"run.cancelled\"");
    app.finish().await;
}
