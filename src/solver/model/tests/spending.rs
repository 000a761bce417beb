//! What a model may spend: rounds, calls and tokens, whatever it says.

use super::*;

#[tokio::test]
async fn a_model_that_never_hands_in_is_stopped_and_was_told_before() {
    let (site, outcome) = Site::outcome(vec![search("ferry"); 64]).await;
    assert_eq!(code(&outcome), "model_allowance_spent");
    let asked = site.server.asked();
    assert_eq!(asked.len(), 32);
    let last = &asked[31];
    assert_eq!(last.body["tools"].as_array().unwrap().len(), 1);
    assert!(last.text.contains("nearly spent") && !asked[29].text.contains("nearly spent"));
}

#[tokio::test]
async fn what_holds_of_a_product_of_the_last_round_is_taken() {
    let mut late = vec![search("first ferry"); 31];
    let product = json!({
        "quotes": [{"source": 0, "quote": FERRY}, {"source": 0, "quote": "It is free."}],
        "claims": [{"text": "It leaves at 06:40.", "quotes": [0]}, {"text": "It is free.", "quotes": [1]}],
    });
    late.push(Speech::submit(&product));
    let (_site, outcome) = Site::outcome(late).await;
    assert_eq!(outcome.result.claims_supported, ["It leaves at 06:40."]);
    assert_eq!(outcome.result.unresolved_requirements, [draft::LEFT_OUT]);
}

#[tokio::test]
async fn tokens_are_bounded_by_the_count_of_the_server() {
    let mut counted = json!({"choices": [{"message": {"content": null, "tool_calls": [{
        "id": "a", "type": "function", "function": {"name": READ, "arguments": "{}"},
    }]}}]});
    counted["usage"] = json!({"prompt_tokens": 99_000, "completion_tokens": 2_000});
    let (site, outcome) = Site::outcome(vec![Speech::json(&counted); 4]).await;
    assert_eq!(code(&outcome), "model_allowance_spent");
    assert_eq!(site.server.asked().len(), 1);
}

#[tokio::test]
async fn tokens_are_estimated_where_the_server_does_not_count() {
    for usage in [
        json!(null),
        json!({"prompt_tokens": 0, "completion_tokens": 0}),
    ] {
        let mut uncounted = json!({"choices": [{"message": {"content": null, "tool_calls": [{
            "id": "a", "type": "function", "function": {"name": READ, "arguments": "{}"},
        }]}}]});
        uncounted["usage"] = usage;
        let site = Site::new(vec![Speech::json(&uncounted); 64]).await;
        let settings = ModelSettings {
            turn_tokens: 8_192,
            ..site.settings(Wire::Chat)
        };
        let (input, _handle) = library("When does the first ferry leave?");
        let outcome = site.engine(settings).execute(input).await;
        assert_eq!(code(&outcome), "model_allowance_spent");
        let sent: usize = site
            .server
            .asked()
            .iter()
            .map(|asked| asked.text.len())
            .sum();
        assert!(sent / 3 <= 8_192, "{sent} bytes were sent");
    }
}

#[tokio::test]
async fn calls_beyond_the_allowance_are_answered_with_a_refusal() {
    let query = json!({"query": "ferry", "source": null, "start": null, "end": null}).to_string();
    let calls = Speech::Calls(vec![(READ.to_owned(), query); 4]);
    let site = Site::new([calls, Speech::submit(&honest())]).await;
    let (mut input, _handle) = library("When does the first ferry leave?");
    input.allowance.tool_calls = 2;
    let outcome = site.turn(input).await;
    let told = site.told(1);
    assert!(told[1].contains("06:40") && told[2].contains("spent") && told[3].contains("spent"));
    assert!(outcome.result.ok, "{:?}", outcome.result);
    assert_eq!(outcome.receipts.len(), 2);
}
