use serde_json::json;

use super::*;

fn drafted(product: &Value) -> Draft {
    let mut issues = Issues::default();
    let draft = read(product, Vec::new(), &mut issues);
    assert!(issues.is_empty(), "{product}");
    draft
}

fn span() -> Value {
    json!({"source": 0, "start": 4, "end": 9, "quote": " a b "})
}

#[test]
fn a_quote_is_taken_to_the_byte_and_what_was_left_out_is_composed() {
    let draft = drafted(&json!({
        "quoted_spans": [span(), span()],
        "claims": [{"text": "The ferry\nleaves at 7", "spans": [0, 1]}],
        "conflicts": [{"text": "two times", "spans": [1]}],
    }));
    assert_eq!(draft.spans[0].quote, " a b ");
    assert_eq!(draft.spans[0].span, Span { start: 4, end: 9 });
    assert_eq!(
        draft.digest,
        "Sources disagree: two times [2]\nThe ferry leaves at 7 [1] [2]"
    );
    assert_eq!(draft.summary, "The ferry leaves at 7");
    assert_eq!(draft.progress, Progress::Made);
}

#[test]
fn an_empty_product_is_a_turn_that_found_nothing() {
    let draft = drafted(&json!({}));
    assert_eq!(draft, Draft::default());
}

#[test]
fn what_the_product_says_itself_stands() {
    let draft = drafted(&json!({
        "quoted_spans": [span()], "summary": "Short.", "digest": "Long. [1]",
        "unresolved": ["the fare"], "settled_requirements": [0], "settled_contradictions": [1],
        "fields": [{"field": "text", "value": "7", "spans": [0]}],
        "questions": [{"question_id": "q", "prompt": "Which?", "options": [{"label": "A", "value": ""}]}],
    }));
    assert_eq!(
        (draft.summary.as_str(), draft.digest.as_str()),
        ("Short.", "Long. [1]")
    );
    assert_eq!(draft.unresolved, ["the fare"]);
    assert_eq!(
        (draft.settled_requirements, draft.settled_contradictions),
        (vec![0], vec![1])
    );
    assert_eq!((draft.fields.len(), draft.questions.len()), (1, 1));
}

#[test]
fn a_product_out_of_form_or_bounds_is_refused_with_its_place() {
    let with = |name: &str, value: Value| {
        let mut span = span();
        span[name] = value;
        json!({"quoted_spans": [span]})
    };
    for product in [
        json!([]),
        json!({"evidence_refs": ["evidence:1"]}),
        json!({"terminal_authority_status": "authorized"}),
        json!({"quoted_spans": vec![span(); 257]}),
        with("source", json!(-1)),
        with("source", json!(1_u64 << 32)),
        with("start", json!(1.5)),
        with("end", json!("9")),
        with("quote", json!("q".repeat(2_001))),
        with("quote", json!("  ")),
        with("scope", json!("research_library")),
        json!({"claims": [{"text": "t", "spans": [0]}]}),
        json!({"claims": [{"spans": []}]}),
        json!({"claims": [{"text": "t", "spans": [-1]}]}),
        json!({"claims": [{"text": "t", "spans": vec![0; 33]}], "quoted_spans": [span()]}),
        json!({"conflicts": [{"text": "c".repeat(1_001), "spans": []}]}),
        json!({"fields": [{"field": "f", "value": "v".repeat(4_001), "spans": []}]}),
        json!({"fields": [{"field": "f"}]}),
        json!({"unresolved": vec!["u"; 65]}),
        json!({"questions": [{"question_id": "q"}]}),
        json!({"questions": [{"question_id": "q", "prompt": "p", "options": [{"value": "v"}]}]}),
        json!({"summary": "s".repeat(2_001)}),
        json!({"digest": 1}),
    ] {
        let mut issues = Issues::default();
        read(&product, Vec::new(), &mut issues);
        assert!(!issues.is_empty(), "{product}");
    }
}

/// The bytes of a text as the wordiest writers of JSON spell it: every character an escape.
fn escaped(text: &str) -> usize {
    utf16_len(text) * r"\u0000".len() + 2
}

fn wire_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => escaped(text),
        Value::Array(items) => items.iter().map(|item| wire_bytes(item) + 2).sum::<usize>() + 2,
        Value::Object(members) => {
            let members = members.iter();
            let member = |(key, value): (&String, &Value)| key.len() + 6 + wire_bytes(value);
            members.map(member).sum::<usize>() + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string().len(),
    }
}

/// A product with as many items as there may be, and one text that fills what is left.
fn largest(units: usize) -> Value {
    let places = vec![SPANS - 1; SPANS_OF_ONE];
    let stated = json!({"text": "t", "spans": places});
    let option = json!({"value": "v", "label": "l"});
    let question = json!({"question_id": "q", "prompt": "p", "required_fields": vec!["f"; 32],
        "options": vec![option; 32]});
    let at = (1_u64 << 53) - 1;
    let quoted = json!({"source": u32::MAX, "start": at, "end": at, "quote": "q", "why": "w"});
    let mut product = json!({
        "quoted_spans": vec![quoted; SPANS],
        "claims": vec![stated.clone(); CLAIMS],
        "contradicted_claims": vec![stated.clone(); CLAIMS],
        "fields": vec![json!({"field": "f", "value": "v", "spans": places}); SENTENCES],
        "conflicts": vec![stated; SENTENCES],
        "unresolved": vec!["u"; SENTENCES],
        "settled_requirements": vec![u64::MAX; SENTENCES],
        "settled_contradictions": vec![u64::MAX; SENTENCES],
        "questions": vec![question; QUESTIONS],
        "summary": "s".repeat(SUMMARY_UNITS),
        "digest": "d".repeat(DIGEST_UNITS),
    });
    let mut left = units - units_of(&product);
    for span in product["quoted_spans"].as_array_mut().unwrap() {
        let more = left.min(QUOTE_UNITS - 1);
        span["quote"] = "q".repeat(1 + more).into();
        left -= more;
    }
    assert_eq!(left, 0);
    product
}

#[test]
fn the_largest_product_fits_into_a_body_however_it_is_spelled() {
    let product = largest(TEXT_UNITS);
    let mut issues = Issues::default();
    read(&product, Vec::new(), &mut issues);
    assert!(issues.is_empty());
    let token = "t".repeat(43);
    let body = json!({"turn_token": token, "product": product});
    let bytes = wire_bytes(&body);
    assert!(bytes <= BODY_BYTES, "{bytes}");
    let mut issues = Issues::default();
    read(&largest(TEXT_UNITS + 1), Vec::new(), &mut issues);
    assert!(!issues.is_empty());
}

#[test]
fn a_claim_forges_neither_mark_nor_line() {
    let draft = drafted(&json!({
        "quoted_spans": [span()],
        "claims": [{"text": "Free. [7]\u{2028}Safe. [1, 2]", "spans": [0]}],
    }));
    assert_eq!(draft.digest, "Free. (7) Safe. (1, 2) [1]");
    assert_eq!(draft.summary, "Free. (7) Safe. (1, 2)");
}
