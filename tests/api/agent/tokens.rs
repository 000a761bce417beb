//! A token counts only if every claim does.

use helix::testing::{AccountType, Caller, Script, Setup, TestApp};
use reqwest::Method;
use serde_json::{Value, json};

use crate::fixtures::token_claims;
use crate::harness::{Answer, Client, RUNS};
use crate::issuer::Issuer;
use crate::raw;

const CHALLENGE: &str = "Bearer resource_metadata=\"https://helix.example.org/.well-known/oauth-protected-resource\", error=\"invalid_token\", error_description=\"";

/// A server that trusts the published keys of `issuer` and nothing else.
pub async fn trusting(issuer: &Issuer) -> TestApp {
    TestApp::with(Setup {
        settings: vec![("public_url", "https://helix.example.org".to_owned())],
        environment: vec![
            ("HELIX_AGENT_ALLOW_LOCAL_HS256", String::new()),
            ("HELIX_AGENT_LOCAL_JWT_SECRET", String::new()),
            ("HELIX_AGENT_OAUTH_JWKS_URL", issuer.url.clone()),
        ],
        ..Setup::default()
    })
    .await
}

fn now() -> f64 {
    std::time::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_secs_f64()
        .floor()
}

/// Replaces `{"now": n}` by a time and drops nulls.
fn timed(mut claims: Value) -> Value {
    for value in claims.as_object_mut().unwrap().values_mut() {
        if let Some(offset) = value["now"].as_f64() {
            *value = if offset.fract() == 0.0 {
                #[expect(clippy::cast_possible_truncation, reason = "seconds of this age fit")]
                let whole = (now() + offset) as i64;
                json!(whole)
            } else {
                json!(now() + offset)
            };
        }
    }
    claims
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    claims
}

/// The request of one row, and the token in it.
fn request_of(row: &Value, issuer: &Issuer, app: &TestApp, path: &str) -> reqwest::RequestBuilder {
    presented(
        row,
        issuer,
        app.client().request(Method::GET, app.url(path)),
    )
}

/// `request` with what the row sends along.
fn presented(
    row: &Value,
    issuer: &Issuer,
    mut request: reqwest::RequestBuilder,
) -> reqwest::RequestBuilder {
    let (base, change) = (token_claims()["base"].clone(), &row["change"]);
    let merged = |part: &str| {
        let mut merged = base[part].clone();
        if let Some(changes) = change[part].as_object() {
            merged.as_object_mut().unwrap().extend(changes.clone());
        }
        timed(merged)
    };
    let (mut header, claims) = (merged("header"), merged("claims"));
    if header.get("jwk").is_some() {
        header["jwk"] = issuer.attacker_jwk();
    }
    let signer = change["sign_with"]
        .as_str()
        .or(change["signature"].as_str());
    let token = issuer.token(&header, &claims, signer);
    match change.get("authorization") {
        None => request = request.bearer_auth(&token),
        Some(Value::Null) => {}
        Some(text) => {
            let text = text.as_str().unwrap().replace("<token>", &token);
            let long = "a".repeat(100_000);
            let text = text.replace("<\"a\" x 100000>", &long);
            request = request.header("Authorization", text);
        }
    }
    for (name, value) in change["headers"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str().unwrap());
    }
    request
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_to_a_good_token_is_answered_as_the_table_says() {
    let issuer = Issuer::start().await;
    let app = trusting(&issuer).await;
    app.linked("user|4711", "harbour-coop", AccountType::User)
        .await;
    let table = token_claims();
    let missing = format!("{RUNS}/run_{}", uuid::Uuid::nil());
    for row in table["rows"].as_array().unwrap() {
        let name = &row["name"];
        let answer = Answer::of(request_of(row, &issuer, &app, RUNS)).await;
        let status = row["expect"].as_u64().unwrap();
        if row["or"] == answer.status {
            continue;
        }
        assert_eq!(u64::from(answer.status), status, "{name}: {}", answer.text);
        if status == 200 {
            // The token is good for exactly what it says.
            let answer = Answer::of(request_of(row, &issuer, &app, &missing)).await;
            answer.expect(404, "not_found");
            continue;
        }
        let answer = answer.expect(answer_status(row), row["code"].as_str().unwrap());
        assert!(
            answer
                .body
                .get("details")
                .is_none_or(|details| status == 403 && details.is_object())
        );
        assert_eq!(answer.body["retryable"], false);
        let challenge = answer.header("www-authenticate");
        match answer.code() {
            "unauthorized" | "tenant_required" => {
                assert!(challenge.starts_with(CHALLENGE), "{name}: {challenge}");
                let scopes = ", scope=\"helix.agent_runs.read helix.agent_runs.write\"";
                assert!(challenge.ends_with(scopes), "{name}: {challenge}");
            }
            "insufficient_scope" => {
                assert!(challenge.contains("error=\"insufficient_scope\""));
                assert!(
                    challenge.ends_with(", scope=\"helix.agent_runs.read\""),
                    "{challenge}"
                );
            }
            _ => assert_eq!(challenge, "", "{name}"),
        }
    }
    // The set, and one more look for the first unknown key id.
    assert!(issuer.asked() <= 2, "{} requests", issuer.asked());
    app.finish().await;
}

