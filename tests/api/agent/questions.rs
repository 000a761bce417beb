//! Questions of a run: none is lost, none is answered twice, answers arrive as they were given.

use helix::testing::{Script, TestApp};
use serde_json::{Value, json};

use crate::harness::{Client, RUNS};
use crate::rows::Rows;

fn question(id: &str) -> Value {
    json!({
        "question_id": id, "prompt": format!("Which {id}?"), "required_fields": ["name"],
        "options": [{"value": "vik", "label": "Vik"}],
    })
}

/// A run that waits for answers to these questions, at version 3.
async fn asking(app: &TestApp, client: &Client<'_>, ids: &[&str]) -> String {
    let body = json!({"objective": "Plan the crossing", "budget": {"max_steps": 64}});
    let run = client.started("ferry-plan-0001", &body).await;
    let questions: Vec<Value> = ids.iter().map(|id| question(id)).collect();
    app.script
        .answer(&json!({"pending_questions": questions, "needs_input": true}));
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let asked = client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    assert_eq!(asked.statuses(), "waiting/needs_input/not_evaluated");
    assert_eq!(asked.body["pending_questions"], json!(questions));
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_once_and_a_second_answer_is_refused() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = asking(&app, &client, &["q-port"]).await;
    let before = Rows::of(&app).await;
    let key = "ferry-turn-0002";
    let answers =
        |version: u64, answers: Value| json!({"expected_version": version, "answers": answers});
    let twice = json!([{"question_id": "q-port", "value": "Vik"}, {"question_id": " q-port ", "value": "Nes"}]);
    let refused = client.continue_run(&run, key, &answers(3, twice)).await;
    let refused = refused.expect(400, "invalid_request");
    assert!(refused.body.get("details").is_none(), "{}", refused.text);
    assert_eq!(Rows::of(&app).await, before);
    let once = json!([{"question_id": "q-port", "value": "Vik"}]);
    let done = client
        .continue_run(&run, key, &answers(3, once))
        .await
        .ok(200);
    assert_eq!(done.body["pending_questions"], json!([]));
    let before = Rows::of(&app).await;
    let other = json!([{"question_id": "q-port", "value": "Nes"}, {"question_id": "q-x"}]);
    let late = client
        .continue_run(&run, "ferry-turn-0003", &answers(5, other))
        .await;
    let late = late.expect(400, "invalid_request");
    assert_eq!(
        late.body["details"],
        json!({"unknown_question_ids": ["q-port", "q-x"]})
    );
    assert_eq!(Rows::of(&app).await, before);
    assert_eq!(app.script.turns(), 2);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unanswered_question_stays_and_keeps_the_run_from_completing() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = asking(&app, &client, &["q-port", "q-date"]).await;
    app.script.answer(&Script::success());
    let body =
        json!({"expected_version": 3, "answers": [{"question_id": "q-date", "value": null}]});
    let partly = client
        .continue_run(&run, "ferry-turn-0002", &body)
        .await
        .ok(200);
    assert_eq!(partly.statuses(), "waiting/needs_input/authorized");
    assert_eq!(
        partly.body["pending_questions"],
        json!([question("q-port")])
    );
    assert_eq!(
        partly.body["recommended_next_action"]["operation"],
        "continue"
    );
    let page = client
        .get(&format!("{RUNS}/{run}/events?after_seq=2"))
        .await
        .ok(200);
    let events = page.body["events"].as_array().unwrap();
    let asked: Vec<&Value> = events
        .iter()
        .filter(|event| event["event_type"] == "input_requested")
        .collect();
    assert_eq!(asked.len(), 2);
    assert_eq!(
        asked[1]["payload"],
        json!({"version": 5, "questions": [question("q-port")]})
    );
    // A missing value is accepted; the same id asked again replaces the question in place.
    let mut other = question("q-port");
    other["prompt"] = json!("Which harbour?");
    app.script.answer(&json!({"pending_questions": [other]}));
    let body = json!({"expected_version": 5, "answers": [{"question_id": "q-port"}]});
    let again = client
        .continue_run(&run, "ferry-turn-0003", &body)
        .await
        .ok(200);
    assert_eq!(again.body["pending_questions"], json!([other]));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_reach_the_executor_as_they_were_given_or_not_at_all() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = asking(&app, &client, &["q-port"]).await;
    let body = |value: &str| {
        format!(
            "{{\"expected_version\":3,\"answers\":[{{\"question_id\":\"q-port\",\"value\":{value}}}]}}"
        )
    };
    let path = format!("{RUNS}/{run}/continue");
    let before = Rows::of(&app).await;
    let long = "7".repeat(400);
    for value in [
        "9007199254740993",
        "0.1000000000000000055511151231257827",
        "1e400",
        "-1e400",
        "18446744073709551615",
        "1e-400",
        "-0",
        "[{\"deep\":-0.0}]",
        long.as_str(),
        "\"a\\u0000b\"",
        "{\"a\\u0000b\":1}",
        "\"\\ud83d\"",
    ] {
        let refused = client
            .post_text(&path, "ferry-turn-0002", body(value))
            .await;
        refused.expect(400, "invalid_request");
    }
    assert_eq!(Rows::of(&app).await, before);
    let texts = [
        "0.1",
        "-5",
        "1e21",
        "1e-7",
        "0",
        "9007199254740992",
        "12345678.25",
        "100000000000000000000",
        "true",
        "\"Vik\\n\"",
        "[1,{\"b\":[null]}]",
        "{\"\u{2028}k\":\"\u{202e}\"}",
    ];
    app.script
        .answer(&json!({"pending_questions": [question("q-port")]}));
    for (turn, text) in texts.into_iter().enumerate() {
        app.script
            .answer(&json!({"pending_questions": [question("q-port")]}));
        let version = 3 + 2 * turn;
        let sent = body(text).replace(
            "\"expected_version\":3",
            &format!("\"expected_version\":{version}"),
        );
        let answer = client
            .post_text(&path, &format!("ferry-turn-1{turn:03}"), sent)
            .await;
        assert_eq!(answer.status, 200, "{text}: {}", answer.text);
        let inputs = app.script.inputs();
        let given = &inputs.last().unwrap().answers[0];
        assert_eq!(given.question_id, "q-port");
        let (sent, got): (Value, Value) = (
            serde_json::from_str(text).unwrap(),
            serde_json::from_str(&given.value).unwrap(),
        );
        match (sent.as_f64(), got.as_f64()) {
            (Some(sent), Some(got)) => assert_eq!(
                sent.to_bits(),
                got.to_bits(),
                "{text} became {}",
                given.value
            ),
            _ => assert_eq!(sent, got),
        }
    }
    app.finish().await;
}
