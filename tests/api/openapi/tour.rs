//! One tour through everything that can be asked, each answer held against the document.

use helix::testing::{Script, Setup, TestApp, Turns, registered_routes};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::document::{Document, conforms};
use crate::harness::{Answer, Client, RUNS};
use crate::mcp::client::{call, listed, message, request};
use crate::workers::client::{self as workers, CLAIM, COMPLETE, HEARTBEAT, TOOL, Worker};

const RUN: &str = "/api/v1/agent-runs/{run_id}";

/// Asks, and holds the answers against the document.
struct Tour<'a> {
    client: Client<'a>,
    document: &'a Document,
}

impl Tour<'_> {
    async fn asked(&self, method: &str, pattern: &str, request: RequestBuilder) -> Answer {
        let answer = Answer::of(request).await;
        self.document.check(method, pattern, &answer);
        answer
    }

    async fn get(&self, run: &str, rest: &str, query: &str) -> Answer {
        let pattern = format!("{RUN}{rest}");
        let path = pattern
            .replace("{run_id}", run)
            .replace("{ref}", "evidence%3Anone");
        let request = self.client.request(Method::GET, &format!("{path}{query}"));
        self.asked("GET", &pattern, request).await
    }

    async fn post(&self, run: &str, rest: &str, key: &str, body: &Value) -> Answer {
        let path = format!("{RUNS}/{run}{rest}");
        let request = self
            .client
            .request(Method::POST, &path)
            .header("Idempotency-Key", key)
            .body(body.to_string());
        self.asked("POST", &format!("{RUN}{rest}"), request).await
    }

    async fn start(&self, key: &str, body: &Value) -> Answer {
        let request = self
            .client
            .request(Method::POST, RUNS)
            .header("Idempotency-Key", key)
            .body(body.to_string());
        self.asked("POST", RUNS, request).await
    }
}

