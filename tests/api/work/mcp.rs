//! The tools of the workspace door.

mod reviews;

use helix::testing::{Face, OPERATIONS, TestApp};
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};

use super::client::{Agent, WRITE, text};
use super::person::Person;
use crate::harness::Answer;
use crate::races::beside::Beside;

const MCP: &str = "/workspace/mcp";

fn message(agent: &Agent<'_>, body: impl Into<reqwest::Body>) -> RequestBuilder {
    agent
        .app
        .client()
        .request(Method::POST, agent.app.url(MCP))
        .bearer_auth(&agent.token)
        .header("Accept", "application/json, text/event-stream")
        .header("Content-Type", "application/json")
        .header("MCP-Protocol-Version", "2025-06-18")
        .body(body)
}

async fn ask(agent: &Agent<'_>, method: &str, params: &Value) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Answer::of(message(agent, body.to_string())).await
}

/// The result of a call, held against the tool's published schema.
async fn call(agent: &Agent<'_>, tools: &[Value], name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    let answer = ask(agent, "tools/call", &params).await.ok(200);
    let result = answer.body["result"].clone();
    let told: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(told, result["structuredContent"]);
    let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
    let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
    if let Err(error) = schema.validate(&told) {
        panic!("{name}: {error}\n{told}");
    }
    result
}

async fn listed(agent: &Agent<'_>) -> Vec<Value> {
    let answer = ask(agent, "tools/list", &json!({})).await.ok(200);
    answer.body["result"]["tools"].as_array().unwrap().clone()
}

fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
}

#[tokio::test]
async fn every_era_is_spoken_and_the_list_is_that_of_the_registry() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ana", WRITE).await;
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let answer = ask(&agent, "initialize", &hello(asked)).await.ok(200);
        let result = &answer.body["result"];
        assert_eq!(result["protocolVersion"], given);
        assert_eq!(result["serverInfo"]["name"], "helix-workspace");
        assert_eq!(result["capabilities"], json!({"tools": {}}));
        assert_eq!(answer.header("mcp-session-id"), "");
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}});
    let discovered = message(&agent, body.to_string())
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "server/discover");
    let mut discovered = discovered.build().unwrap();
    let version = reqwest::header::HeaderValue::from_static("2026-07-28");
    discovered
        .headers_mut()
        .insert("MCP-Protocol-Version", version);
    let sent = app.client().execute(discovered).await.unwrap();
    assert_eq!(sent.status(), 200);
    let discovered: Value = serde_json::from_str(&sent.text().await.unwrap()).unwrap();
    assert!(
        discovered["result"]
            .to_string()
            .contains("\"helix-workspace\"")
    );
    let tools = listed(&agent).await;
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let rows: Vec<&str> = OPERATIONS
        .iter()
        .filter(|one| one.face == Face::Tool)
        .map(|one| one.name)
        .collect();
    assert_eq!(names, rows);
    for tool in &tools {
        jsonschema::meta::validate(&tool["inputSchema"]).unwrap();
        jsonschema::meta::validate(&tool["outputSchema"]).unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        assert!(!properties.contains_key("workspace_id"), "{tool}");
        assert_eq!(tool["securitySchemes"], tool["_meta"]["securitySchemes"]);
    }
    app.finish().await;
}

/// A call and the same question over REST, as one row of the comparison.
struct Twin {
    tool: &'static str,
    arguments: Value,
    method: Method,
    rest: String,
    body: Value,
}

async fn over_rest(agent: &Agent<'_>, twin: &Twin, key: &str) -> Answer {
    let mut request = agent.request(twin.method.clone(), &twin.rest);
    if twin.method == Method::POST {
        request = request
            .header("Idempotency-Key", key)
            .body(twin.body.to_string());
    }
    Answer::of(request).await
}

