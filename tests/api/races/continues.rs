use futures_util::future::join_all;
use helix::testing::{Script, TestApp};
use serde_json::json;

use crate::harness::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_continues_at_once_are_one_turn() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = client
        .started("one-turn-only", &json!({"objective": "List"}))
        .await;
    let gate = app.script.hold(&Script::success());
    let body = json!({"expected_version": 1, "instruction": "go"});
    let sent = (0..16).map(|number| {
        let (client, run, body) = (client.at(number % 2), run.clone(), body.clone());
        async move {
            client
                .continue_run(&run, &format!("one-of-sixteen-{number}"), &body)
                .await
        }
    });
    // The turn ends only when all the others have been answered.
    let (answers, ()) = tokio::join!(join_all(sent), async {
        app.script.begun(1).await;
        loop {
            let refused = client.continue_run(&run, "the-seventeenth", &body).await;
            refused.expect(409, "version_conflict");
            let seen = client
                .continue_run(
                    &run,
                    "the-eighteenth",
                    &json!({"expected_version": 2, "instruction": "go"}),
                )
                .await;
            if seen.expect(409, "run_busy").body["details"]["current_version"] == 2 {
                break;
            }
        }
        gate.open();
    });
    let won: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .collect();
    assert_eq!(won.len(), 1);
    for lost in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(lost.status, 409);
        assert!(
            ["version_conflict", "run_busy"].contains(&lost.code()),
            "{}",
            lost.text
        );
    }
    assert_eq!(app.script.turns(), 1);
    let seen = client.inspect(&run).await;
    assert_eq!(
        (seen.version(), &seen.body["budget"]["steps_used"]),
        (3, &json!(1))
    );
    app.finish().await;
}
