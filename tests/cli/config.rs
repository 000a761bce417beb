use std::os::unix::fs::PermissionsExt;

use crate::Shell;

const SHORT_SECRET: &str = "hush-hush-hush-hush-hush-hush-3";

#[test]
fn four_faults_are_one_report_that_starts_nothing_and_shows_no_secret() {
    assert_eq!(SHORT_SECRET.len(), 31);
    let shell = Shell::new()
        .variable("HELIX_AGENT_LOCAL_JWT_SECRET", SHORT_SECRET)
        .variable("HELIX_AGENT_OAUTH_AUDIENCE", "helix.example.org/mcp");
    shell.file("helix.toml", "listne = \"x\"\n");
    for command in [&["serve"][..], &["config", "check"]] {
        let ended = shell
            .helix(&[command, &["--listen", "127.0.0.1:99999"]].concat())
            .expect(64);
        let report: Vec<&str> = ended.err.lines().collect();
        assert!(
            report[0].starts_with("error[invalid_config]: 4 faults"),
            "{}",
            ended.err
        );
        assert!(report[1].contains("listne") && report[1].contains("did you mean `listen`?"));
        assert!(report[2].contains("--listen"), "{}", ended.err);
        assert!(
            report[3].contains("HELIX_AGENT_OAUTH_AUDIENCE"),
            "{}",
            ended.err
        );
        assert!(
            report[4].contains("HELIX_AGENT_LOCAL_JWT_SECRET"),
            "{}",
            ended.err
        );
        assert!(report[5].starts_with("fix: "), "{}", ended.err);
        assert!(!ended.err.contains("hush") && ended.out.is_empty());
    }
    assert_eq!(shell.names(), ["helix.toml"], "nothing is created");
}

#[test]
fn a_malformed_registry_of_approval_keys_starts_nothing() {
    let name = "HELIX_RUNTIME_APPROVAL_TRUSTED_PUBLIC_KEYS_JSON";
    let shell = Shell::new().variable(name, r#"{"desk":"hush"}"#);
    for command in [&["serve"][..], &["config", "check"]] {
        let ended = shell.helix(command).expect(64);
        assert!(ended.err.contains(&format!("{name}: ")), "{}", ended.err);
        assert!(!ended.err.contains("hush") && ended.out.is_empty());
    }
    shell.helix(&["doctor"]).expect(2);
    let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    let shell = Shell::new().variable(name, format!(r#"{{"desk":"{key}"}}"#));
    let ended = shell.helix(&["config", "check", "--json"]).expect(0);
    assert!(
        ended.out.contains("nothing here hosts approvals"),
        "{}",
        ended.out
    );
}

#[test]
fn production_names_its_four_problems_in_one_message() {
    let shell = Shell::new()
        .variable("CASIMIR_PUBLIC_BASE_URL", "http://helix.example.org")
        .variable("HELIX_AGENT_ALLOW_LOCAL_HS256", "1")
        .variable(
            "HELIX_AGENT_LOCAL_JWT_SECRET",
            "a-secret-that-is-32-characters-or-more",
        )
        .variable("HELIX_AGENT_OAUTH_ISSUER", "https://id.example.org/")
        .variable(
            "HELIX_AGENT_OAUTH_AUDIENCE",
            "https://helix.example.org/mcp",
        )
        .variable("HELIX_AGENT_OAUTH_PROVIDER", "idp")
        .variable("HELIX_KEK_FILE", "kek");
    shell.file("kek", "key");
    std::fs::set_permissions(shell.path().join("kek"), PermissionsExt::from_mode(0o604)).unwrap();
    let ended = shell.helix(&["serve", "--production", "--json"]).expect(64);
    let error = &ended.object()["error"];
    let faults = error["details"]["faults"].as_array().unwrap();
    let places: Vec<&str> = faults
        .iter()
        .map(|fault| fault["place"].as_str().unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "CASIMIR_PUBLIC_BASE_URL",
            "HELIX_AGENT_ALLOW_LOCAL_HS256",
            "--agent-allowed-hosts",
            "HELIX_KEK_FILE"
        ]
    );
}

#[test]
fn show_prints_each_value_with_its_source_and_stars_secrets() {
    let shell = Shell::new()
        .variable("HELIX_DATABASE_URL", "postgres://u:canary@db/helix")
        .variable("HELIX_LANES", "3");
    shell.file("helix.toml", "log_format = \"json\"\n");
    let shown = shell
        .helix(&["config", "show", "--data-dir", "elsewhere"])
        .expect(0);
    let row = |name: &str| {
        let line = shown
            .out
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        line.unwrap()
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(row("data_dir"), "elsewhere --data-dir");
    assert_eq!(row("kek_file"), "elsewhere/keys/kek default");
    assert_eq!(row("lanes"), "3 HELIX_LANES");
    assert_eq!(row("log_format"), "json helix.toml line 1");
    assert_eq!(row("listen"), "127.0.0.1:8787 default");
    assert_eq!(row("database_url"), "******** HELIX_DATABASE_URL");
    let object = shell
        .helix(&["--json", "config", "show"])
        .expect(0)
        .object();
    let values = object["values"].as_array().unwrap();
    assert!(
        values
            .iter()
            .any(|value| value["name"] == "lanes" && value["source"] == "HELIX_LANES")
    );
    assert!(!shown.out.contains("canary") && !object.to_string().contains("canary"));
}

#[test]
fn a_sound_configuration_checks_out_with_its_warnings() {
    let shell = Shell::new().variable("HELIX_LISTNE", "x");
    let ended = shell.helix(&["config", "check"]).expect(0);
    assert_eq!(
        ended.err.trim(),
        "warning: HELIX_LISTNE is not a setting; did you mean HELIX_LISTEN?"
    );
    let object = shell
        .helix(&["config", "check", "--json"])
        .expect(0)
        .object();
    assert_eq!(object["ok"], true);
    assert_eq!(object["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn flags_stand_before_or_after_the_verb() {
    let shell = Shell::new();
    for arguments in [
        ["config", "--lanes", "9", "show"],
        ["config", "show", "--lanes", "9"],
    ] {
        let shown = shell.helix(&arguments).expect(0);
        assert!(
            shown
                .out
                .lines()
                .any(|line| line.starts_with("lanes") && line.contains('9'))
        );
    }
}

#[test]
fn secrets_have_no_flag() {
    let ended = Shell::new()
        .helix(&["config", "show", "--agent-local-jwt-secret=canary"])
        .expect(64);
    assert!(!ended.err.contains("canary"), "{}", ended.err);
}

#[test]
fn sources_that_are_not_there_are_warnings() {
    let shell = Shell::new();
    std::fs::create_dir_all(shell.path().join("tree/.git")).unwrap();
    std::fs::create_dir(shell.path().join("plain")).unwrap();
    let check = |library: &str, repository: &str| {
        let arguments = ["--library", library, "--repository", repository];
        shell
            .helix(&[&["config", "check"], &arguments[..]].concat())
            .expect(0)
            .err
    };
    assert_eq!(check("plain", "tree"), "");
    let warned = check("gone", "plain");
    assert_eq!(
        warned,
        "warning: --library: gone is no folder\nwarning: --repository: plain is no git tree\n"
    );
}