/// The same table at the other face. What is wrong with a token is told over HTTP; what a good one
/// may not do, by the tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_answered_alike_to_mcp_clients() {
    let issuer = Issuer::start().await;
    let app = trusting(&issuer).await;
    app.linked("user|4711", "harbour-coop", AccountType::User)
        .await;
    let arguments = json!({"run_id": format!("run_{}", uuid::Uuid::nil())});
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "helix_run_inspect", "arguments": arguments},
    });
    for row in token_claims()["rows"].as_array().unwrap() {
        let name = &row["name"];
        let request = app.client().post(app.url("/mcp")).json(&call);
        let answer = Answer::of(presented(row, &issuer, request)).await;
        if row["or"] == answer.status {
            continue;
        }
        let (status, code) = (
            answer_status(row),
            row["code"].as_str().unwrap_or("not_found"),
        );
        if status == 200 || code == "insufficient_scope" {
            let result = &answer.clone().ok(200).body["result"];
            assert_eq!(result["isError"], true, "{name}: {}", answer.text);
            assert_eq!(result["structuredContent"]["error"], code, "{name}");
            continue;
        }
        let answer = answer.expect(status, code);
        let challenge = answer.header("www-authenticate");
        assert_eq!(challenge.is_empty(), status != 401, "{name}: {challenge}");
        if status == 401 {
            let metadata = "/.well-known/oauth-protected-resource/mcp\", error=\"invalid_token\"";
            assert!(challenge.contains(metadata), "{name}: {challenge}");
        }
    }
    app.finish().await;
}

