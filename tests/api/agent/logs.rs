//! The proof of a run, taken home.

use helix::testing::{Script, TestApp};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Client, RUNS};
use crate::process::HELIX;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downloaded_log_verifies_offline_and_an_edited_one_does_not() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    app.script.answer(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    let log = client.get(&format!("{RUNS}/{run}/log")).await.ok(200);
    assert_eq!(log.header("content-type"), "application/x-ndjson");
    assert!(log.header("content-disposition").contains(&run));
    let lines: Vec<Value> = log
        .text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6);
    let head = &lines[0];
    assert_eq!(
        (&head["schema"], &head["algorithm"]),
        (&json!("helix.run_log.v1"), &json!("es1"))
    );
    assert_eq!(head["stream"], run.replace("run_", "").replace('-', ""));
    assert_eq!(
        (&head["head"]["seq"], &head["head"]["hash"]),
        (&json!(5), &lines[5]["hash"])
    );
    let page = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
    for (line, event) in lines[1..]
        .iter()
        .zip(page.body["events"].as_array().unwrap())
    {
        assert_eq!(
            (&line["seq"], &line["kind"], &line["at"]),
            (&event["seq"], &event["event_type"], &event["created_at"])
        );
    }
    assert!(!log.text.contains("List"));
    let file = app.folder().join("run.ndjson");
    let verify = async |text: &str| {
        std::fs::write(&file, text).unwrap();
        let ended = Command::new(HELIX)
            .arg("verify")
            .arg(&file)
            .env_clear()
            .output()
            .await
            .unwrap();
        ended.status.code()
    };
    assert_eq!(verify(&log.text).await, Some(0));
    let edited = log.text.replace("run_completed", "run_cancelled");
    assert_eq!(verify(&edited).await, Some(1));
    let cut: String = log.text.split_inclusive('\n').take(5).collect();
    assert_ne!(verify(&cut).await, Some(0));
    app.finish().await;
}
