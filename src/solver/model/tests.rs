//! Turns of a model on a real socket, judged by the real host and finaliser.

use std::sync::Arc;

use helix_aggregates::agent::evidence::item::ToolOutcome;
use helix_aggregates::agent::run::turn::TerminalAuthority;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::*;
use crate::solver::engine::{Engine, SolverKind};
use crate::solver::finaliser::TurnOutcome;
use crate::solver::fixture::{Town, library, turn};
use crate::testing::{ModelServer, Speech};

mod faults;
mod lies;
mod spending;

const FERRY: &str = "The first ferry from Saltvik to Nes leaves at 06:40 on weekdays.";
const PRICE: &str = "A single ticket costs 52 kroner.";
const KEY: &str = "sk-canary-of-the-model-server";
const READ: &str = "research-library__read_document";

const DOCUMENTS: [(&str, &[u8]); 2] = [
    (
        "ferries.txt",
        b"The first ferry from Saltvik to Nes leaves at 06:40 on weekdays.\n\
          It carries <40> cars & no trains.\n",
    ),
    ("prices.txt", b"A single ticket costs 52 kroner.\n"),
];

/// A model server, and a town whose library it may read.
struct Site {
    town: Town,
    server: ModelServer,
}

impl Site {
    async fn new(script: impl IntoIterator<Item = Speech>) -> Self {
        let server = ModelServer::start().await;
        server.says(script);
        Self {
            town: Town::of(&DOCUMENTS),
            server,
        }
    }

    fn settings(&self, wire: Wire) -> ModelSettings {
        ModelSettings {
            base_url: self.server.base_url().parse().unwrap(),
            model: "m-1".into(),
            api_key: SecretString::from(KEY),
            wire,
            max_tokens: 1024,
            turn_tokens: 100_000,
        }
    }

    fn engine(&self, settings: ModelSettings) -> Engine {
        let corpora = Arc::clone(self.town.engine.corpora());
        Engine::new(corpora, SolverKind::Model(settings))
    }

    async fn turn(&self, input: TurnInput) -> TurnOutcome {
        self.engine(self.settings(Wire::Chat)).execute(input).await
    }

    /// A turn over the library with this script alone.
    async fn outcome(script: impl IntoIterator<Item = Speech>) -> (Self, TurnOutcome) {
        let site = Self::new(script).await;
        let (input, _handle) = library("When does the first ferry leave?");
        let outcome = site.turn(input).await;
        (site, outcome)
    }

