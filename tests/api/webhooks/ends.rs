//! Endpoints that go away, more than one sender, and rebuilds.

use std::time::Duration;

use sqlx::{ConnectOptions, Connection, Executor};
use tokio::sync::watch;

use super::receiver::{Got, Receiver, Reply};
use super::{app, cancelled, started, states};
use crate::harness::Client;
use crate::process::rebuild;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_endpoint_gets_nothing_more_and_what_waited_is_withdrawn() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    receiver.fail(1);
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    app.delete_webhook(&hook).await;
    app.advance(Duration::from_secs(48 * 3_600)).await;
    cancelled(&client, "ferry-plan-0002").await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 1);
    assert!(app.webhook_line(&hook).await.is_null());
    assert_eq!(states(&app.deliveries(&hook).await), ["withdrawn"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ended_is_forgotten_after_thirty_days_and_never_sent_again() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    app.advance(Duration::from_secs(29 * 24 * 3_600)).await;
    app.tidy_webhooks().await;
    assert_eq!(app.deliveries(&hook).await.len(), 1);
    app.advance(Duration::from_secs(2 * 24 * 3_600)).await;
    app.tidy_webhooks().await;
    assert!(app.deliveries(&hook).await.is_empty());
    app.settle().await;
    assert_eq!(receiver.got().len(), 1);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_send_each_message_once_and_one_at_a_time() {
    let mut app = app().await;
    app.add_server().await;
    let ana = app.caller("ana").await;
    let receiver = Receiver::start().await;
    let hook = app.webhook(&ana, &receiver.url, &[]).await;
    let (open, gate) = watch::channel(false);
    receiver.reply([Reply::Held(gate)]);
    for number in 0..30 {
        let client = Client::new(&app, &ana).at(number % 2);
        cancelled(&client, &format!("ferry-plan-{number:04}")).await;
    }
    receiver.received(1).await;
    // Thirty messages wait behind the first, whoever looks for something to send.
    app.tidy_webhooks().await;
    assert_eq!(receiver.got().len(), 1);
    open.send_replace(true);
    app.settle().await;
    let got = receiver.got();
    let ids: std::collections::BTreeSet<&str> = got.iter().map(Got::id).collect();
    assert_eq!((got.len(), ids.len()), (30, 30));
    assert!(got.iter().all(|got| got.is_signed_by(&hook)));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_receiver_holds_up_no_other() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let (slow, quick) = (Receiver::start().await, Receiver::start().await);
    app.webhook(&ana, &slow.url, &[]).await;
    app.webhook(&ana, &quick.url, &[]).await;
    let (open, gate) = watch::channel(false);
    slow.reply([Reply::Held(gate)]);
    for number in 0..3 {
        cancelled(&client, &format!("ferry-plan-{number:04}")).await;
    }
    quick.received(3).await;
    assert!(slow.got().len() <= 1);
    open.send_replace(true);
    app.settle().await;
    assert_eq!(slow.got().len(), 3);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rebuilding_projections_sends_nothing_again() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    app.webhook(&ana, &receiver.url, &[]).await;
    cancelled(&client, "ferry-plan-0001").await;
    app.settle().await;
    rebuild(&app).await;
    app.settle().await;
    assert_eq!(receiver.got().len(), 1);
    // Nor does a cursor that is lost.
    let mut conn = app.database().options.connect().await.unwrap();
    let lost = "delete from es.projection where name = 'webhook_outbox'";
    assert!(conn.execute(lost).await.unwrap().rows_affected() > 0);
    app.settle().await;
    assert_eq!(receiver.got().len(), 1);
    conn.close().await.unwrap();
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_cannot_be_read_is_set_aside_and_the_others_are_told() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    app.webhook(&ana, &receiver.url, &[]).await;
    let broken = started(&client, "ferry-plan-0001").await;
    let id = broken.trim_start_matches("run_");
    let mut conn = app.database().options.connect().await.unwrap();
    let damage = format!(
        "alter table es.event disable trigger user;
         create table public.kept as select payload from es.event where stream_id = '{id}' and seq = 1;
         update es.event set payload = '{{}}' where stream_id = '{id}' and seq = 1;"
    );
    conn.execute(damage.as_str()).await.unwrap();
    let body = serde_json::json!({"expected_version": 1});
    client
        .cancel(&broken, "ferry-plan-0001-end", &body)
        .await
        .ok(200);
    let run = cancelled(&client, "ferry-plan-0002").await;
    app.settle().await;
    let got = receiver.got();
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].body()["data"]["run_id"], run);
    let parked = "select count(*) from es.projection_parked where name = 'webhook_outbox'";
    let parked: i64 = sqlx::query_scalar(parked)
        .fetch_one(&mut conn)
        .await
        .unwrap();
    assert_eq!(parked, 1);
    let repair = format!(
        "update es.event set payload = (select payload from public.kept)
          where stream_id = '{id}' and seq = 1;
         alter table es.event enable trigger user;"
    );
    conn.execute(repair.as_str()).await.unwrap();
    conn.close().await.unwrap();
    app.finish().await;
}
