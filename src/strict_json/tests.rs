use proptest::prelude::*;
use serde_json::{Value, json};

use super::StrictJsonFault as Fault;
use super::*;

fn fault(text: impl AsRef<[u8]>) -> Fault {
    read(text.as_ref()).expect_err("must be refused").fault
}

fn accepted(text: impl AsRef<[u8]>) -> Value {
    read(text.as_ref()).expect("must be accepted")
}

#[test]
fn one_value_with_json_white_space_around_it_is_read() {
    assert_eq!(
        accepted("\r\n\t {\n \"a\" :\t[1,true,null] } \n"),
        json!({"a": [1, true, null]})
    );
    assert_eq!(accepted("7"), json!(7));
    assert_eq!(accepted("\"\""), json!(""));
    assert_eq!(accepted("{}"), json!({}));
    assert_eq!(accepted("[ ]"), json!([]));
}

#[test]
fn text_that_is_no_json_is_refused() {
    for (text, expected) in [
        ("", Fault::UnexpectedEnd),
        ("   ", Fault::UnexpectedEnd),
        ("{\"a\":1,}", Fault::Unexpected),
        ("[1,]", Fault::Unexpected),
        ("[,1]", Fault::Unexpected),
        ("{'a':1}", Fault::Unexpected),
        ("{\"a\":1/*why*/}", Fault::Unexpected),
        ("{a:1}", Fault::Unexpected),
        ("{\"a\" 1}", Fault::Unexpected),
        ("{\"a\":\"x", Fault::UnexpectedEnd),
        ("{\"a\":\"x\\", Fault::UnexpectedEnd),
        ("{\"a\":\"x\"", Fault::UnexpectedEnd),
        ("{} true", Fault::TrailingText),
        ("\u{a0}{}", Fault::Unexpected),
        ("\u{c}{}", Fault::Unexpected),
        ("\u{feff}{}", Fault::ByteOrderMark),
        ("{}\u{feff}", Fault::TrailingText),
        ("NaN", Fault::Unexpected),
        ("nul", Fault::UnexpectedEnd),
        ("True", Fault::Unexpected),
        ("\"two\nlines\"", Fault::ControlCharacter),
        ("\"a\u{0}b\"", Fault::Nul),
        ("\"\\x41\"", Fault::BadEscape),
        ("\"\\u00g1\"", Fault::BadEscape),
        ("\"\\u00", Fault::UnexpectedEnd),
    ] {
        assert_eq!(fault(text), expected, "{text:?}");
    }
}

#[test]
fn bytes_that_are_no_utf8_are_refused_with_their_place() {
    for bytes in [
        &b"{\"a\":\"\xc3\x28\"}"[..],
        b"{\"a\":\"\xc0\xaf\"}",
        b"{\"a\":\"\xed\xa0\xbd\"}",
    ] {
        let error = read(bytes).unwrap_err();
        assert_eq!(
            error,
            StrictJsonError {
                fault: Fault::NotUtf8,
                offset: 6
            }
        );
    }
    assert_eq!(fault(b"\"\xf0\x9f\xa6\""), Fault::NotUtf8);
    assert_eq!(fault(b"\xfe\xff\x00{\x00}"), Fault::NotUtf8);
}

