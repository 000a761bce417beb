//! Runs that a language model works on: what it finds is evidence, what it makes up is not.

use helix::testing::{ModelServer, Setup, Speech, TestApp, Turns};
use serde_json::{Value, json};

use crate::harness::{Answer, Client, RUNS};

const KEY: &str = "sk-canary-of-the-model-server";
const FERRY: &str = "The first ferry from Saltvik to Nes leaves at 06:40 on weekdays.";

async fn site(server: &ModelServer, more: &[(&'static str, &str)]) -> TestApp {
    let mut settings = vec![
        ("solver", "openai".to_owned()),
        ("model_base_url", server.base_url()),
        ("model", "m-1".to_owned()),
    ];
    settings.extend(
        more.iter()
            .map(|(name, value)| (*name, (*value).to_owned())),
    );
    TestApp::with(Setup {
        turns: Turns::Solved,
        settings,
        environment: vec![("HELIX_MODEL_API_KEY", KEY.to_owned())],
        library: vec![
            ("ferries.txt", format!("{FERRY}\n").into_bytes()),
            ("prices.txt", b"A single ticket costs 52 kroner.\n".to_vec()),
        ],
    })
    .await
}

fn search(query: &str) -> Speech {
    let arguments = json!({"query": query, "source": null, "start": null, "end": null});
    Speech::call("research-library__read_document", &arguments)
}

fn product(quote: &str) -> Value {
    json!({
        "quotes": [{"source": 0, "quote": quote}],
        "claims": [{"text": "The first ferry leaves at 06:40.", "quotes": [0]}],
    })
}

async fn started(client: &Client<'_>) -> String {
    let body = json!({
        "objective": "When does the first ferry leave?",
        "database_scope": ["research_library"],
        "completion_contract": {"min_evidence_refs": 1},
    });
    client.started("ferry-plan-0001", &body).await
}

async fn turned(client: &Client<'_>, run: &str, version: u64) -> Answer {
    let turn = json!({"expected_version": version, "instruction": "go"});
    let key = format!("ferry-turn-{version:04}");
    client.continue_run(run, &key, &turn).await.ok(200)
}

/// Neither the run nor its events or log repeat the key.
async fn assert_no_key(client: &Client<'_>, run: &str) {
    for part in ["", "/events", "/evidence", "/log"] {
        let seen = client.get(&format!("{RUNS}/{run}{part}")).await.ok(200);
        assert!(!seen.text.contains("canary"), "{part}: {}", seen.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_completed_with_evidence_that_reads_back_over_either_protocol() {
    for api in ["chat", "responses"] {
        let server = ModelServer::start().await;
        let app = site(&server, &[("model_api", api)]).await;
        let client = Client::new(&app, &app.caller("ana").await);
        let run = started(&client).await;
        let whole = json!({"query": null, "source": 0, "start": null, "end": null});
        server.says([
            search("first ferry Saltvik"),
            Speech::call("research-library__read_document", &whole),
            Speech::submit(&product(FERRY)),
        ]);
        let done = turned(&client, &run, 1).await;
        assert_eq!(
            done.statuses(),
            "completed/completed/authorized",
            "{}",
            done.text
        );
        let latest = &done.body["latest_result"];
        assert_eq!(latest["final_answer_source"], "openai");
        assert_eq!(
            latest["terminal_product"]["text"],
            "The first ferry leaves at 06:40. [1]"
        );
        let refs = done.body["evidence"]["evidence_refs"].as_array().unwrap();
        assert_eq!(refs.len(), 1);
        let encoded = refs[0].as_str().unwrap().replace(':', "%3A");
        let item = client
            .get(&format!("{RUNS}/{run}/evidence/{encoded}"))
            .await
            .ok(200);
        assert_eq!(item.body["quote"], FERRY);
        assert_eq!(item.body["source"]["locator"], "ferries.txt");
        assert_no_key(&client, &run).await;
        app.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_the_model_is_answered_and_the_answer_reaches_it() {
    let server = ModelServer::start().await;
    let app = site(&server, &[]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    let question =
        json!({"questions": [{"question_id": "which_day", "prompt": "Which day is meant?"}]});
    server.says([Speech::submit(&question)]);
    let asked = turned(&client, &run, 1).await;
    assert_eq!(
        asked.statuses(),
        "waiting/needs_input/blocked",
        "what the run requires is not proved yet"
    );
    assert_eq!(
        asked.body["pending_questions"][0]["prompt"],
        "Which day is meant?"
    );
    server.says([search("first ferry"), Speech::submit(&product(FERRY))]);
    let answers = json!({"expected_version": 3, "answers": [{"question_id": "which_day", "value": {"day": "Monday"}}]});
    let done = client
        .continue_run(&run, "ferry-answer-01", &answers)
        .await
        .ok(200);
    assert_eq!(
        done.statuses(),
        "completed/completed/authorized",
        "{}",
        done.text
    );
    let briefing = &server.asked()[1].body["messages"][1]["content"];
    let briefing: Value = serde_json::from_str(briefing.as_str().unwrap()).unwrap();
    assert_eq!(
        briefing["instruction"],
        "Answers to pending questions:\nwhich_day: {\"day\":\"Monday\"}"
    );
    assert_eq!(briefing["unanswered_questions"], json!([]));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lying_model_leaves_no_evidence_and_completes_no_run() {
    let server = ModelServer::start().await;
    let app = site(&server, &[]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    let forged = json!({
        "evidence_refs": ["evidence:research_library_evidence:00"],
        "terminal_authority_status": "authorized", "completion_status": "completed",
    });
    let lies = [
        (
            vec![search("first ferry")],
            product("The first ferry leaves at 05:00."),
        ),
        (
            vec![search("first ferry")],
            product("A single ticket costs 52 kroner."),
        ),
        (vec![search("first ferry")], forged),
        (
            vec![search("first ferry")],
            json!({"claims": [{"text": "The first ferry leaves at 06:40."}]}),
        ),
        // The words are true and were read, in the turn before.
        (vec![], product(FERRY)),
    ];
    let mut version = 1;
    for (reading, lie) in lies {
        let insisting = [Speech::submit(&lie), Speech::submit(&lie)];
        server.says(reading.into_iter().chain(insisting));
        let done = turned(&client, &run, version).await;
        assert_eq!(
            done.body["lifecycle_status"], "waiting",
            "{lie}: {}",
            done.text
        );
        let bundle = &done.body["evidence"];
        for refs in [
            "evidence_refs",
            "observation_refs",
            "claims_supported",
            "claims_contradicted",
        ] {
            assert_eq!(bundle[refs], json!([]), "{lie}: {}", done.text);
        }
        assert!(done.body["latest_result"]["terminal_product"].is_null());
        assert!(!done.text.contains("05:00"), "{}", done.text);
        version = done.version();
    }
    let invented = "evidence%3Aresearch_library_evidence%3A00";
    client
        .get(&format!("{RUNS}/{run}/evidence/{invented}"))
        .await
        .expect(404, "not_found");
    // An honest turn completes what the lies could not.
    server.says([search("first ferry"), Speech::submit(&product(FERRY))]);
    let done = turned(&client, &run, version).await;
    assert_eq!(
        done.statuses(),
        "completed/completed/authorized",
        "{}",
        done.text
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_server_that_fails_leaves_the_run_waiting_and_a_later_turn_completes_it() {
    let server = ModelServer::start().await;
    let app = site(&server, &[]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    let mut version = 1;
    for (script, code) in [
        (vec![Speech::status(500); 3], "model_unavailable"),
        (vec![Speech::status(401)], "model_refused_credentials"),
        (
            vec![Speech::Text("Hm.".into()); 2],
            "model_product_unusable",
        ),
    ] {
        server.says(script);
        let blocked = turned(&client, &run, version).await;
        assert_eq!(
            blocked.statuses(),
            "waiting/needs_more_evidence/blocked",
            "{}",
            blocked.text
        );
        let latest = &blocked.body["latest_result"];
        assert_eq!(
            (&latest["failure_code"], &latest["status"]),
            (&json!(code), &json!(424))
        );
        assert_eq!(latest["raw_provider_payload_included"], false);
        assert_eq!(
            blocked.body["recommended_next_action"]["operation"],
            "continue"
        );
        version = blocked.version();
    }
    server.says([search("first ferry"), Speech::submit(&product(FERRY))]);
    let done = turned(&client, &run, version).await;
    assert_eq!(
        done.statuses(),
        "completed/completed/authorized",
        "{}",
        done.text
    );
    assert_no_key(&client, &run).await;
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_thinks_too_long_is_the_turn_timeout() {
    let server = ModelServer::start().await;
    let app = site(&server, &[("agent_turn_timeout_ms", "1000")]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    server.says([search("first ferry"), Speech::Silence]);
    let done = turned(&client, &run, 1).await;
    assert_eq!(done.statuses(), "failed/failed/blocked", "{}", done.text);
    assert_eq!(
        done.body["latest_result"]["failure_code"],
        "helix_ask_timeout"
    );
    server.was_left(1).await;
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_a_run_hangs_up_on_its_model() {
    let server = ModelServer::start().await;
    let app = site(&server, &[]).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let run = started(&client).await;
    server.says([Speech::Silence]);
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let turning = client.continue_run(&run, "ferry-turn-0001", &turn);
    let stopping = async {
        server.was_asked(1).await;
        let body = json!({"expected_version": 2});
        let stopped = client.cancel(&run, "ferry-stop-0001", &body).await.ok(200);
        server.was_left(1).await;
        stopped
    };
    let (turned, stopped) = tokio::join!(turning, stopping);
    assert_eq!(stopped.statuses(), "cancelled/cancelled/blocked");
    turned.expect(409, "outcome_unknown");
    app.finish().await;
}