fn keyed(twin: &Twin, key: &str) -> Value {
    let mut arguments: Map<String, Value> = twin.arguments.as_object().unwrap().clone();
    if twin.method == Method::POST {
        arguments.insert("idempotency_key".to_owned(), key.into());
    }
    Value::Object(arguments)
}

/// Each tool, well asked and badly.
fn twins(project: &str, repository: &str, brief: &str, first: &str) -> Vec<Twin> {
    let p = format!("/projects/{project}");
    let b = format!("{p}/briefs/{brief}");
    let of = |tool, arguments: Value, method: Method, rest: &str, body: Value| Twin {
        tool,
        arguments,
        method,
        rest: rest.to_owned(),
        body,
    };
    let get = |tool, arguments, rest: &str| of(tool, arguments, Method::GET, rest, Value::Null);
    let unknown = "brf_00000000-0000-0000-0000-000000000001";
    vec![
        get("workspace_get", json!({}), ""),
        get("project_list", json!({"limit": 1}), "/projects?limit=1"),
        of(
            "project_create",
            json!({"name": "ebb"}),
            Method::POST,
            "/projects",
            json!({"name": "ebb"}),
        ),
        of(
            "project_codebase_link",
            json!({"project_id": project, "repository_id": repository, "expected_version": 1}),
            Method::POST,
            &format!("{p}/codebase-link"),
            json!({"repository_id": repository, "expected_version": 1}),
        ),
        get(
            "brief_list",
            json!({"project_id": project, "q": "Tide"}),
            &format!("{p}/briefs?q=Tide"),
        ),
        get(
            "brief_get",
            json!({"project_id": project, "brief_id": brief}),
            &b,
        ),
        get(
            "brief_get",
            json!({"project_id": project, "brief_id": unknown}),
            &format!("{p}/briefs/{unknown}"),
        ),
        of(
            "brief_create",
            json!({"project_id": project, "title": "Ebb"}),
            Method::POST,
            &format!("{p}/briefs"),
            json!({"title": "Ebb"}),
        ),
        of(
            "brief_proposal_create",
            json!({"project_id": project, "brief_id": brief, "body": "# Two", "summary": "second", "expected_version": 0}),
            Method::POST,
            &format!("{b}/proposals"),
            json!({"body": "# Two", "summary": "second", "expected_version": 0}),
        ),
        of(
            "brief_proposal_create",
            json!({"project_id": project, "brief_id": brief, "body": "# Two", "summary": "late", "expected_version": 7}),
            Method::POST,
            &format!("{b}/proposals"),
            json!({"body": "# Two", "summary": "late", "expected_version": 7}),
        ),
        get(
            "brief_proposal_list",
            json!({"project_id": project, "brief_id": brief, "proposal_id": first}),
            &format!("{b}/proposals?proposal_id={first}"),
        ),
        of(
            "brief_proposal_withdraw",
            json!({"project_id": project, "brief_id": brief, "proposal_id": first, "expected_version": 1}),
            Method::POST,
            &format!("{b}/proposals/{first}/withdraw"),
            json!({"expected_version": 1}),
        ),
        get("project_list", json!({"limit": 0}), "/projects?limit=0"),
        of(
            "project_create",
            json!({"name": "x", "more": 1}),
            Method::POST,
            "/projects",
            json!({"name": "x", "more": 1}),
        ),
    ]
}

/// The same but for what tells one answer from its repetition.
#[track_caller]
fn check_equal(twin: &Twin, rest: &Answer, tool: &Value) {
    let failed = rest.status >= 400;
    assert_eq!(
        tool["isError"] == true,
        failed,
        "{}: {tool}\n{}",
        twin.tool,
        rest.text
    );
    let (mut ours, mut theirs) = (tool["structuredContent"].clone(), rest.body.clone());
    if failed {
        for side in [&mut ours, &mut theirs] {
            side["request_id"] = Value::Null;
        }
    } else if twin.method == Method::POST {
        let mut replayed = [&ours, &theirs].map(|side| side["idempotency_replayed"] == true);
        replayed.sort_unstable();
        assert_eq!(replayed, [false, true], "{}", twin.tool);
        for side in [&mut ours, &mut theirs] {
            side["idempotency_replayed"] = Value::Null;
        }
    }
    assert_eq!(ours, theirs, "{}", twin.tool);
}