fn turn(version: u64) -> Value {
    json!({"expected_version": version, "instruction": "go"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_a_runs_life_are_what_the_document_promises() {
    let app = TestApp::start().await;
    let document = Document::of(&app).await;
    let tour = Tour {
        client: Client::new(&app, &app.caller("ana").await),
        document: &document,
    };
    let plan = json!({"objective": "List the ferries", "constraints": ["by sea"]});
    let run = tour.start("ferry-plan-0001", &plan).await.ok(201).run_id();
    tour.start("ferry-plan-0001", &plan).await.ok(201);
    tour.start("ferry-plan-0001", &json!({"objective": "Other"}))
        .await
        .ok(409);
    let questions = json!([{"question_id": "q-port", "prompt": "Which?", "required_fields": ["name"],
        "options": [{"value": "vik", "label": "Vik"}]}]);
    app.script.answer(&json!({"pending_questions": questions, "needs_input": true,
        "observation_refs": ["o:1"], "unresolved_requirements": ["price"], "contradictions": ["9 or 10"]}));
    tour.post(&run, "/continue", "ferry-turn-0001", &turn(1))
        .await
        .ok(200);
    tour.post(&run, "/continue", "ferry-turn-0002", &turn(1))
        .await
        .ok(409);
    let resolved =
        json!({"resolved_requirements": ["price"], "resolved_contradictions": ["9 or 10"]});
    let mut success = Script::success();
    success
        .as_object_mut()
        .unwrap()
        .extend(resolved.as_object().unwrap().clone());
    app.script.answer(&success);
    let answers = json!({"expected_version": 3, "answers": [{"question_id": "q-port", "value": {"any": [1, null]}}]});
    let done = tour
        .post(&run, "/continue", "ferry-turn-0003", &answers)
        .await
        .ok(200);
    assert_eq!(done.body["lifecycle_status"], "completed", "{}", done.text);
    tour.post(&run, "/continue", "ferry-turn-0004", &turn(5))
        .await
        .ok(409);
    let other = tour.start("ferry-plan-0002", &plan).await.ok(201).run_id();
    tour.post(
        &other,
        "/cancel",
        "ferry-stop-0001",
        &json!({"expected_version": 1, "reason": "No."}),
    )
    .await
    .ok(200);
    for run in [&run, &other] {
        for rest in ["", "/events", "/evidence", "/log"] {
            tour.get(run, rest, "").await.ok(200);
        }
    }
    tour.get(&run, "/evidence/{ref}", "").await.ok(404);
    tour.get(&run, "/events", "?after_seq=3&limit=1")
        .await
        .ok(200);
    let list = tour
        .client
        .request(Method::GET, &format!("{RUNS}?limit=1&status=completed"));
    tour.asked("GET", RUNS, list).await.ok(200);
    streams(&tour, &run).await;
    app.finish().await;
}

async fn streams(tour: &Tour<'_>, ended: &str) {
    for (query, status) in [("", 200), ("?after_seq=500", 204)] {
        let path = format!("{RUNS}/{ended}/events{query}");
        let request = tour
            .client
            .request(Method::GET, &path)
            .header("Accept", "text/event-stream");
        let answer = tour
            .asked("GET", &format!("{RUN}/events"), request)
            .await
            .ok(status);
        if status == 204 {
            assert_eq!(answer.text, "");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_of_event_has_the_payload_that_is_published() {
    let app = TestApp::start().await;
    let document = Document::of(&app).await;
    let tour = Tour {
        client: Client::new(&app, &app.caller("ana").await),
        document: &document,
    };
    app.freeze().await;
    let budget = |steps: u32| json!({"objective": "List", "budget": {"max_steps": steps, "expires_in_seconds": 60}});
    let late = tour.start("ferry-plan-0001", &budget(2)).await.run_id();
    let spent = tour.start("ferry-plan-0002", &budget(1)).await.run_id();
    tour.post(&spent, "/continue", "ferry-turn-0001", &turn(1))
        .await
        .ok(200);
    let failed = tour.start("ferry-plan-0003", &budget(2)).await.run_id();
    app.script.crash();
    tour.post(&failed, "/continue", "ferry-turn-0002", &turn(1))
        .await
        .ok(200);
    let blocked = tour.start("ferry-plan-0004", &budget(3)).await.run_id();
    app.script
        .answer(&json!({"ok": false, "status_code": 422, "failure_code": "no_progress"}));
    tour.post(&blocked, "/continue", "ferry-turn-0003", &turn(1))
        .await
        .ok(200);
    app.advance(std::time::Duration::from_secs(61)).await;
    tour.post(&late, "/continue", "ferry-turn-0004", &turn(1))
        .await
        .ok(200);
    for run in [&late, &spent, &failed, &blocked] {
        tour.get(run, "/events", "").await.ok(200);
        tour.get(run, "", "").await.ok(200);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_what_the_document_promises_in_both_envelopes() {
    let app = TestApp::start().await;
    let document = Document::of(&app).await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let unknown = "run_00000000-0000-0000-0000-000000000000";
    let tokens = [
        (ana.token(), 404),
        ("not.a.token".to_owned(), 401),
        (ana.token_with(&json!({"tenantId": null})), 401),
        (ana.stranger().token(), 403),
        (ana.token_of("helix.rooms.read"), 403),
    ];
    for (token, status) in tokens {
        let tour = Tour {
            client: client.with_token(token),
            document: &document,
        };
        for rest in ["", "/events", "/evidence", "/evidence/{ref}", "/log"] {
            tour.get(unknown, rest, "").await.ok(status);
        }
        tour.post(unknown, "/continue", "ferry-turn-0001", &turn(1))
            .await
            .ok(status);
    }
    let tour = Tour {
        client,
        document: &document,
    };
    tour.get("short", "", "").await.ok(400);
    tour.get(unknown, "/events", "?limit=0&more=1")
        .await
        .ok(400);
    tour.start(
        "ferry-plan-0001",
        &json!({"objective": "x".repeat(600_000)}),
    )
    .await
    .ok(413);
    tour.start(
        "ferry-plan-0001",
        &json!({"objective": "x", "database_scope": ["public_web"]}),
    )
    .await
    .ok(403);
    for (header, value, status) in [
        ("Accept", "application/problem+json", 400),
        ("Content-Encoding", "gzip", 415),
        ("Origin", "https://evil.example", 403),
        ("Host", "evil.example", 403),
    ] {
        let request = tour
            .client
            .request(Method::POST, RUNS)
            .header(header, value)
            .body("{}");
        tour.asked("POST", RUNS, request).await.ok(status);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limited_requests_are_what_the_document_promises() {
    let app = TestApp::with(Setup {
        environment: vec![("HELIX_AGENT_PRINCIPAL_RATE_LIMIT", "1".to_owned())],
        ..Setup::default()
    })
    .await;
    let document = Document::of(&app).await;
    app.freeze().await;
    let tour = Tour {
        client: Client::new(&app, &app.caller("ana").await),
        document: &document,
    };
    for status in [200, 429] {
        let request = tour.client.request(Method::GET, RUNS);
        tour.asked("GET", RUNS, request).await.ok(status);
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passage_read_back_is_what_the_document_promises() {
    let app = TestApp::with(Setup {
        turns: Turns::Solved,
        library: vec![(
            "ferry.md",
            b"# Ferry\n\nThe last ferry to Skarholm leaves at 22:40 on weekdays.\n".to_vec(),
        )],
        ..Setup::default()
    })
    .await;
    let document = Document::of(&app).await;
    let tour = Tour {
        client: Client::new(&app, &app.caller("ana").await),
        document: &document,
    };
    let plan = json!({"objective": "When does the last ferry to Skarholm leave?", "database_scope": ["research_library"]});
    let run = tour.start("ferry-plan-0001", &plan).await.ok(201).run_id();
    let done = tour
        .post(&run, "/continue", "ferry-turn-0001", &turn(1))
        .await
        .ok(200);
    let item = done.body["evidence"]["evidence_refs"][0]
        .as_str()
        .expect("a ref")
        .replace(':', "%3A");
    let request = tour
        .client
        .request(Method::GET, &format!("{RUNS}/{run}/evidence/{item}"));
    tour.asked("GET", &format!("{RUN}/evidence/{{ref}}"), request)
        .await
        .ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_messages_are_what_the_document_and_the_tools_promise() {
    let app = TestApp::start().await;
    let document = Document::of(&app).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let tour = Tour {
        client: client.clone(),
        document: &document,
    };
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for (body, status) in [
        (request(1, "tools/list", &json!({})), 200),
        (request(1, "nonsense", &json!({})), 200),
        (
            json!([
                request(1, "ping", &json!({})),
                request(2, "nonsense", &json!({}))
            ]),
            200,
        ),
        (told, 202),
        (json!({"jsonrpc": "1.0"}), 400),
    ] {
        tour.asked("POST", "/mcp", message(&client, body.to_string()))
            .await
            .ok(status);
    }
    for (header, value, status) in [
        ("Accept", "text/html", 406),
        ("Content-Type", "text/html", 415),
    ] {
        let ping = request(1, "ping", &json!({})).to_string();
        let mut request = message(&client, ping).build().unwrap();
        request.headers_mut().insert(header, value.parse().unwrap());
        let asked = RequestBuilder::from_parts(app.client().clone(), request);
        tour.asked("POST", "/mcp", asked).await.ok(status);
    }
    let nobody = client.with_token("nonsense".to_owned());
    let ping = request(1, "ping", &json!({})).to_string();
    tour.asked("POST", "/mcp", message(&nobody, ping))
        .await
        .ok(401);
    tour.asked(
        "OPTIONS",
        "/mcp",
        app.client().request(Method::OPTIONS, app.url("/mcp")),
    )
    .await
    .ok(204);
    tools(&app, &client).await;
    app.finish().await;
}

/// Each tool once well and once badly, held against its own schema.
async fn tools(app: &TestApp, client: &Client<'_>) {
    let outputs = listed(client).await;
    let schema = |name: &str| {
        &outputs
            .iter()
            .find(|tool| tool["name"] == name)
            .expect(name)["outputSchema"]
    };
    let start = json!({"idempotency_key": "ferry-plan-0001", "request": {"objective": "List"}});
    let started = call(client, "helix_run_start", &start).await;
    let run = started["structuredContent"]["run"]["run_id"].clone();
    app.script.answer(&Script::success());
    let go = json!({"run_id": run, "idempotency_key": "ferry-turn-0001", "request": turn(1)});
    let by_run = json!({"run_id": run});
    conforms(schema("helix_run_start"), &started["structuredContent"]);
    for (tool, arguments) in [
        ("helix_run_continue", &go),
        ("helix_run_inspect", &by_run),
        ("helix_run_fetch_evidence", &by_run),
        ("helix_run_list_events", &by_run),
        ("helix_run_cancel", &go),
        ("helix_run_start", &json!({})),
    ] {
        let result = call(client, tool, arguments).await;
        conforms(schema(tool), &result["structuredContent"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_and_pages_are_what_the_document_promises() {
    let app = TestApp::start().await;
    let document = Document::of(&app).await;
    let open = |path: &str| !path.starts_with(RUNS) && path != "/mcp";
    for (method, pattern) in registered_routes()
        .into_iter()
        .filter(|(_, path)| open(path))
    {
        for code in ["run_busy", "nothing"] {
            let path = pattern.replace("{code}", code);
            let verb = Method::from_bytes(method.as_bytes()).unwrap();
            let answer = Answer::of(app.client().request(verb.clone(), app.url(&path))).await;
            document.check(method, &pattern, &answer);
            if !["/healthz", "/readyz"].contains(&pattern.as_str()) {
                let elsewhere = app
                    .client()
                    .request(verb, app.url(&path))
                    .header("Host", "evil.example");
                document.check(method, &pattern, &Answer::of(elsewhere).await.ok(403));
            }
        }
    }
    assert!(document.seen().contains(&("errorPage".to_owned(), 404)));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_a_worker_are_what_the_document_promises() {
    let app = workers::app().await;
    let document = Document::of(&app).await;
    let client = Client::new(&app, &app.caller("ana").await);
    let worker = Worker::new(&app).await;
    let checked = |path: &str, answer: Answer| {
        document.check("POST", path, &answer);
        answer
    };
    checked(CLAIM, worker.try_claim(0).await.ok(204));
    let run = workers::started(&client, "ferry-plan-0001").await;
    let body = turn(1);
    let (done, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &body), async {
        let given = checked(CLAIM, worker.try_claim(25_000).await.ok(200)).body;
        let token = given["turn_token"].as_str().unwrap().to_owned();
        let turn = workers::Turn { token, given };
        checked(HEARTBEAT, worker.heartbeat(&turn).await.ok(200));
        let capability = "research-library.read_document";
        let arguments = json!({"query": "ferry Vik", "source": null, "start": null, "end": null});
        let found = checked(
            TOOL,
            worker.tool(&turn, capability, arguments).await.ok(200),
        );
        checked(
            TOOL,
            worker.tool(&turn, "repo.search", json!({})).await.ok(403),
        );
        let product = workers::product(workers::source_of(&found.body), workers::QUOTE);
        let sent = json!({"turn_token": turn.token, "product": product});
        document.conforms(
            &json!({"$ref": "#/components/schemas/WorkerProduct"}),
            &sent,
        );
        checked(COMPLETE, worker.complete(&turn, &product).await.ok(200));
        checked(
            COMPLETE,
            worker.complete(&turn, &json!({"more": 1})).await.ok(400),
        );
        checked(HEARTBEAT, worker.heartbeat(&turn).await.ok(409));
    });
    done.ok(200);
    let stranger = Worker {
        token: "nonsense".to_owned(),
        ..worker.clone()
    };
    checked(CLAIM, stranger.try_claim(0).await.ok(401));
    app.finish().await;
}
