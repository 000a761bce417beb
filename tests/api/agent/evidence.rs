//! The evidence bundle, required families, and reading a ref back.

use helix::testing::{Script, Setup, TestApp, Turns};
use serde_json::{Value, json};

use crate::harness::{Answer, Client, RUNS};

async fn started(client: &Client<'_>, body: Value) -> String {
    client.started("ferry-plan-0001", &body).await
}

async fn turned(
    app: &TestApp,
    client: &Client<'_>,
    run: &str,
    version: u64,
    result: &Value,
) -> Answer {
    app.script.answer(result);
    let turn = json!({"expected_version": version, "instruction": "go"});
    let key = format!("ferry-turn-{version:04}");
    client.continue_run(run, &key, &turn).await.ok(200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_grows_turn_by_turn_without_repeats() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client, json!({"objective": "List"})).await;
    let first = json!({
        "observation_refs": ["o:1"], "evidence_refs": ["e:1", "e:1"], "receipt_refs": ["r:1"],
        "claims_supported": ["The ferry runs."], "unresolved_requirements": ["timetable", "price"],
        "contradictions": ["09:00 or 10:00"],
    });
    let seen = turned(&app, &client, &run, 1, &first).await;
    assert_eq!(seen.statuses(), "waiting/conflict_detected/not_evaluated");
    // Without support nothing is resolved.
    let unsupported = json!({"resolved_requirements": ["timetable"], "resolved_contradictions": ["09:00 or 10:00"]});
    let seen = turned(&app, &client, &run, 3, &unsupported).await;
    assert_eq!(
        seen.body["unresolved_requirements"],
        json!(["timetable", "price"])
    );
    let second = json!({
        "observation_refs": ["o:1", "o:2"], "evidence_refs": ["e:2"],
        "claims_supported": ["The ferry runs.", "It is red."], "claims_contradicted": ["It is blue."],
        "resolved_requirements": ["timetable"], "resolved_contradictions": ["09:00 or 10:00"],
    });
    let seen = turned(&app, &client, &run, 5, &second).await;
    let bundle = client.get(&format!("{RUNS}/{run}/evidence")).await.ok(200);
    assert_eq!(bundle.body, seen.body["evidence"]);
    let expected = json!({
        "schema": "helix.agent_run.evidence_bundle.v1", "run_id": run,
        "observation_refs": ["o:1", "o:2"], "evidence_refs": ["e:1", "e:2"], "receipt_refs": ["r:1"],
        "provider_terminal_candidate_ref": null,
        "claims_supported": ["The ferry runs.", "It is red."], "claims_contradicted": ["It is blue."],
        "unresolved_requirements": ["price"], "terminal_authority_status": "not_evaluated",
        "answer_authority": false, "assistant_answer": false, "terminal_eligible": false,
        "raw_content_included": false,
    });
    assert_eq!(bundle.body, expected);
    assert_eq!(bundle.header("etag"), "");
    let events = client
        .get(&format!("{RUNS}/{run}/events?after_seq=7"))
        .await
        .ok(200);
    let of = |name: &str| {
        let events = events.body["events"].as_array().unwrap();
        let found = events.iter().find(|event| event["event_type"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))["payload"].clone()
    };
    let reentered = json!({
        "version": 7, "observation_refs": ["o:1", "o:2"], "evidence_refs": ["e:2"], "receipt_refs": [],
        "evidence_is_terminal_answer": false,
    });
    assert_eq!(of("evidence_reentered"), reentered);
    let resolved = json!({
        "version": 7, "resolved_requirements": ["timetable"], "resolved_contradictions": ["09:00 or 10:00"],
        "resolution_support_refs": ["o:1", "o:2", "e:2"],
    });
    assert_eq!(of("issues_resolved"), resolved);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_required_family_is_not_met_by_assertion() {
    let app = TestApp::with(Setup {
        settings: vec![("agent_database_scopes", "scholarly_research".to_owned())],
        ..Setup::default()
    })
    .await;
    let client = Client::new(&app, &app.caller("ana").await);
    let body = json!({
        "objective": "List", "database_scope": ["scholarly_research"],
        "completion_contract": {"max_unresolved_requirements": 128, "min_evidence_refs": 0},
    });
    let run = started(&client, body).await;
    let requirement = "required_evidence:scholarly_evidence";
    let mut claim = Script::success();
    claim["evidence_refs"] = json!([]);
    claim["resolved_requirements"] = json!([requirement]);
    claim["satisfied_evidence_requirements"] = json!(["scholarly_evidence"]);
    claim["output_fields"] = json!({"text": "Answered."});
    claim["sanitized_result"] = json!({"ok": true, "terminal_product": claim["terminal_product"]});
    let seen = turned(&app, &client, &run, 1, &claim).await;
    assert_eq!(seen.statuses(), "waiting/needs_more_evidence/blocked");
    assert_eq!(seen.body["unresolved_requirements"], json!([requirement]));
    let latest = &seen.body["latest_result"];
    assert!(latest["terminal_product"].is_null());
    assert_eq!(latest["terminal_authority_status"], "blocked");
    assert_eq!(
        latest["terminal_authority_reason"],
        "required_current_turn_evidence_missing"
    );
    assert!(seen.body["evidence"]["provider_terminal_candidate_ref"].is_null());
    assert_eq!(
        app.script.inputs()[0].required_evidence,
        ["scholarly_evidence"]
    );
    // With an artifact of this turn the same claim stands.
    claim["evidence_refs"] = json!(["evidence:test:1"]);
    let done = turned(&app, &client, &run, 3, &claim).await;
    assert_eq!(done.statuses(), "completed/completed/authorized");
    assert_eq!(
        done.body["evidence"]["provider_terminal_candidate_ref"],
        "terminal:test:1"
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_conflicts_stay_visible() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let mut result = Script::success();
    result["contradictions"] = json!(["09:00 or 10:00"]);
    for (allow, statuses) in [
        (false, "waiting/conflict_detected/authorized"),
        (true, "completed/completed/authorized"),
    ] {
        let body = json!({"objective": "List", "completion_contract": {"allow_conflicts": allow}});
        let run = client.started(&format!("ferry-plan-{allow}"), &body).await;
        let done = turned(&app, &client, &run, 1, &result).await;
        assert_eq!(done.statuses(), statuses);
        assert_eq!(done.body["contradictions"], json!(["09:00 or 10:00"]));
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_completion_contract_is_met_in_every_part_or_not_at_all() {
    let app = TestApp::start().await;
    let client = Client::new(&app, &app.caller("ana").await);
    let with = |name: &str, value: Value| {
        let mut result = Script::success();
        result[name] = value;
        result
    };
    let not_authorized = json!({"evidence_refs": ["e:1"]});
    let text = json!({"required_output_fields": ["text"]});
    let cases = [
        (
            json!({"min_evidence_refs": 2}),
            Script::success(),
            "needs_more_evidence",
        ),
        (
            json!({"min_evidence_refs": 2}),
            with("receipt_refs", json!(["r:1"])),
            "completed",
        ),
        (
            json!({"min_evidence_refs": 0, "require_terminal_authority": false}),
            json!({}),
            "completed",
        ),
        (json!({}), not_authorized.clone(), "needs_more_evidence"),
        (
            json!({"require_terminal_authority": false}),
            not_authorized,
            "completed",
        ),
        (
            json!({}),
            with("unresolved_requirements", json!(["x"])),
            "needs_more_evidence",
        ),
        (
            json!({"max_unresolved_requirements": 1}),
            with("unresolved_requirements", json!(["x"])),
            "completed",
        ),
        (text.clone(), Script::success(), "needs_more_evidence"),
        (
            text.clone(),
            with("output_fields", json!({"text": null})),
            "needs_more_evidence",
        ),
        (
            text,
            with("output_fields", json!({"text": false})),
            "completed",
        ),
        (json!({}), with("ok", json!(false)), "blocked"),
        (json!({}), with("needs_input", json!(true)), "needs_input"),
    ];
    for (number, (contract, result, completion)) in cases.iter().enumerate() {
        let body = json!({"objective": "List", "completion_contract": contract});
        let run = client
            .started(&format!("ferry-plan-{number:04}"), &body)
            .await;
        let done = turned(&app, &client, &run, 1, result).await;
        assert_eq!(
            done.body["completion_status"], *completion,
            "{contract} {result}"
        );
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ref_reads_back_while_its_scope_is_held_and_only_to_its_owner() {
    let text = b"The last ferry to Vik leaves at 21:15 on weekdays.\n".to_vec();
    let mut app = TestApp::with(Setup {
        turns: Turns::Solved,
        library: vec![("ferries.txt", text)],
        ..Setup::default()
    })
    .await;
    app.add_server_with(&[("agent_database_scopes", "")]).await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let body = json!({"objective": "When does the last ferry to Vik leave?", "database_scope": ["research_library"]});
    let run = started(&client, body).await;
    let turn = json!({"expected_version": 1, "instruction": "Answer from the library."});
    let done = client
        .continue_run(&run, "ferry-turn-0001", &turn)
        .await
        .ok(200);
    let evidence = &done.body["evidence"];
    let refs = [&evidence["evidence_refs"], &evidence["observation_refs"]];
    let refs = refs.into_iter().flat_map(|refs| refs.as_array().unwrap());
    let item_ref = refs.into_iter().next().expect("a ref").as_str().unwrap();
    let path = format!("{RUNS}/{run}/evidence/{}", item_ref.replace(':', "%3A"));
    let item = client.get(&path).await.ok(200);
    assert_eq!(
        client
            .get(&format!("{RUNS}/{run}/evidence/{item_ref}"))
            .await
            .body,
        item.body
    );
    let keys: Vec<&String> = item.body.as_object().unwrap().keys().collect();
    let mut expected = vec![
        "schema",
        "run_id",
        "ref",
        "kind",
        "source",
        "span",
        "quote",
        "quote_sha256",
        "receipt_ref",
        "turn_seq",
        "answer_authority",
        "assistant_answer",
        "terminal_eligible",
        "raw_content_included",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(item.body["schema"], "helix.agent_run.evidence_item.v1");
    assert_eq!(
        (&item.body["ref"], &item.body["run_id"]),
        (&json!(item_ref), &json!(run))
    );
    let read = client.with_token(ana.token_of("helix.agent_runs.read"));
    let denied = read.get(&path).await.expect(403, "insufficient_scope");
    let details = json!({
        "denied_scopes": ["research_library"],
        "required_oauth_scopes": ["helix.data.research_library.read"],
    });
    assert_eq!(denied.body["details"], details);
    assert!(!denied.text.contains("21:15"));
    client
        .at(1)
        .get(&path)
        .await
        .expect(403, "account_policy_blocked");
    let ben = Client::new(&app, &app.caller("ben").await);
    let missing = client
        .get(&format!("{RUNS}/{run}/evidence/evidence%3Anone"))
        .await;
    let missing = missing.expect(404, "not_found");
    let foreign = ben.get(&path).await.expect(404, "not_found");
    let same = |answer: &Answer| {
        let mut body = answer.body.clone();
        body["request_id"] = Value::Null;
        body
    };
    assert_eq!(same(&foreign), same(&missing));
    assert_eq!(missing.body["message"], "There is no such run or ref.");
    let metrics = app.metrics(0).await;
    assert!(
        metrics.contains(r#"route="/api/v1/agent-runs/{run_id}/evidence/{ref}""#),
        "{metrics}"
    );
    // A ref of another run of the same owner is not this run's.
    let other = client
        .start("ferry-plan-0002", &json!({"objective": "List"}))
        .await
        .run_id();
    let elsewhere = path.replace(&run, &other);
    client.get(&elsewhere).await.expect(404, "not_found");
    app.finish().await;
}
