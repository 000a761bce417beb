use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Deserialize)]
struct Row {
    text: String,
    protected: bool,
    patterns: Vec<usize>,
    redacted: String,
}

fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("shapes.json")).unwrap()
}

fn five_levels_down(value: &Value) -> Value {
    json!([{"a": [{"b": [value]}]}])
}

#[test]
fn every_row_is_judged_and_redacted_as_the_table_says() {
    let rows = rows();
    assert!(rows.len() >= 28);
    for row in rows {
        let text = row.text.as_str();
        assert_eq!(text_is_protected(text), row.protected, "{text}");
        assert_eq!(shapes::matching(text), row.patterns, "{text}");
        assert_eq!(redact_text(text), row.redacted, "{text}");
        assert_eq!(
            matches!(redact_text(text), Cow::Borrowed(_)),
            !row.protected,
            "{text}"
        );
    }
}

#[test]
fn strings_and_keys_are_visited_at_any_depth() {
    for row in rows() {
        let as_value = five_levels_down(&json!(row.text));
        let as_key = five_levels_down(&json!({ row.text.as_str(): 1 }));
        for (mut value, clean) in [
            (as_value, five_levels_down(&json!(row.redacted))),
            (
                as_key,
                five_levels_down(&json!({ row.redacted.as_str(): 1 })),
            ),
        ] {
            assert_eq!(is_protected(&value), row.protected, "{value}");
            redact(&mut value);
            assert_eq!(value, clean);
        }
    }
}

#[test]
fn keys_that_become_equal_share_one_member() {
    let mut value = json!({"access_token=1": "a", "access_token=2": "b", "plain": "c"});
    redact(&mut value);
    assert_eq!(value, json!({"[REDACTED_SECRET]": "b", "plain": "c"}));
}

#[test]
fn secrets_of_the_request_are_replaced_first() {
    let mut value = json!({"note quay-17": ["see quay-17; Bearer abcdefghijkl", "quay-18"]});
    redact_with(&mut value, &["", "quay-17"]);
    assert_eq!(
        value,
        json!({"note [REDACTED_SECRET]": ["see [REDACTED_SECRET]; [REDACTED_SECRET]", "quay-18"]})
    );
}

#[test]
fn boundaries_white_space_and_case_are_those_of_the_contract() {
    for (text, protected) in [
        // A letter outside ASCII is no word character, so a boundary stands after it.
        ("éhelix_room_src_x", true),
        ("_helix_room_src_x", false),
        ("HELIX_ROOM_SRC_x", false),
        // U+FEFF and U+00A0 are white space, U+0085 is not.
        ("Bearer\u{feff}abcdefghijkl", true),
        ("Bearer\u{a0}abcdefghijkl", true),
        ("Bearer\u{85}abcdefghijkl", false),
        // U+017F and U+212A fold to s and k only where case is Unicode.
        ("acce\u{17f}\u{17f}_token=1", false),
        ("?\u{212a}ey=1", false),
        ("?KEY=1", true),
        ("Authorization:Bearer é", true),
        ("Authorization:Bearerq", false),
        ("access_token=\"", false),
        ("ACCESS_TOKEN:'ä", true),
        ("", false),
    ] {
        assert_eq!(text_is_protected(text), protected, "{text:?}");
        assert_eq!(redact_text(text) != text, protected, "{text:?}");
    }
}

#[test]
fn a_replacement_is_never_read_as_a_template() {
    assert_eq!(redact_text("$0 access_token=$1"), "$0 [REDACTED_SECRET]");
}

fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        Just("helix_room_src_".to_owned()),
        Just("agent_chat_claim_".to_owned()),
        Just("Authorization".to_owned()),
        Just("Bearer ".to_owned()),
        Just("access_token".to_owned()),
        Just("?key=".to_owned()),
        Just("abcdefghijklmnopqrstuvwxyz".to_owned()),
        "[ =:\"',;&#}é\u{feff}a-c0-2]{0,3}",
    ];
    prop::collection::vec(fragment, 0..10).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn protected_means_that_redaction_changes_the_text(text in fragments()) {
        prop_assert_eq!(text_is_protected(&text), redact_text(&text) != text);
    }

    #[test]
    fn a_planted_bearer_never_survives(before in fragments(), secret in "[A-Za-z0-9_-]{43}", after in fragments()) {
        for shape in ["helix_room_src_", "helix_env_device_", "room_source_claim_"] {
            let text = format!("{before} {shape}{secret} {after}");
            prop_assert!(!redact_text(&text).contains(&secret));
        }
    }
}
