//! What a start takes, what it makes of it, and what it refuses.

use helix::testing::{ISSUER, TestApp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::fixtures::{body_of, start_bodies};
use crate::harness::{Answer, Client, RUNS};
use crate::rows::Rows;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_body_of_the_table_is_started_or_refused_without_a_trace() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    for (number, row) in start_bodies().iter().enumerate() {
        let (name, body) = (&row["name"], body_of(row));
        let key = format!("table-row-{number:04}");
        let before = Rows::of(&app).await;
        let answer = client.post_text(RUNS, &key, body.clone()).await;
        let allowed = row["expect"].as_array().unwrap();
        assert!(
            allowed.contains(&json!(answer.status)),
            "{name}: {}",
            answer.text
        );
        if answer.status == 201 {
            let sent: Value = serde_json::from_slice(&body).unwrap();
            let kept = client.inspect(&answer.run_id()).await.ok(200);
            let trimmed = sent["objective"].as_str().unwrap().trim();
            assert_eq!(kept.body["objective"], trimmed, "{name}");
            continue;
        }
        let refused = answer.expect(400, "invalid_request");
        assert_eq!(refused.body["retryable"], false, "{name}");
        assert_eq!(Rows::of(&app).await, before, "{name}");
        check_issue(row["issue"].as_str(), &refused);
        // JSON that is not JSON is refused before anyone looks at the token.
        let unread = refused.body["details"].is_null();
        let anonymous = client.with_token("nobody".to_owned());
        let answer = anonymous.post_text(RUNS, &key, body).await;
        assert_eq!(answer.status, if unread { 400 } else { 401 }, "{name}");
        let good = json!({"objective": "List"});
        let again = client.start(&key, &good).await.ok(201);
        assert_eq!(again.header("idempotency-replayed"), "false", "{name}");
    }
    app.finish().await;
}

