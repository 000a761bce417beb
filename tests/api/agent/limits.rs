//! Rate limits: whom they mean, what they say, when they end.

use std::time::Duration;

use helix::testing::{Setup, TestApp};
use reqwest::Method;
use serde_json::json;

use crate::harness::{Answer, Client, RUNS};
use crate::raw;

async fn limited(address: &str, principal: &str) -> TestApp {
    let app = TestApp::with(Setup {
        settings: vec![("trust_proxy", "loopback".to_owned())],
        environment: vec![
            ("HELIX_AGENT_IP_RATE_LIMIT", address.to_owned()),
            ("HELIX_AGENT_PRINCIPAL_RATE_LIMIT", principal.to_owned()),
        ],
        ..Setup::default()
    })
    .await;
    app.freeze().await;
    app
}

/// A request that comes from `address` through a trusted proxy.
async fn from(client: &Client<'_>, address: &str) -> Answer {
    let request = client
        .request(Method::GET, RUNS)
        .header("X-Forwarded-For", address);
    Answer::of(request).await
}

fn numbers(answer: &Answer) -> [u64; 3] {
    ["limit", "remaining", "reset"].map(|name| {
        let text = answer.header(&format!("x-ratelimit-{name}"));
        text.parse().unwrap_or_else(|_| panic!("{name}: {text:?}"))
    })
}

#[track_caller]
fn check_limited(answer: &Answer, limit: u64) {
    assert_eq!(answer.status, 429, "{}", answer.text);
    let [shown, remaining, reset] = numbers(answer);
    assert_eq!((shown, remaining), (limit, 0));
    let after_ms = answer.body["retryAfterMs"].as_u64().unwrap();
    assert!(after_ms > 0 && after_ms <= 60_000 && reset > after_ms);
    assert_eq!(
        answer.header("retry-after"),
        after_ms.div_ceil(1_000).to_string()
    );
    assert_eq!(answer.body["error"], "rate_limited");
    assert!(answer.body["message"].is_string() && answer.body.get("schema").is_none());
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(answer.header("x-request-id").starts_with("agent_req_"));
    assert_eq!(answer.header("www-authenticate"), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_has_120_requests_a_minute_and_a_fresh_minute_after_that() {
    let app = limited("120", "0").await;
    let client = Client::new(&app, &app.caller("ana").await);
    let first = from(&client, "192.0.2.1").await.ok(200);
    let [limit, remaining, reset] = numbers(&first);
    assert_eq!((limit, remaining), (120, 119));
    assert_eq!(first.header("ratelimit-policy"), "\"minute\";q=120;w=60");
    assert_eq!(first.header("ratelimit"), "\"minute\";r=119;t=60");
    app.advance(Duration::from_millis(30_500)).await;
    for left in (0..119).rev() {
        assert_eq!(
            numbers(&from(&client, "192.0.2.1").await.ok(200)),
            [120, left, reset]
        );
    }
    let over = from(&client, "192.0.2.1").await;
    check_limited(&over, 120);
    assert_eq!(
        (over.header("retry-after"), &over.body["retryAfterMs"]),
        ("30", &json!(29_500))
    );
    // Everything of that address, whoever it says it is; nothing of another.
    let nobody = client.with_token("nobody".to_owned());
    check_limited(&from(&nobody, "192.0.2.1").await, 120);
    from(&client, "192.0.2.2").await.ok(200);
    app.advance(Duration::from_millis(29_499)).await;
    check_limited(&from(&client, "192.0.2.1").await, 120);
    app.advance(Duration::from_millis(1)).await;
    assert_eq!(numbers(&from(&client, "192.0.2.1").await.ok(200))[1], 119);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_principal_is_counted_over_all_addresses_and_alone() {
    let app = limited("1000", "240").await;
    let ana = app.caller("ana").await;
    let client = Client::new(&app, &ana);
    let other = client.with_token(ana.token_of("helix.agent_runs.read"));
    for number in 0..240_u64 {
        let address = format!("192.0.2.{}", number % 5);
        let who = if number % 2 == 0 { &client } else { &other };
        assert_eq!(
            numbers(&from(who, &address).await.ok(200))[..2],
            [240, 239 - number]
        );
    }
    check_limited(&from(&client, "192.0.2.9").await, 240);
    let ben = Client::new(&app, &app.caller("ben").await);
    assert_eq!(
        numbers(&from(&ben, "192.0.2.1").await.ok(200))[..2],
        [240, 239]
    );
    // Before authentication the address is what counts.
    let nobody = client.with_token("nobody".to_owned());
    let refused = from(&nobody, "192.0.2.77")
        .await
        .expect(401, "unauthorized");
    assert_eq!(numbers(&refused)[..2], [1000, 999]);
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_zero_count_nothing_and_the_first_step_is_the_address() {
    let app = limited("0", "-1").await;
    let client = Client::new(&app, &app.caller("ana").await);
    for _ in 0..300 {
        let answer = from(&client, "192.0.2.1").await.ok(200);
        assert_eq!(answer.header("x-ratelimit-limit"), "");
    }
    app.finish().await;
    let app = limited("1", "0").await;
    let line = format!("GET {RUNS} HTTP/1.1");
    let refused = raw::send(&app, &[&line, "host: evil.example"], b"").await;
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (403, &json!("host_not_allowed"))
    );
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("0"));
    let limited = raw::send(&app, &[&line, "host: evil.example"], b"").await;
    assert_eq!(limited.status, 429);
    // Paths and methods that do not exist are no way around.
    for line in [
        "DELETE /api/v1/agent-runs HTTP/1.1",
        "GET /api/v1/nothing HTTP/1.1",
    ] {
        assert_eq!(
            raw::send(&app, &[line, "host: localhost"], b"")
                .await
                .status,
            429,
            "{line}"
        );
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_continue_without_a_place_is_turned_away_and_reserves_nothing() {
    let app = TestApp::with(Setup {
        settings: vec![("max_turns", "1".to_owned())],
        ..Setup::default()
    })
    .await;
    let client = Client::new(&app, &app.caller("ana").await);
    let body = json!({"objective": "List the ferries"});
    let held = client.started("ferry-plan-0001", &body).await;
    let other = client.started("ferry-plan-0002", &body).await;
    let turn = json!({"expected_version": 1, "instruction": "go"});
    let gate = app.script.hold(&json!({}));
    let running = client.continue_run(&held, "ferry-turn-0001", &turn);
    let refused = async {
        app.script.begun(1).await;
        let refused = client.continue_run(&other, "ferry-turn-0002", &turn).await;
        let stop = json!({"expected_version": 1});
        let cancelled = client.cancel(&other, "ferry-stop-0001", &stop).await;
        gate.open();
        (refused, cancelled)
    };
    let (ran, (refused, cancelled)) = tokio::join!(running, refused);
    ran.ok(200);
    cancelled.ok(200);
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    let names = client.event_names(&other).await;
    assert_eq!(names, ["run_started", "run_cancelled"]);
    let again = client.continue_run(&other, "ferry-turn-0002", &turn).await;
    again.expect(409, "version_conflict");
    app.finish().await;
}
