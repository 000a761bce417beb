//! The settings of the solver `openai`.

use super::*;

const KEY: &str = "sk-canary-of-the-model-server";
const SOUND: [(&str, &str); 4] = [
    ("HELIX_SOLVER", "openai"),
    ("HELIX_MODEL_BASE_URL", "https://models.example.org/v1"),
    ("HELIX_MODEL", "m-1"),
    ("HELIX_MODEL_API_KEY", KEY),
];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = SOUND
        .iter()
        .filter(|(name, _)| !more.iter().any(|(other, _)| other == name));
    kept.chain(more).copied().collect()
}

#[test]
fn a_model_is_asked_with_what_is_configured() {
    let config = Case::new().config(&with(&[
        ("HELIX_MODEL_API", "responses"),
        ("HELIX_MODEL_MAX_TOKENS", "256"),
    ]));
    let SolverKind::OpenAi(model) = &config.solver.kind else {
        panic!("{:?}", config.solver.kind);
    };
    assert_eq!(model.base_url.as_str(), "https://models.example.org/v1");
    assert_eq!((model.model.as_str(), model.wire), ("m-1", Wire::Responses));
    assert_eq!((model.max_tokens, model.turn_tokens), (256, 400_000));
    assert_eq!(model.api_key.expose_secret(), KEY);
    assert!(!format!("{config:?}").contains("canary"));
}

#[test]
fn what_the_model_lacks_is_one_report() {
    let faults = Case::new().flag("solver", "openai").faults(&[]);
    let needs = "must be set: the solver `openai` needs it";
    assert_eq!(
        faults,
        [
            format!("--model-base-url: {needs}"),
            format!("--model: {needs}"),
            format!("HELIX_MODEL_API_KEY: {needs}"),
        ]
    );
    assert!(Case::new().load(&[("HELIX_MODEL", "m-1")]).config.is_ok());
}

#[test]
fn every_fault_of_the_model_is_told_without_the_key() {
    let faults = Case::new().faults(&with(&[
        (
            "HELIX_MODEL_BASE_URL",
            "https://user:word@models.example.org/v1?key=canary",
        ),
        ("HELIX_MODEL_API_KEY", "sk-canary\nof two lines"),
        ("HELIX_MODEL_API", "completions"),
        ("HELIX_MODEL_MAX_TOKENS", "255"),
        ("HELIX_MODEL_TURN_TOKENS", "many"),
    ]));
    let places: Vec<&str> = faults
        .iter()
        .filter_map(|fault| fault.split(':').next())
        .collect();
    assert_eq!(
        places,
        [
            "HELIX_MODEL_BASE_URL",
            "HELIX_MODEL_API_KEY",
            "HELIX_MODEL_API",
            "HELIX_MODEL_MAX_TOKENS",
            "HELIX_MODEL_TURN_TOKENS",
        ]
    );
    assert!(!faults.concat().contains("canary"), "{faults:?}");
}

#[test]
fn a_key_that_travels_in_the_clear_is_warned_of_except_at_home() {
    let warnings = |url: &str| {
        let loaded = Case::new().load(&with(&[("HELIX_MODEL_BASE_URL", url)]));
        assert!(loaded.config.is_ok());
        loaded.warnings.len()
    };
    assert_eq!(warnings("http://models.example.org/v1"), 1);
    for url in [
        "https://models.example.org/v1",
        "http://127.0.0.1:8080/v1",
        "http://[::1]:8080/v1",
        "http://localhost:11434/v1",
    ] {
        assert_eq!(warnings(url), 0, "{url}");
    }
}

#[test]
fn the_key_is_never_shown_and_has_no_flag() {
    let loaded = Case::new().load(&with(&[]));
    assert_eq!(
        shown(&loaded, "model_api_key").value.as_deref(),
        Some("********")
    );
    assert!(table::MODEL_API_KEY.flag().is_none());
}