#[track_caller]
fn check_issue(expected: Option<&str>, refused: &Answer) {
    let issues = refused.body["details"]["issues"].as_array();
    let Some(expected) = expected else { return };
    let issue = &issues.expect("issues")[0];
    match expected.rsplit_once(' ').expect("words") {
        ("unknown key", key) => {
            assert_eq!(issue["code"], "unrecognized_keys");
            assert_eq!(issue["keys"], json!([key]));
        }
        ("path", path) => assert_eq!(issue["path"], json!([path])),
        other => panic!("nothing checks {other:?}"),
    }
    assert!(issue["message"].is_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_run_has_every_field_of_its_object_and_no_other() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let answer = client
        .start("ferry-plan-0001", &json!({"objective": "  List\u{3000}"}))
        .await
        .ok(201);
    let run = answer.run_id();
    let made = &answer.body;
    let hash = |text: &str| hex::encode(Sha256::digest(text));
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    let principal = format!(
        "principal:sha256:{}",
        &hash(&format!("{ISSUER}\nana"))[..24]
    );
    let tenant = format!("tenant:sha256:{}", &hash("harbour-coop")[..24]);
    let profile = &made["ownership"]["account_profile_ref"];
    assert!(
        profile
            .as_str()
            .unwrap()
            .starts_with("account-profile:sha256:")
    );
    assert!(!text("summary").is_empty());
    assert_eq!(text("created_at"), text("updated_at"));
    let flags = json!({
        "answer_authority": false, "assistant_answer": false, "terminal_eligible": false,
        "raw_content_included": false,
    });
    let mut evidence = json!({
        "schema": "helix.agent_run.evidence_bundle.v1", "run_id": run, "observation_refs": [],
        "evidence_refs": [], "receipt_refs": [], "provider_terminal_candidate_ref": null,
        "claims_supported": [], "claims_contradicted": [], "unresolved_requirements": [],
        "terminal_authority_status": "not_evaluated",
    });
    let mut expected = json!({
        "schema": "helix.agent_run.v1", "api_version": "v1", "run_id": run,
        "ownership": {"tenant_ref": tenant, "principal_ref": principal, "account_profile_ref": profile},
        "objective": "List", "objective_hash": format!("sha256:{}", hash("\"List\"")),
        "runtime_provider": "helix-ask", "lifecycle_status": "waiting",
        "completion_status": "needs_more_evidence", "terminal_authority_status": "not_evaluated",
        "version": 1,
        "completion_contract": {
            "min_evidence_refs": 1, "require_terminal_authority": true,
            "required_output_fields": [], "max_unresolved_requirements": 0, "allow_conflicts": false,
        },
        "constraints": [], "database_scope": [],
        "budget": {"max_steps": 12, "steps_used": 0, "expires_at": made["budget"]["expires_at"]},
        "summary": text("summary"), "unresolved_requirements": [], "contradictions": [],
        "pending_questions": [], "latest_result": null,
        "recommended_next_action": made["recommended_next_action"],
        "created_at": text("created_at"), "updated_at": text("updated_at"),
        "completed_at": null, "cancelled_at": null,
    });
    for object in [&mut evidence, &mut expected] {
        let flags = flags.as_object().unwrap().clone();
        object.as_object_mut().unwrap().extend(flags);
    }
    expected["evidence"] = evidence;
    assert_eq!(*made, expected);
    assert_eq!(made["recommended_next_action"]["operation"], "continue");
    let events = client.get(&format!("{RUNS}/{run}/events")).await.ok(200);
    let started = &events.body["events"][0];
    assert_eq!(started["created_at"], made["created_at"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_are_kept_as_sent_but_trimmed_and_lists_lose_their_repeats() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let objective = "Cafe\u{301} \u{2028}\u{202e} \"quoted\" \\ \u{7} \u{feff}x";
    let body = json!({
        "objective": format!("\u{feff} {objective}\n"),
        "constraints": [" only 2026 ", "by sea", "only 2026", "by sea "],
        "completion_contract": {"required_output_fields": ["text", " text "], "allow_conflicts": true},
        "budget": {"max_steps": 3},
    });
    let run = client.start("ferry-plan-0001", &body).await.ok(201);
    assert_eq!(run.body["objective"], objective);
    let literal = serde_json::to_string(objective).unwrap();
    let hash = format!("sha256:{}", hex::encode(Sha256::digest(literal)));
    assert_eq!(run.body["objective_hash"], hash);
    assert_eq!(run.body["constraints"], json!(["only 2026", "by sea"]));
    let contract = &run.body["completion_contract"];
    assert_eq!(contract["required_output_fields"], json!(["text"]));
    assert_eq!(
        (&contract["allow_conflicts"], &contract["min_evidence_refs"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(run.body["budget"]["max_steps"], 3);
    assert_eq!(client.inspect(&run.run_id()).await.body, run.body);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bounds_of_lists_and_texts_are_exact() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let constraint = |units: usize| json!({"constraints": ["🦊".repeat(units / 2)]});
    let fields = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("field-{n}")).collect();
        json!({"completion_contract": {"required_output_fields": names}})
    };
    let field = |units: usize| json!({"completion_contract": {"required_output_fields": ["é".repeat(units)]}});
    let scope = |units: usize| json!({"database_scope": ["s".repeat(units)]});
    let unresolved =
        |count: i64| json!({"completion_contract": {"max_unresolved_requirements": count}});
    let cases = [
        (constraint(2_000), 201),
        (constraint(2_002), 400),
        (
            json!({"constraints": (0..64).map(|n| format!("c{n}")).collect::<Vec<_>>()}),
            201,
        ),
        (fields(32), 201),
        (fields(33), 400),
        (field(120), 201),
        (field(121), 400),
        (scope(240), 403),
        (scope(241), 400),
        (json!({"database_scope": vec!["s"; 65]}), 400),
        (unresolved(128), 201),
        (unresolved(129), 400),
        (unresolved(-1), 400),
        (json!({"database_scope": []}), 201),
        (json!({"database_scope": null}), 400),
        (json!({"budget": []}), 400),
    ];
    for (number, (change, status)) in cases.into_iter().enumerate() {
        let mut body = json!({"objective": "List"});
        let change_text = change.to_string();
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let key = format!("bounds-{number:04}");
        let answer = client.start(&key, &body).await;
        let shown: String = change_text.chars().take(80).collect();
        assert_eq!(answer.status, status, "{shown}: {}", answer.text);
    }
    app.finish().await;
}
