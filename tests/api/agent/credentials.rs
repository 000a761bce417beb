//! A secret sent as text goes no further.

use helix::testing::TestApp;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, Row};

use crate::fixtures::credential_shapes;
use crate::harness::{Answer, Client, RUNS};
use crate::rows::Rows;

/// A token of this server's own kind, with a good checksum.
const ISSUED: &str = "hx_nt_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf45rGb8";

fn deep(value: Value) -> Value {
    (0..5).fold(value, |inner, _| json!({"more": [inner]}))
}

/// Every byte as a percent escape.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| ["%", &hex::encode([byte])].concat();
    text.bytes().map(byte).collect()
}

#[track_caller]
fn check_refused(answer: Answer, text: &str) {
    let refused = answer.expect(400, "invalid_request");
    let details = json!({"failure_code": "protected_sensitive_content_rejected"});
    assert_eq!(refused.body["details"], details);
    let quoted = serde_json::to_string(text).unwrap();
    assert!(
        !refused.text.contains(quoted.trim_matches('"')),
        "{}",
        refused.text
    );
    for value in refused.headers.values() {
        assert!(!value.to_str().unwrap().contains(text));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protected_texts_are_refused_wherever_they_stand_and_others_are_accepted() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let question =
        json!({"question_id": "q", "prompt": "Which?", "required_fields": [], "options": []});
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    app.script.answer(&json!({"pending_questions": [question]}));
    let turn = json!({"expected_version": 1, "instruction": "go"});
    client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    let own = json!({"text": ISSUED, "protected": true});
    for (number, row) in credential_shapes().iter().chain([&own]).enumerate() {
        let text = row["text"].as_str().unwrap();
        let before = Rows::of(&app).await;
        let key = format!("shape-{number:04}");
        let objective = json!({"objective": text});
        let answer = |value: Value| json!({"expected_version": 9, "answers": [{"question_id": "q", "value": value}]});
        let (value, keyed) = (answer(deep(json!(text))), answer(deep(json!({text: 1}))));
        let reason = json!({"expected_version": 9, "reason": text});
        if row["protected"] == true {
            let unknown = json!({"objective": "List", text: 1});
            for body in [&objective, &unknown] {
                check_refused(client.start(&key, body).await, text);
                // Before the token is looked at.
                let nobody = app.client().post(app.url(RUNS)).body(body.to_string());
                check_refused(Answer::of(nobody).await, text);
            }
            check_refused(client.continue_run(&run, &key, &value).await, text);
            check_refused(client.continue_run(&run, &key, &keyed).await, text);
            check_refused(client.cancel(&run, &key, &reason).await, text);
            for name in ["cursor", text] {
                let path = format!("{RUNS}?{}={}", escaped(name), escaped(text));
                let request = client.request(Method::GET, &path);
                check_refused(Answer::of(request).await, text);
            }
            assert_eq!(Rows::of(&app).await, before);
            client
                .start(&key, &json!({"objective": "List"}))
                .await
                .ok(201);
        } else {
            let kept = client.start(&key, &objective).await.ok(201);
            assert_eq!(kept.body["objective"], text);
            for body in [&value, &keyed] {
                client
                    .continue_run(&run, &key, body)
                    .await
                    .expect(409, "version_conflict");
            }
            client
                .cancel(&run, &key, &reason)
                .await
                .expect(409, "version_conflict");
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credential_in_the_query_is_refused_and_does_not_authenticate() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let token = ana.token();
    for query in [
        format!("access_token={token}"),
        format!("access%5Ftoken={token}"),
        format!("limit=5&key={token}"),
        format!("token={token}"),
        format!("x=Bearer+{token}"),
        format!("x=Bearer%20{token}"),
        ISSUED.to_owned(),
    ] {
        for request in [
            client.request(Method::GET, &format!("{RUNS}?{query}")),
            app.client().get(app.url(&format!("{RUNS}?{query}"))),
        ] {
            check_refused(Answer::of(request).await, &token);
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_of_a_caller_lies_in_clear_in_the_database() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("marked-subject").await);
    let objective = json!({
        "objective": "marked-objective", "constraints": ["marked-constraint"],
        "completion_contract": {"require_terminal_authority": false},
    });
    let run = client.started("marked-key-0001", &objective).await;
    let question = json!({"question_id": "q", "prompt": "marked-prompt", "required_fields": [], "options": []});
    app.script.answer(&json!({
        "summary": "marked-summary", "claims_supported": ["marked-claim"], "contradictions": ["marked-conflict"],
        "unresolved_requirements": ["marked-requirement"], "pending_questions": [question],
        "output_fields": {"x": "marked-field"}, "sanitized_result": {"x": "marked-result"},
    }));
    let turn = json!({"expected_version": 1, "instruction": "marked-instruction"});
    client
        .continue_run(&run, "marked-key-0002", &turn)
        .await
        .ok(200);
    let turn =
        json!({"expected_version": 3, "answers": [{"question_id": "q", "value": "marked-answer"}]});
    client
        .continue_run(&run, "marked-key-0003", &turn)
        .await
        .ok(200);
    let cancel = json!({"expected_version": 5, "reason": "marked-reason"});
    client
        .cancel(&run, "marked-key-0004", &cancel)
        .await
        .ok(200);
    let mut connection = PgConnection::connect_with(&app.database().options)
        .await
        .unwrap();
    let tables = sqlx::query(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('es', 'access')",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert!(tables.len() > 6);
    for table in &tables {
        let name: String = table.get("name");
        // A row as text shows bytes in hex.
        let found: i64 = sqlx::query_scalar(&format!(
            "select count(*) from {name} as one
              where one::text like '%marked-%' or one::text like '%' || encode('marked-', 'hex') || '%'"
        ))
        .fetch_one(&mut connection)
        .await
        .unwrap();
        assert_eq!(found, 0, "{name}");
    }
    connection.close().await.unwrap();
    app.finish().await;
}
