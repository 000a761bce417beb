//! Rotation.

use std::time::Duration;

use super::receiver::Receiver;
use super::{app, cancelled};
use crate::harness::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn for_a_day_after_a_rotation_both_secrets_sign_and_then_the_new_one_alone() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let old = app.webhook(&ana, &receiver.url, &[]).await;
    let new = app.rotate_webhook(&old).await;
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    app.advance(Duration::from_secs(24 * 3_600)).await;
    cancelled(&client, "ferry-plan-0002").await;
    app.settle().await;
    let got = receiver.got();
    let [during, after] = got.as_slice() else {
        panic!("{got:?}")
    };
    assert!(during.is_signed_by(&old) && during.is_signed_by(&new));
    assert_eq!(during.signatures(), 2);
    assert!(!after.is_signed_by(&old) && after.is_signed_by(&new));
    assert_eq!(after.signatures(), 1);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_waits_is_signed_by_the_secret_of_its_attempt() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let first = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.fail(1);
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    let second = app.rotate_webhook(&first).await;
    let third = app.rotate_webhook(&second).await;
    app.advance(Duration::from_secs(6)).await;
    app.settle().await;
    let got = receiver.got();
    assert!(got[0].is_signed_by(&first));
    // Each was promised a day.
    assert!(
        [&first, &second, &third]
            .iter()
            .all(|hook| got[1].is_signed_by(hook))
    );
    assert_eq!(got[1].signatures(), 3);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fifth_rotation_in_a_day_waits_until_the_first_secret_has_had_its_day() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let mut hooks = vec![app.webhook(&ana, &receiver.url, &[]).await];
    for _ in 0..4 {
        hooks.push(app.rotate_webhook(hooks.last().unwrap()).await);
        app.advance(Duration::from_secs(3_600)).await;
    }
    let refused = app.try_rotate_webhook(&hooks[0]).await.unwrap_err();
    assert!(
        refused.contains("4 replaced secrets still sign"),
        "{refused}"
    );
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    let got = receiver.got();
    assert!(hooks.iter().all(|hook| got[0].is_signed_by(hook)));
    app.advance(Duration::from_secs(20 * 3_600)).await;
    let newest = app.rotate_webhook(&hooks[4]).await;
    cancelled(&client, "ferry-plan-0002").await;
    app.settle().await;
    let got = receiver.got();
    assert!(got[1].is_signed_by(&newest) && !got[1].is_signed_by(&hooks[0]));
    app.finish().await;
}
