//! Data scopes: four checks, in order, at start and before every continue.

use helix::testing::{Setup, TestApp};
use serde_json::{Value, json};

use crate::harness::{Client, RUNS};
use crate::rows::Rows;

fn asking(scopes: &[&str]) -> Value {
    json!({"objective": "List", "database_scope": scopes})
}

async fn open() -> TestApp {
    let all = "public_web,scholarly_research,research_library,repository_evidence,theory_registry,\
               bound_room_evidence,bound_room_environment_probe,moon";
    TestApp::with(Setup {
        settings: vec![("agent_database_scopes", all.to_owned())],
        ..Setup::default()
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_check_of_a_data_scope_answers_before_the_next_and_stores_nothing() {
    let app = open().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let weak =
        client.with_token(ana.token_of("helix.agent_runs.write helix.data.research_library.read"));
    let before = Rows::of(&app).await;
    let web = "helix.data.public_web.read";
    let cases = [
        (
            &weak,
            vec!["sun", "moon", "public_web"],
            403,
            "account_policy_blocked",
            json!({"denied_scopes": ["sun"]}),
        ),
        (
            &weak,
            vec!["moon", "public_web"],
            503,
            "scope_policy_not_configured",
            json!({"missing_scope_policies": ["moon"]}),
        ),
        (
            &weak,
            vec!["public_web", "research_library", "bound_room_evidence"],
            403,
            "insufficient_scope",
            json!({
                "denied_scopes": ["public_web", "bound_room_evidence"],
                "required_oauth_scopes": [web, "helix.rooms.read"],
            }),
        ),
        (
            &client,
            vec!["public_web", "research_library"],
            403,
            "account_policy_blocked",
            json!({"denied_capabilities": ["internet-search.search_web"]}),
        ),
    ];
    let key = "ferry-plan-0001";
    for (client, scopes, status, code, details) in cases {
        let refused = client
            .start(key, &asking(&scopes))
            .await
            .expect(status, code);
        assert_eq!(refused.body["details"], details);
        assert_eq!(refused.body["retryable"], false);
        let challenge = refused.header("www-authenticate");
        if code == "insufficient_scope" {
            // Every scope of the operation: a client that steps up must not lose what it had.
            let scope = format!(
                ", scope=\"helix.agent_runs.write {web} helix.data.research_library.read helix.rooms.read\""
            );
            assert!(challenge.ends_with(&scope), "{challenge}");
        } else {
            assert_eq!(challenge, "");
        }
    }
    assert_eq!(Rows::of(&app).await, before);
    client
        .start(key, &asking(&["research_library"]))
        .await
        .ok(201);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_developer_may_use_every_scope_and_a_user_two() {
    let app = open().await;
    let user = Client::new(&app, &app.caller("ana").await);
    let developer = Client::new(&app, &app.developer("dev").await);
    for (number, scope) in [
        "public_web",
        "scholarly_research",
        "research_library",
        "repository_evidence",
        "theory_registry",
        "bound_room_evidence",
        "bound_room_environment_probe",
    ]
    .iter()
    .enumerate()
    {
        let key = format!("ferry-plan-{number:04}");
        let asked = user.start(&key, &asking(&[scope])).await;
        if matches!(*scope, "scholarly_research" | "research_library") {
            asked.ok(201);
        } else {
            asked.expect(403, "account_policy_blocked");
        }
        let run = developer.start(&key, &asking(&[scope])).await.ok(201);
        assert_eq!(run.body["database_scope"], json!([scope]));
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scope_taken_back_acts_on_the_next_turn_and_given_back_it_works_again() {
    let mut app = open().await;
    app.add_server_with(&[("agent_database_scopes", "scholarly_research")])
        .await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let run = client
        .started("ferry-plan-0001", &asking(&["research_library"]))
        .await;
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let before = Rows::of(&app).await;
    let key = "ferry-turn-0001";
    let without = client.with_token(ana.token_of("helix.agent_runs.write helix.agent_runs.read"));
    let refused = without.continue_run(&run, key, &turn).await;
    let refused = refused.expect(403, "insufficient_scope");
    let details = json!({
        "denied_scopes": ["research_library"],
        "required_oauth_scopes": ["helix.data.research_library.read"],
    });
    assert_eq!(refused.body["details"], details);
    let blocked = client.at(1).continue_run(&run, key, &turn).await;
    blocked.expect(403, "account_policy_blocked");
    assert_eq!(Rows::of(&app).await, before);
    assert_eq!(client.inspect(&run).await.body["budget"]["steps_used"], 0);
    client.continue_run(&run, key, &turn).await.ok(200);
    let input = &app.script.inputs()[0];
    assert_eq!(input.allowed_tools, ["research-library.read_document"]);
    assert_eq!(input.required_evidence, ["research_library_evidence"]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_route_asks_for_its_own_scope_before_anything_else() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    let reader = client.with_token(ana.token_of("helix.agent_runs.read"));
    let writer = client.with_token(ana.token_of("helix.agent_runs.write"));
    for path in [
        RUNS.to_owned(),
        format!("{RUNS}/{run}"),
        format!("{RUNS}/{run}/events"),
        format!("{RUNS}/{run}/evidence"),
        format!("{RUNS}/{run}/evidence/evidence%3A1"),
        format!("{RUNS}/{run}/log"),
        format!("{RUNS}/run_abc"),
    ] {
        for query in ["", "?unknown=1"] {
            let refused = writer.get(&format!("{path}{query}")).await;
            let refused = refused.expect(403, "insufficient_scope");
            assert_eq!(
                refused.body["details"]["required_scope"], "helix.agent_runs.read",
                "{path}{query}"
            );
        }
        reader
            .get(&format!("{path}?unknown=1"))
            .await
            .expect(400, "invalid_request");
    }
    for path in [
        RUNS.to_owned(),
        format!("{RUNS}/{run}/continue"),
        format!("{RUNS}/{run}/cancel"),
        format!("{RUNS}/run_abc/cancel"),
    ] {
        let refused = reader
            .post(&format!("{path}?unknown=1"), "k", &json!({}))
            .await;
        let refused = refused.expect(403, "insufficient_scope");
        assert_eq!(
            refused.body["details"]["required_scope"],
            "helix.agent_runs.write"
        );
    }
    let (path, plan) = (format!("{RUNS}?unknown=1"), json!({"objective": "List"}));
    let unknown = client.post(&path, "ferry-plan-0002", &plan).await;
    unknown.expect(400, "invalid_request");
    app.finish().await;
}
