//! A model server that fails: every way has its name, and the run goes on.

use std::time::Duration;

use super::*;
use crate::solver::seam::AbortReason;

fn body(status: u16, media_type: &'static str, body: &[u8]) -> Speech {
    Speech::Body {
        status,
        media_type,
        body: body.to_vec(),
    }
}

async fn failed(script: impl IntoIterator<Item = Speech>) -> (usize, TurnOutcome) {
    let (site, outcome) = Site::outcome(script).await;
    assert!(outcome.items.is_empty() && outcome.result.terminal_product.is_none());
    (site.server.asked().len(), outcome)
}

#[tokio::test]
async fn what_does_not_pass_by_itself_is_not_asked_again() {
    let json = "application/json";
    let sound = br#"{"choices":[{"message":{"content":"Hm."}}]}"#;
    let cases = [
        (Speech::status(400), "model_rejected_request"),
        (Speech::status(401), "model_refused_credentials"),
        (Speech::status(403), "model_refused_credentials"),
        (Speech::status(404), "model_rejected_request"),
        (Speech::status(422), "model_rejected_request"),
        (body(302, json, b"{}"), "model_rejected_request"),
        (Speech::status(501), "model_unavailable"),
        (
            body(200, "text/html", b"<html>Sign in</html>"),
            "model_answer_unusable",
        ),
        (body(200, "text/html", sound), "model_answer_unusable"),
        (body(204, json, b""), "model_answer_unusable"),
        (body(200, json, b"{\"choices\":"), "model_answer_unusable"),
        (
            body(
                200,
                json,
                b"{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}",
            ),
            "model_answer_unusable",
        ),
        (
            body(200, json, &vec![b' '; (1 << 20) + 1]),
            "model_answer_unusable",
        ),
        (
            Speech::json(&json!({"choices": []})),
            "model_answer_unusable",
        ),
        (
            Speech::json(
                &json!({"choices": [{"message": {"content": "cut"}, "finish_reason": "length"}]}),
            ),
            "model_answer_unusable",
        ),
        (
            Speech::json(
                &json!({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}),
            ),
            "model_declined",
        ),
        (
            Speech::json(&json!({"choices": [{"message": {"refusal": "I can't help."}}]})),
            "model_declined",
        ),
    ];
    for (speech, expected) in cases {
        let why = format!("{speech:?}").chars().take(120).collect::<String>();
        let (requests, outcome) = failed([speech]).await;
        assert_eq!((requests, code(&outcome)), (1, expected), "{why}");
        let result = &outcome.result;
        assert_eq!((result.ok, result.status_code), (false, 424), "{why}");
        assert!(result.unresolved_requirements.is_empty(), "{why}");
    }
}

#[tokio::test]
async fn what_passes_by_itself_is_asked_three_times_and_no_more() {
    for (speech, expected) in [
        (Speech::status(500), "model_unavailable"),
        (Speech::status(503), "model_unavailable"),
        (
            body(502, "text/html", b"<html>Bad gateway</html>"),
            "model_unavailable",
        ),
        (Speech::Cut(0), "model_unavailable"),
        (Speech::Cut(40), "model_unavailable"),
        (Speech::Cut(1000), "model_unavailable"),
        (
            Speech::Wait {
                status: 429,
                seconds: 0,
            },
            "model_rate_limited",
        ),
    ] {
        let (requests, outcome) = failed(vec![speech.clone(); 4]).await;
        assert_eq!((requests, code(&outcome)), (3, expected), "{speech:?}");
    }
}

#[tokio::test]
async fn a_server_that_recovers_in_time_is_not_noticed() {
    for hiccup in [
        Speech::status(500),
        Speech::Cut(40),
        Speech::Wait {
            status: 429,
            seconds: 0,
        },
    ] {
        let script = [
            hiccup.clone(),
            search("first ferry"),
            hiccup,
            Speech::submit(&honest()),
        ];
        let (site, outcome) = Site::outcome(script).await;
        assert!(outcome.result.ok, "{:?}", outcome.result);
        assert_eq!(site.server.asked().len(), 4);
    }
}