    /// The answers to the calls of one answer, as the next request repeats them.
    fn told(&self, request: usize) -> Vec<String> {
        let asked = self.server.asked();
        let messages = asked[request].body["messages"].as_array().unwrap().iter();
        let answers = messages.filter(|message| message["role"] == "tool");
        answers
            .map(|answer| answer["content"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn search(query: &str) -> Speech {
    Speech::call(
        READ,
        &json!({"query": query, "source": null, "start": null, "end": null}),
    )
}

fn product(source: u32, quote: &str, claim: &str) -> Value {
    json!({
        "quotes": [{"source": source, "quote": quote}],
        "claims": [{"text": claim, "quotes": [0]}],
    })
}

fn honest() -> Value {
    product(0, FERRY, "The first ferry leaves at 06:40.")
}

fn code(outcome: &TurnOutcome) -> &str {
    outcome.result.failure_code.as_deref().unwrap_or("")
}

#[tokio::test]
async fn what_a_model_quotes_truly_is_evidence_over_either_protocol() {
    for wire in [Wire::Chat, Wire::Responses] {
        let site = Site::new([search("first ferry Saltvik"), Speech::submit(&honest())]).await;
        let (mut input, _handle) = library("When does the first ferry leave?");
        input.required_output_fields = vec!["text".into()];
        let outcome = site.engine(site.settings(wire)).execute(input).await;
        let result = &outcome.result;
        assert_eq!(
            result.terminal_authority_status,
            TerminalAuthority::Authorized,
            "{result:?}"
        );
        let text = &result.terminal_product.as_ref().unwrap().text;
        assert_eq!(text, "The first ferry leaves at 06:40. [1]");
        assert_eq!(outcome.items[0].quote.open().unwrap(), FERRY);
        assert_eq!(outcome.items[0].locator.open().unwrap(), "ferries.txt");
        assert_eq!(result.summary, "Quoted 1 passage of 1 document.");
        assert_eq!(result.sanitized_result["final_answer_source"], "openai");
        assert!(result.unresolved_requirements.is_empty(), "{result:?}");
    }
}

#[tokio::test]
async fn a_request_carries_the_key_in_its_header_alone_and_data_without_markup() {
    for wire in [Wire::Chat, Wire::Responses] {
        let site = Site::new([search("cars trains"), Speech::submit(&honest())]).await;
        let (mut input, _handle) = library("When does the <first> ferry leave & return?");
        input.instruction_with_answers = "Go on.\n\nAnswers to pending questions:\nq: \"a\"".into();
        site.engine(site.settings(wire)).execute(input).await;
        let asked = site.server.asked();
        assert_eq!(asked.len(), 2);
        for request in &asked {
            let bearer = format!("authorization: Bearer {KEY}");
            assert!(request.head.contains(&bearer), "{}", request.head);
            assert!(!request.text.contains("sk-canary") && !request.path.contains("sk-canary"));
            let data: String = request.text.split("first message").skip(1).collect();
            assert!(
                !data.contains("<40>") && !data.contains("cars & no"),
                "{data}"
            );
            for name in ["user", "metadata", "safety_identifier", "prompt_cache_key"] {
                assert!(request.body.get(name).is_none(), "{name}");
            }
            assert_eq!(request.body["temperature"], 0);
            assert!(request.text.contains("Answers to pending questions:"));
        }
        let stored = &asked[0].body["store"];
        assert!(wire == Wire::Chat && stored.is_null() || stored == false);
    }
}

#[tokio::test]
async fn a_quote_with_markup_is_found_in_its_source_as_it_stands_there() {
    let quote = "It carries <40> cars & no trains.";
    let script = [
        search("cars"),
        Speech::submit(&product(0, quote, "It carries 40 cars.")),
    ];
    let (_site, outcome) = Site::outcome(script).await;
    assert_eq!(outcome.items[0].quote.open().unwrap(), quote);
}

#[tokio::test]
async fn parallel_calls_are_answered_in_their_order() {
    let query =
        |text: &str| json!({"query": text, "source": null, "start": null, "end": null}).to_string();
    let calls = Speech::Calls(vec![
        (READ.to_owned(), query("first ferry Saltvik")),
        (
            "repo__search".to_owned(),
            json!({"query": "ferry", "limit": 1}).to_string(),
        ),
        (READ.to_owned(), "{\"query\":".to_owned()),
        (READ.to_owned(), query("single ticket")),
        (READ.to_owned(), json!({"query": "ferry"}).to_string()),
        ("no such function".to_owned(), "{}".to_owned()),
    ]);
    let (site, outcome) = Site::outcome([calls, Speech::submit(&honest())]).await;
    let told = site.told(1);
    assert!(told[0].contains("06:40"), "{told:?}");
    assert!(told[1].contains("not admitted"), "{told:?}");
    assert!(told[2].contains("not JSON"), "{told:?}");
    assert!(told[3].contains("52 kroner"), "{told:?}");
    assert!(told[4].contains("source is missing"), "{told:?}");
    assert!(told[5].contains("not admitted"), "{told:?}");
    let ids: Vec<String> = site.server.asked()[1].body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["tool_call_id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(
        ids,
        (0..6)
            .map(|place| format!("call_1_{place}"))
            .collect::<Vec<_>>()
    );
    let outcomes: Vec<ToolOutcome> = outcome
        .receipts
        .iter()
        .map(|receipt| receipt.outcome)
        .collect();
    assert_eq!(
        outcomes
            .iter()
            .filter(|of| **of == ToolOutcome::Refused)
            .count(),
        2
    );
    assert!(outcome.result.ok);
}

#[tokio::test]
async fn a_question_waits_for_its_answer_and_the_answer_reaches_the_model() {
    let asks = json!({"questions": [{
        "question_id": "which_day", "prompt": "Which day is meant?",
        "options": [{"value": "weekday", "label": "A weekday"}],
    }]});
    let site = Site::new([
        Speech::submit(&asks),
        search("first ferry"),
        Speech::submit(&honest()),
    ])
    .await;
    let (input, _handle) = library("When does the first ferry leave?");
    let first = site.turn(input).await.result;
    assert!(
        first.needs_input && first.evidence_refs.is_empty(),
        "{first:?}"
    );
    assert_eq!(first.pending_questions[0].question_id, "which_day");
    let (mut input, _handle) = library("When does the first ferry leave?");
    input.turn = 2;
    input.pending_questions = first.pending_questions.clone();
    input.answers = vec![crate::solver::seam::Answer {
        question_id: "which_day".into(),
        value: "\"weekday\"".into(),
    }];
    input.instruction_with_answers = "Answers to pending questions:\nwhich_day: \"weekday\"".into();
    let second = site.turn(input).await.result;
    assert!(second.ok && !second.needs_input, "{second:?}");
    let briefing = site.server.asked()[1].text.clone();
    assert!(briefing.contains("which_day: "), "{briefing}");
}

#[tokio::test]
async fn sources_that_disagree_are_shown_with_both_sides() {
    let site = Site {
        town: Town::of(&[
            ("a.txt", b"The ferry to Vik leaves at 06:40.\n".as_slice()),
            ("b.txt", b"The ferry to Vik leaves at 07:10.\n".as_slice()),
        ]),
        server: ModelServer::start().await,
    };
    let product = json!({
        "quotes": [
            {"source": 0, "quote": "The ferry to Vik leaves at 06:40."},
            {"source": 1, "quote": "The ferry to Vik leaves at 07:10."},
        ],
        "conflicts": [{"text": "The ferry leaves at 06:40 or at 07:10.", "quotes": [0, 1]}],
        "contradicted_claims": [
            {"text": "The ferry leaves at 06:40.", "quotes": [0]},
            {"text": "The ferry leaves at 07:10.", "quotes": [1]},
        ],
    });
    let mut swapped = product.clone();
    // Which document is found first is the index's business.
    swapped["quotes"][0]["source"] = 1.into();
    swapped["quotes"][1]["source"] = 0.into();
    site.server.says([
        search("ferry Vik"),
        Speech::submit(&product),
        Speech::submit(&swapped),
    ]);
    let (input, _handle) = library("When does the ferry to Vik leave?");
    let result = site.turn(input).await.result;
    assert_eq!(
        result.contradictions,
        ["The ferry leaves at 06:40 or at 07:10."]
    );
    assert_eq!(result.claims_contradicted.len(), 2);
    assert_eq!(
        result.terminal_authority_status,
        TerminalAuthority::Authorized,
        "{result:?}"
    );
}

#[tokio::test]
async fn fields_and_settled_positions_are_taken_where_they_hold() {
    let mut product = honest();
    product["fields"] = json!([{"field": "departure", "value": "06:40", "quotes": [0]}]);
    product["settled_requirements"] = json!([1, 99]);
    let site = Site::new([search("first ferry"), Speech::submit(&product)]).await;
    let (mut input, _handle) = library("When does the first ferry leave?");
    input.required_output_fields = vec!["departure".into(), "price".into()];
    input.previous_unresolved_requirements = vec![
        "What does it cost?".into(),
        "When does it leave?".into(),
        draft::LEFT_OUT.into(),
    ];
    let result = site.turn(input).await.result;
    assert_eq!(result.output_fields["departure"], "06:40");
    assert_eq!(
        result.resolved_requirements,
        ["When does it leave?", draft::LEFT_OUT]
    );
    assert_eq!(
        result.unresolved_requirements,
        ["No quoted passage settles the output field price."]
    );
}

#[tokio::test]
async fn a_run_that_can_read_nothing_costs_no_request() {
    let site = Site::new([]).await;
    let (no_scope, _handle) = turn("When?", &[]);
    let (mut no_tools, _handle) = library("When?");
    no_tools.allowed_tools = vec!["__helix_external_agent_no_tools__".into()];
    for (input, why) in [
        (
            no_scope,
            "The run admits no data scope, so nothing can be read.",
        ),
        (
            no_tools,
            "The run admits no capability that this server can answer.",
        ),
    ] {
        let result = site.turn(input).await.result;
        assert_eq!(result.failure_code.as_deref(), Some("no_progress"));
        assert_eq!(result.unresolved_requirements, [why]);
    }
    assert!(site.server.asked().is_empty());
}