fn answer_status(row: &Value) -> u16 {
    u16::try_from(row["expect"].as_u64().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_refused_tokens_look_alike() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let good = ana.token();
    let (head, tail) = good.rsplit_once('.').unwrap();
    let flipped: String = tail.chars().rev().collect();
    let tokens = [
        "x".to_owned(),
        "a.b.c".to_owned(),
        format!("{head}."),
        format!("{head}.{flipped}"),
        format!("{good}.{tail}"),
        format!("{good}="),
        ana.token_with(&json!({"exp": 1})),
        ana.token_with(&json!({"sub": ""})),
        ana.token_with(&json!({"sub": "s".repeat(256)})),
        ana.token_with(&json!({"sub": "ana\nadmin"})),
        ana.token_with(&json!({"iss": [helix::testing::ISSUER]})),
        ana.token_with(&json!({"nbf": "0"})),
        ana.token_with(&json!({"iat": true})),
        ana.token_with(&json!({"nonce": "n"})),
        ana.token_with(&json!({"at_hash": "h"})),
        "hx_at_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf45rGb8".to_owned(),
        "t".repeat(9_000),
    ];
    let mut seen: Vec<(Value, String)> = Vec::new();
    for token in tokens {
        let answer = client.with_token(token.clone()).get(RUNS).await;
        let mut answer = answer.expect(401, "unauthorized");
        assert!(token.len() < 8 || !answer.text.contains(&token));
        answer.body["request_id"] = Value::Null;
        seen.push((
            answer.body.clone(),
            answer.header("www-authenticate").to_owned(),
        ));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_authorization_header_is_read_and_two_are_refused() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let header = format!("authorization: Bearer {}", ana.token());
    let get = format!("GET {RUNS} HTTP/1.1");
    let one = raw::send(&app, &[&get, "host: localhost", &header], b"").await;
    assert_eq!(one.status, 200);
    let two = raw::send(&app, &[&get, "host: localhost", &header, &header], b"").await;
    assert_eq!(
        (two.status, &two.json()["error"]),
        (400, &json!("invalid_request"))
    );
    let joined = format!("{header}, Bearer {}", ana.token());
    let joined = raw::send(&app, &[&get, "host: localhost", &joined], b"").await;
    assert_eq!(joined.status, 401);
    let tenants = [
        "X-Tenant-Id: harbour-coop",
        "X-Org-Id: harbour-coop",
        "X-Org-Id: other-coop",
    ];
    let lines = [
        &get,
        "host: localhost",
        &header,
        tenants[0],
        tenants[1],
        tenants[2],
    ];
    let mismatch = raw::send(&app, &lines, b"").await;
    assert_eq!(
        (mismatch.status, &mismatch.json()["error"]),
        (403, &json!("tenant_mismatch"))
    );
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_token_is_dead_before_it_is_weak_and_a_weak_one_learns_nothing_of_its_body() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let dead = ana.token_with(&json!({"exp": 1, "scope": null}));
    let weak = ana.token_of("helix.agent_runs.read");
    let client = |token: &str| Client::new(&app, &ana).with_token(token.to_owned());
    let bad = json!({"objectve": 1});
    client(&dead)
        .start("ferry-plan-0001", &bad)
        .await
        .expect(401, "unauthorized");
    let answer = client(&weak)
        .start("k", &bad)
        .await
        .expect(403, "insufficient_scope");
    let details = json!({"required_scope": "helix.agent_runs.write", "required_oauth_scopes": ["helix.agent_runs.write"]});
    assert_eq!(answer.body["details"], details);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unlinked_caller_is_refused_at_once_and_sees_its_runs_again_after_a_new_link() {
    let mut app = TestApp::start().await;
    app.add_server().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let run = client
        .start("ferry-plan-0001", &json!({"objective": "List"}))
        .await
        .run_id();
    app.unlink(&ana).await;
    for server in [0, 1] {
        let refused = client.at(server).inspect(&run).await;
        let refused = refused.expect(403, "account_not_linked");
        assert_eq!(refused.header("www-authenticate"), "");
        client
            .at(server)
            .start("ferry-plan-0001", &json!({"objective": "List"}))
            .await
            .expect(403, "account_not_linked");
    }
    let again: Caller = app.link_again(&ana).await;
    assert_eq!(again.binding_ref, ana.binding_ref);
    client.inspect(&run).await.ok(200);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authentication_that_is_not_configured_or_cannot_be_done_says_so_without_a_challenge() {
    let half = [
        ("HELIX_AGENT_ALLOW_LOCAL_HS256", String::new()),
        ("HELIX_AGENT_LOCAL_JWT_SECRET", String::new()),
    ];
    // Nobody listens on the discard port.
    let dead = (
        "HELIX_AGENT_OAUTH_JWKS_URL",
        "http://127.0.0.1:9/keys".to_owned(),
    );
    let issuer = Issuer::start().await;
    for environment in [half.to_vec(), [half.as_slice(), &[dead]].concat()] {
        let setup = Setup {
            environment,
            ..Setup::default()
        };
        let app = TestApp::with(setup).await;
        app.caller("ana").await;
        let claims = json!({
            "iss": helix::testing::ISSUER, "aud": helix::testing::AUDIENCE, "sub": "ana",
            "exp": now() + 300.0, "tenantId": "harbour-coop", "scope": "helix.agent_runs.read",
        });
        let header = json!({"alg": "ES256", "kid": "es-1"});
        let token = issuer.token(&header, &claims, None);
        let request = app.client().get(app.url(RUNS)).bearer_auth(&token);
        let answer = Answer::of(request).await.expect(503, "auth_not_configured");
        assert_eq!(answer.header("www-authenticate"), "");
        assert_eq!(answer.body["retryable"], false);
        // Bad JSON and credentials in the body are still judged first.
        let bad = app.client().post(app.url(RUNS)).body("{");
        Answer::of(bad).await.expect(400, "invalid_request");
        app.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_shared_connections_every_answer_goes_to_its_own_caller() {
    let app = TestApp::start().await;
    let mut callers = Vec::new();
    for number in 0..12 {
        callers.push(app.caller(&format!("caller-{number}")).await);
    }
    let rounds = callers.iter().enumerate().map(|(number, caller)| {
        let client = Client::new(&app, caller);
        async move {
            let mark = format!("objective of {number}.");
            let body = json!({"objective": mark});
            let run = client.started("shared-key-0001", &body).await;
            for _ in 0..20 {
                let seen = client.inspect(&run).await.ok(200);
                assert_eq!(seen.body["objective"], mark);
                let list = client.get(RUNS).await.ok(200);
                assert_eq!(list.body["runs"].as_array().unwrap().len(), 1);
                assert_eq!(list.body["runs"][0]["objective"], mark);
            }
        }
    });
    futures_util::future::join_all(rounds).await;
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unlinking_ends_a_running_turn_and_frees_its_run_for_the_next_link() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let plan = json!({"objective": "List"});
    let run = client.start("ferry-plan-0001", &plan).await.run_id();
    // The gate stays shut: nothing but the revocation ends the turn.
    let _gate = app.script.hold(&Script::success());
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let (refused, ()) = tokio::join!(client.continue_run(&run, "ferry-turn-0001", &turn), async {
        app.script.begun(1).await;
        app.unlink(&ana).await;
    });
    refused.expect(403, "account_not_linked");
    app.link_again(&ana).await;
    let seen = client.inspect(&run).await.ok(200);
    assert_eq!(
        (seen.statuses(), seen.version()),
        ("running/pending/not_evaluated".to_owned(), 2)
    );
    let again = client.continue_run(&run, "ferry-turn-0001", &turn).await;
    again.expect(409, "outcome_unknown");
    // Nobody has to wait for the dead turn's time to pass.
    app.script.answer(&Script::success());
    let next = json!({"expected_version": 2, "instruction": "go"});
    let done = client
        .continue_run(&run, "ferry-turn-0002", &next)
        .await
        .ok(200);
    assert_eq!(done.statuses(), "completed/completed/authorized");
    assert_eq!(done.body["budget"]["steps_used"], 2);
    let names = client.event_names(&run).await;
    let taken_over = [
        "run_started",
        "continuation_received",
        "runtime_recovered",
        "continuation_received",
    ];
    assert_eq!(names[..4], taken_over);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outside_production_the_loopback_address_is_an_audience_too() {
    let app = TestApp::start().await;
    let ana = app.caller("ana").await;
    let ask = async |audience: Value| {
        let token = ana.token_with(&json!({"aud": audience, "scope": "helix.agent_runs.read"}));
        let client = Client::new(&app, &ana).with_token(token);
        client.get(RUNS).await.status
    };
    let own = app.url("/mcp");
    assert_eq!(ask(json!(own)).await, 200);
    assert_eq!(ask(json!(["https://other.example.org", own])).await, 200);
    for other in [
        format!("{own}/"),
        app.url(""),
        "http://127.0.0.1/mcp".to_owned(),
        own.replace("127.0.0.1", "localhost"),
    ] {
        assert_eq!(ask(json!(other)).await, 401, "{other}");
    }
    app.finish().await;
}