#[tokio::test]
async fn a_pause_longer_than_is_worth_waiting_for_is_not_waited_for() {
    let (requests, outcome) = failed([Speech::Wait {
        status: 429,
        seconds: 3600,
    }])
    .await;
    assert_eq!((requests, code(&outcome)), (1, "model_rate_limited"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let site = Site::new([]).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let settings = ModelSettings {
        base_url: format!("http://{address}/v1").parse().unwrap(),
        ..site.settings(Wire::Chat)
    };
    let (input, _handle) = library("When?");
    let outcome = site.engine(settings).execute(input).await;
    assert_eq!(code(&outcome), "model_unavailable");
}

#[tokio::test]
async fn a_parameter_that_a_server_refuses_is_left_out_from_then_on() {
    let refused = |param: &str| Speech::Body {
        status: 400,
        media_type: "application/json",
        body: json!({"error": {"message": "unsupported", "param": param}})
            .to_string()
            .into_bytes(),
    };
    let script = [
        refused("temperature"),
        refused("max_tokens"),
        search("first ferry"),
        Speech::submit(&honest()),
        refused("temperature"),
    ];
    let site = Site::new(script).await;
    let engine = site.engine(site.settings(Wire::Chat));
    let (input, _handle) = library("When does the first ferry leave?");
    assert!(engine.execute(input).await.result.ok);
    let last = &site.server.asked()[3].body;
    assert!(last.get("temperature").is_none() && last.get("max_tokens").is_none());
    assert_eq!(last["max_completion_tokens"], 1024);
    // What was learned cannot be learned again: the refusal stands.
    let (input, _handle) = library("When does the first ferry leave?");
    assert_eq!(code(&engine.execute(input).await), "model_rejected_request");
    assert_eq!(site.server.asked().len(), 5);
}

#[tokio::test]
async fn cancelling_closes_the_connection_at_once() {
    let site = Site::new([search("first ferry"), Speech::Silence]).await;
    let (input, handle) = library("When does the first ferry leave?");
    let server = site.server.clone();
    let (outcome, ()) = tokio::join!(site.turn(input), async move {
        server.was_asked(2).await;
        handle.raise(AbortReason::Cancelled);
    });
    site.server.was_left(1).await;
    assert_eq!(code(&outcome), "helix_ask_executor_failed");
    assert_eq!(
        outcome.receipts.len(),
        1,
        "what was read before is accounted for"
    );
}

#[tokio::test]
async fn a_model_that_thinks_past_the_deadline_is_a_timeout() {
    let site = Site::new([Speech::Silence]).await;
    let (mut input, _handle) = library("When does the first ferry leave?");
    input.allowance.deadline = tokio::time::Instant::now() + Duration::from_millis(300);
    let outcome = site.turn(input).await;
    site.server.was_left(1).await;
    assert_eq!(code(&outcome), "helix_ask_timeout");
}

#[tokio::test]
async fn a_product_that_stays_malformed_is_asked_for_once_more_only() {
    let broken = Speech::Calls(vec![("submit".into(), "{\"claims\":".into())]);
    let text = Speech::Text("The ferry leaves at 06:40.".into());
    for speech in [broken, text] {
        let (requests, outcome) = failed(vec![speech.clone(); 3]).await;
        assert_eq!(
            (requests, code(&outcome)),
            (2, "model_product_unusable"),
            "{speech:?}"
        );
        let told = serde_json::to_string(&outcome.result).unwrap();
        assert!(!told.contains("06:40"), "{told}");
    }
}

#[tokio::test]
async fn the_look_of_doctor_tells_the_states_apart() {
    let list = |id: &str| {
        Speech::json(&json!({"object": "list", "data": [{"id": id, "object": "model"}]}))
    };
    for (speech, expected) in [
        (list("m-1"), Health::Listed),
        (list("m-2"), Health::NotListed),
        (Speech::status(404), Health::Silent),
        (Speech::status(401), Health::RefusedCredentials),
        (
            Speech::status(500),
            Health::Away("it answered with status 500".into()),
        ),
    ] {
        let site = Site::new([speech]).await;
        assert_eq!(check(&site.settings(Wire::Chat)).await, expected);
        let asked = site.server.asked();
        assert_eq!((asked.len(), asked[0].path.as_str()), (1, "/v1/models"));
        assert!(asked[0].head.starts_with("GET "));
    }
}
