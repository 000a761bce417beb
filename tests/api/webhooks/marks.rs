//! No text of a run, no address and no secret comes out anywhere.

use helix::testing::Script;
use secrecy::ExposeSecret;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::app;
use super::receiver::Receiver;
use crate::harness::Client;
use crate::process::Process;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_of_a_run_no_address_and_no_secret_is_in_messages_rows_logs_or_metrics() {
    let app = app().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let receiver = Receiver::start().await;
    let first = app.webhook(&ana, &receiver.url, &[]).await;
    let hook = app.rotate_webhook(&first).await;
    // One more process, which logs all it can.
    let process = Process::serve(&app).await;
    receiver.fail(1);
    let objective = json!({"objective": "Zebrawood objective"});
    let run = client.started("ferry-plan-0001", &objective).await;
    let mut answer = Script::success();
    answer["summary"] = "Zebrawood summary".into();
    app.script.answer(&answer);
    let turn = json!({"expected_version": 1, "instruction": "Zebrawood instruction"});
    client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    app.settle().await;
    app.advance(std::time::Duration::from_secs(6)).await;
    app.settle().await;
    let messages: Vec<String> = receiver
        .got()
        .iter()
        .map(|got| format!("{}{:?}", got.text, got.headers))
        .collect();
    assert_eq!(messages.len(), 2);
    let metrics = [
        app.metrics(0).await,
        reqwest::get(&process.metrics)
            .await
            .unwrap()
            .text()
            .await
            .unwrap(),
    ];
    let rows = rows(&app).await;
    assert!(rows.contains("webhook_created"));
    let places = [
        ("messages", messages.concat()),
        ("metrics", metrics.concat()),
        ("log", process.stop().await),
        ("rows", rows),
        ("lines", app.webhook_line(&hook).await.to_string()),
        ("deliveries", format!("{:?}", app.deliveries(&hook).await)),
    ];
    let secrets = [&first, &hook].map(|hook| hook.secret.expose_secret().to_owned());
    for (place, text) in &places {
        assert!(!text.contains("Zebrawood"), "{place}");
        assert!(!text.contains("kestrel"), "{place} holds the address");
        for secret in &secrets {
            let bare = secret.strip_prefix("whsec_").unwrap();
            assert!(!text.contains(bare), "{place} holds a secret");
        }
    }
    app.finish().await;
}

/// Everything the database holds of endpoints and events, in clear where it is clear.
async fn rows(app: &helix::testing::TestApp) -> String {
    let mut conn = PgConnection::connect_with(&app.database().options)
        .await
        .unwrap();
    let mut all = String::new();
    for query in [
        "select coalesce(string_agg(w::text || encode(coalesce(w.body, ''), 'escape'), ''), '') from access.webhook w",
        "select coalesce(string_agg(d::text || encode(d.body, 'escape'), ''), '') from access.webhook_delivery d",
        "select coalesce(string_agg(a::text, ''), '') from access.webhook_attempt a",
        "select coalesce(string_agg(e.kind || encode(e.payload, 'escape'), ''), '') from es.event e",
        "select coalesce(string_agg(s::text || encode(coalesce(s.body, ''), 'escape'), ''), '') from es.stream s",
    ] {
        let text: String = sqlx::query_scalar(query)
            .fetch_one(&mut conn)
            .await
            .unwrap();
        all.push_str(&text);
    }
    conn.close().await.unwrap();
    all
}