#[tokio::test]
async fn a_tool_answers_what_its_route_answers_and_a_key_counts_at_both() {
    let app = TestApp::start().await;
    let owner = Person::owner(&app).await;
    let wish = json!({"name": "harness", "scopes": ["brief:write"], "reach": {"kind": "all"}});
    let made = owner.post("/tokens", &wish).await.ok(201).body;
    let agent = Agent {
        app: &app,
        workspace: owner.workspace.clone(),
        token: text(&made["token"]),
    };
    let tools = listed(&agent).await;
    let project = agent.project("tides").await;
    let repository =
        json!({"name": "tide", "url": "https://git.example/tide", "project_ids": [project]});
    let repository = owner.post("/repositories", &repository).await.ok(201).body;
    let p = format!("/projects/{project}");
    let new = json!({"title": "Tide tables", "body": "# One", "summary": "first"});
    let created = agent
        .post(&format!("{p}/briefs"), "brief-one-key", &new)
        .await
        .ok(201)
        .body;
    let brief = text(&created["brief"]["brief_id"]);
    let first = text(&created["proposal"]["proposal_id"]);
    let twins = twins(
        &project,
        &text(&repository["repository_id"]),
        &brief,
        &first,
    );
    for (number, twin) in twins.iter().enumerate() {
        let key = format!("twin-number-{number}");
        // Each face is first in turn.
        let (rest, tool) = if number % 2 == 0 {
            let rest = over_rest(&agent, twin, &key).await;
            (
                rest,
                call(&agent, &tools, twin.tool, &keyed(twin, &key)).await,
            )
        } else {
            let tool = call(&agent, &tools, twin.tool, &keyed(twin, &key)).await;
            (over_rest(&agent, twin, &key).await, tool)
        };
        check_equal(twin, &rest, &tool);
    }
    app.finish().await;
}

#[tokio::test]
async fn scopes_and_reach_are_refused_in_band_and_the_floor_at_the_door() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ana", WRITE).await;
    let (seen, hidden) = (agent.project("seen").await, agent.project("hidden").await);
    let tools = listed(&agent).await;
    let reader = agent.beside("brief:read", &[&seen]).await;
    let arguments = json!({"name": "x", "idempotency_key": "a-key-of-its-own"});
    let refused = call(&reader, &tools, "project_create", &arguments).await;
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["structuredContent"]["error"], "insufficient_scope");
    let challenge = text(&refused["_meta"]["mcp/www_authenticate"][0]);
    for said in [
        "insufficient_scope",
        "brief:read brief:write",
        "oauth-protected-resource/workspace/mcp",
    ] {
        assert!(challenge.contains(said), "{challenge}");
    }
    for other in [hidden.as_str(), "prj_00000000-0000-0000-0000-000000000001"] {
        let refused = call(&reader, &tools, "brief_list", &json!({"project_id": other})).await;
        let body = &refused["structuredContent"];
        assert_eq!(body["error"], "PROJECT_ACCESS_DENIED");
        assert!(!body.to_string().contains(other));
    }
    call(&reader, &tools, "brief_list", &json!({"project_id": seen})).await;
    // Whatever is given out brings the floor with it, so only a row that was changed lacks it.
    let other = agent.beside(WRITE, &[]).await;
    Beside::open(&app)
        .await
        .run("update access.ledger set scopes = '{brief:write}' where kind = 'named_token' and revoked_at_ms is null")
        .await;
    let answer = ask(&other, "tools/list", &json!({})).await;
    let answer = answer.expect(403, "insufficient_scope");
    assert!(
        answer
            .header("www-authenticate")
            .contains("scope=\"brief:read\"")
    );
    app.finish().await;
}

