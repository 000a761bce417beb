//! The registry of keys that may sign runtime approvals.

use super::*;

const NAME: &str = "HELIX_RUNTIME_APPROVAL_TRUSTED_PUBLIC_KEYS_JSON";
/// The first public key of RFC 8032 7.1, raw and as DER, and the second one.
const FIRST: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const FIRST_DER: &str = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const SECOND: &str = "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";

#[test]
fn a_sound_registry_is_read_and_the_lack_of_a_host_is_told() {
    assert!(Case::new().load(&[]).warnings.is_empty());
    for (text, keys) in [
        (format!(r#"{{"desk":"{FIRST}"}}"#), "1 trusted key,"),
        (
            format!(r#"{{"desk-1":"{FIRST_DER}","desk.2":"{SECOND}"}}"#),
            "2 trusted keys,",
        ),
    ] {
        let loaded = Case::new().load(&[(NAME, &text)]);
        assert!(loaded.config.is_ok(), "{text}");
        let warning = loaded.warnings.join("\n");
        assert!(warning.starts_with(&format!("{NAME}: {keys}")), "{warning}");
        assert!(warning.ends_with("nothing here hosts approvals: none is accepted"));
    }
}

#[test]
fn a_malformed_registry_is_a_fault_that_names_no_value() {
    let many: Vec<String> = (0..65).map(|id| format!(r#""{id}":"{FIRST}""#)).collect();
    let id = "k".repeat(65);
    for text in [
        "canary".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "{}".to_owned(),
        format!(r#"["{FIRST}"]"#),
        format!(r#"{{"":"{FIRST}"}}"#),
        format!(r#"{{"a canary":"{FIRST}"}}"#),
        format!(r#"{{"{id}":"{FIRST}"}}"#),
        format!(r#"{{"desk":"{FIRST}","desk":"{SECOND}"}}"#),
        format!(r#"{{"desk":"{FIRST}","twin":"{FIRST_DER}"}}"#),
        format!(r#"{{"desk":"{FIRST}","bad":"canary"}}"#),
        format!(r#"{{"desk":["{FIRST}"]}}"#),
        format!(r#"{{"desk":"{FIRST}"}} more"#),
        r#"{"desk":"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHUQ=="}"#.to_owned(),
        format!("{{{}}}", many.join(",")),
    ] {
        let faults = Case::new().faults(&[(NAME, &text)]);
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(faults[0].starts_with(&format!("{NAME}: ")), "{faults:?}");
        assert!(!faults[0].contains("canary"), "{faults:?}");
    }
}