#[test]
fn a_key_given_twice_is_refused_at_its_second_place() {
    let error = read(br#"{"a":1,"a":2}"#).unwrap_err();
    assert_eq!(
        error,
        StrictJsonError {
            fault: Fault::DuplicateKey,
            offset: 7
        }
    );
    assert_eq!(
        fault(r#"{"objective":1,"\u006fbjective":2}"#),
        Fault::DuplicateKey
    );
    assert_eq!(fault(r#"{"a":{"b":1,"b":1}}"#), Fault::DuplicateKey);
    assert_eq!(
        accepted(r#"{"a":{"a":1},"A":2}"#),
        json!({"a": {"a": 1}, "A": 2})
    );
}

#[test]
fn escapes_are_resolved_and_half_characters_refused() {
    assert_eq!(
        accepted(r#""\"\\\/\b\f\n\r\t""#),
        json!("\"\\/\u{8}\u{c}\n\r\t")
    );
    assert_eq!(
        accepted(r#""\ud83e\uDD8A Caf\u0065\u0301""#),
        json!("\u{1f98a} Cafe\u{301}")
    );
    assert_eq!(
        accepted(r#""\u2028\u202e\u2066\ufeff\uffff""#),
        json!("\u{2028}\u{202e}\u{2066}\u{feff}\u{ffff}")
    );
    for text in [
        r#""a\ud83d""#,
        r#""\udd8a end""#,
        r#""\ud83d\ud83d""#,
        r#""\ud83d\n""#,
        r#""\ud83dx""#,
        r#"{"\ud83d":1}"#,
    ] {
        assert_eq!(fault(text), Fault::LoneSurrogate, "{text}");
    }
    assert_eq!(fault(r#""a\u0000b""#), Fault::Nul);
    assert_eq!(fault(r#"{"a\u0000b":1}"#), Fault::Nul);
}

#[test]
fn nesting_ends_at_the_limit() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    accepted(nested(MAX_DEPTH));
    assert_eq!(fault(nested(MAX_DEPTH + 1)), Fault::TooDeep);
    assert_eq!(fault(nested(5_000)), Fault::TooDeep);
    assert_eq!(fault("[".repeat(10_000)), Fault::TooDeep);
    assert_eq!(fault("{\"a\":".repeat(10_000)), Fault::TooDeep);
}

#[test]
fn values_end_at_the_limit() {
    let list = |items: usize| format!("[0{}]", ",0".repeat(items - 1));
    accepted(list(MAX_VALUES - 1));
    assert_eq!(fault(list(MAX_VALUES)), Fault::TooManyValues);
    assert_eq!(fault(list(1_000_000)), Fault::TooManyValues);
}

#[test]
fn strings_and_keys_end_at_the_limit_counted_after_unescaping() {
    let text = |length: usize| "n".repeat(length);
    accepted(format!("\"{}\"", text(MAX_STRING_BYTES)));
    assert_eq!(
        fault(format!("\"{}\"", text(MAX_STRING_BYTES + 1))),
        Fault::StringTooLong
    );
    assert_eq!(
        fault(format!("{{\"{}\":1}}", text(MAX_STRING_BYTES + 1))),
        Fault::StringTooLong
    );
    accepted(format!("\"{}\"", "\\n".repeat(MAX_STRING_BYTES)));
    assert_eq!(
        fault(format!("\"{}\"", "\\n".repeat(MAX_STRING_BYTES + 1))),
        Fault::StringTooLong
    );
}

#[test]
fn numbers_that_a_double_carries_are_read_by_their_value() {
    for (text, expected) in [
        ("0", json!(0)),
        ("3.0", json!(3)),
        ("1e1", json!(10)),
        ("30E-1", json!(3)),
        ("-2.50e+1", json!(-25)),
        ("0e99999999999999999999", json!(0)),
        ("0.000", json!(0)),
        ("9007199254740992", json!(9_007_199_254_740_992_u64)),
        ("-9007199254740992", json!(-9_007_199_254_740_992_i64)),
        ("9007199254740994", json!(9_007_199_254_740_994_u64)),
        ("1e19", json!(10_000_000_000_000_000_000_u64)),
        ("-1e19", json!(-1e19)),
        ("1e20", json!(1e20)),
        ("0.1", json!(0.1)),
        ("-1.5", json!(-1.5)),
        ("5e-324", json!(5e-324)),
        ("1.7976931348623157e308", json!(f64::MAX)),
        ("2.2250738585072014e-308", json!(f64::MIN_POSITIVE)),
        ("0.10", json!(0.1)),
    ] {
        assert_eq!(accepted(text), expected, "{text}");
    }
    assert_eq!(accepted(format!("1.{}", "0".repeat(10_000))), json!(1));
}

#[test]
fn minus_zero_keeps_its_sign_and_is_no_integer() {
    for text in ["-0", "-0.0", "-0e5"] {
        let value = accepted(text);
        assert!(value.as_f64().unwrap().is_sign_negative(), "{text}");
        assert_eq!(value.as_i64(), None, "{text}");
    }
}

#[test]
fn both_shortest_texts_of_a_double_between_them_are_accepted() {
    for text in ["2226172235722.9062", "2226172235722.9063"] {
        assert_eq!(accepted(text).as_f64(), text.parse().ok());
    }
    assert_eq!(fault("2226172235722.9061"), Fault::InexactNumber);
}

#[test]
fn numbers_that_a_double_would_change_are_refused() {
    for text in [
        "9007199254740993",
        "0.1000000000000000055511151231257827",
        "1e400",
        "-1e400",
        "1e-400",
        "4.9e-324",
        "18446744073709551616",
        "18446744073709551615",
        "1152921504606846976",
        "1e99999999999999999999999999",
        "1e-99999999999999999999999999",
    ] {
        assert_eq!(fault(text), Fault::InexactNumber, "{text}");
    }
    assert_eq!(fault("9".repeat(10_000)), Fault::InexactNumber);
    assert_eq!(fault(format!("1{}", "0".repeat(400))), Fault::InexactNumber);
    assert_eq!(
        fault(format!("0.{}1", "0".repeat(10_000))),
        Fault::InexactNumber
    );
}

#[test]
fn numbers_outside_the_grammar_are_refused() {
    for text in ["03", "-03", "00"] {
        assert_eq!(fault(text), Fault::TrailingText, "{text}");
    }
    for text in [
        "+3",
        ".5",
        "-x",
        "1.x",
        "1ex",
        "0x10",
        "Infinity",
        "-Infinity",
    ] {
        assert!(
            matches!(fault(text), Fault::Unexpected | Fault::TrailingText),
            "{text}"
        );
    }
    for text in ["-", "1.", "1e", "1e+"] {
        assert_eq!(fault(text), Fault::UnexpectedEnd, "{text}");
    }
}

#[test]
fn an_error_never_shows_content() {
    let error = read(br#"{"drumlin":1,"drumlin":2}"#).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("byte 13") && !shown.contains("drumlin"),
        "{shown}"
    );
}

/// Equal but for the spelling of integers (`3.0` is 3 here) and for the last bit of doubles, which
/// the peer rounds less carefully.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            a.to_bits() == b.to_bits() || ((a - b) / a).abs() < 1e-15
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => ours == theirs,
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
        "[^\u{0}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[^\u{0}]{0,6}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_ordinary_document_is_read_back(value in any_json()) {
        for text in [serde_json::to_string(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert!(same(&accepted(&text), &value), "{}", text);
        }
    }

    #[test]
    fn what_is_accepted_the_peer_reads_equally(text in "[\\[\\]{}:,\"0-9eE.+\\-\\\\untrfalsb \t]{0,40}") {
        if let Ok(ours) = read(text.as_bytes()) {
            let theirs: Value = serde_json::from_str(&text).expect("the peer accepts it too");
            prop_assert!(same(&ours, &theirs), "{}", text);
        }
    }

    #[test]
    fn a_broken_document_never_panics(value in any_json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = serde_json::to_vec(&value).unwrap();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        if let Ok(ours) = read(&bytes) {
            let theirs: Value = serde_json::from_slice(&bytes).expect("the peer accepts it too");
            prop_assert!(same(&ours, &theirs));
        }
    }

    #[test]
    fn the_shortest_text_of_every_double_is_accepted(bits in any::<u64>()) {
        let double = f64::from_bits(bits);
        prop_assume!(double.is_finite());
        let value = accepted(format!("{double:e}"));
        prop_assert_eq!(value.as_f64().map(f64::to_bits), Some(bits));
    }

    #[test]
    fn an_accepted_number_keeps_its_digits(text in "-?[1-9][0-9]{0,24}") {
        if let Ok(value) = read(text.as_bytes()) {
            let double: f64 = text.parse().unwrap();
            prop_assert_eq!(format!("{double}"), text);
            prop_assert_eq!(value.as_f64(), Some(double));
        }
    }
}