#[tokio::test]
async fn nobody_is_asked_for_a_body_before_the_credential() {
    let app = TestApp::issuing().await;
    let owner = Person::owner(&app).await;
    let agent = Agent::of(&app, "ana", WRITE).await;
    let stranger = Agent {
        token: "hx_nt_unknown".to_owned(),
        ..agent.clone()
    };
    let origin = app.url("");
    let nonsense = message(&stranger, "{").header("Origin", &origin);
    let answer = Answer::of(nonsense).await.expect(401, "unauthorized");
    assert_eq!(answer.header("access-control-allow-origin"), origin);
    assert!(
        answer
            .header("access-control-expose-headers")
            .contains("WWW-Authenticate")
    );
    let challenge = answer.header("www-authenticate");
    assert!(
        challenge.contains("/.well-known/oauth-protected-resource/workspace/mcp"),
        "{challenge}"
    );
    // A session is no bearer.
    let session = owner
        .browser
        .lane(Method::POST, MCP)
        .header("Content-Type", "application/json")
        .body("{}");
    Answer::of(session).await.expect(401, "unauthorized");
    let get = app.client().get(app.url(MCP));
    let get = Answer::of(get).await.ok(405);
    assert_eq!(
        (get.header("allow"), &get.body["error"]["code"]),
        ("POST", &json!(-32000))
    );
    let options = app
        .client()
        .request(Method::OPTIONS, app.url(MCP))
        .header("Origin", &origin);
    Answer::of(options).await.ok(204);
    app.finish().await;
}

#[tokio::test]
async fn an_envelope_with_a_fault_is_refused_without_an_echo() {
    let app = TestApp::start().await;
    let agent = Agent::of(&app, "ana", WRITE).await;
    let call = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    for (body, status, code) in [
        ("{".to_owned(), 400, -32700),
        (r#"{"a":1,"a":2}"#.to_owned(), 400, -32700),
        ("[]".to_owned(), 400, -32600),
        (
            json!([call("workspace_get", json!({}))]).to_string(),
            400,
            -32600,
        ),
        (
            json!({"jsonrpc": "1.0", "id": 1, "method": "kestrel"}).to_string(),
            400,
            -32600,
        ),
        (call("member_list", json!({})).to_string(), 200, -32602),
        (call("kestrel", json!({})).to_string(), 200, -32602),
    ] {
        let answer = Answer::of(message(&agent, body.clone())).await;
        assert_eq!(
            (answer.status, &answer.body["error"]["code"]),
            (status, &json!(code)),
            "{body}"
        );
        assert!(!answer.text.contains("kestrel"), "{}", answer.text);
    }
    let long = format!("\"{}\"", "x".repeat(600 * 1_024));
    Answer::of(message(&agent, long))
        .await
        .expect(413, "too_large");
    let url = app.url(&format!("{MCP}?access_token={}", agent.token));
    let leaked = app.client().post(url).bearer_auth(&agent.token).body("{}");
    Answer::of(leaked).await.expect(400, "invalid_request");
    let zipped = message(&agent, "{}").header("Content-Encoding", "gzip");
    Answer::of(zipped).await.ok(415);
    app.finish().await;
}

#[tokio::test]
async fn a_token_that_ends_in_the_middle_is_a_401_and_no_result() {
    let app = TestApp::start().await;
    let caller = app.caller("ana").await;
    let workspace = app.workspace_of(&caller).await;
    let (token, id) = app.named_token(workspace, WRITE, &[]).await;
    let agent = Agent {
        app: &app,
        workspace: workspace.to_string(),
        token,
    };
    listed(&agent).await;
    app.revoke_named_token(id).await;
    ask(&agent, "tools/list", &json!({}))
        .await
        .expect(401, "unauthorized");
    app.finish().await;
}
