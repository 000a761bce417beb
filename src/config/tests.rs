use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::*;
use crate::auth::bearer::Algorithm;
use crate::outbound::Reach;
use crate::solver::model::Wire;

mod approvals;
mod model;

const SECRET: &str = "an-hs256-secret-of-32-characters";

struct Case {
    folder: TempDir,
    flags: Flags,
}

impl Case {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            flags: Flags::default(),
        }
    }

    fn file(self, text: &str) -> Self {
        std::fs::write(self.folder.path().join("helix.toml"), text).unwrap();
        self
    }

    fn flag(mut self, name: &'static str, value: &str) -> Self {
        self.flags.0.entry(name).or_default().push(value.to_owned());
        self
    }

    fn load(&self, environment: &[(&str, &str)]) -> Loaded {
        load(
            &self.flags,
            &Environment::from_pairs(environment.iter().copied()),
            self.folder.path(),
        )
    }

    fn config(&self, environment: &[(&str, &str)]) -> Config {
        self.load(environment).config.unwrap()
    }

    fn faults(&self, environment: &[(&str, &str)]) -> Vec<String> {
        let faults = self.load(environment).config.unwrap_err();
        faults.0.iter().map(ToString::to_string).collect()
    }
}

fn shown(loaded: &Loaded, name: &str) -> Shown {
    loaded
        .shown
        .iter()
        .find(|shown| shown.name == name)
        .unwrap()
        .clone()
}

#[test]
fn flags_win_over_environment_over_file_over_default() {
    let address = |case: &Case, environment: &[(&str, &str)]| {
        (
            case.config(environment).server.listen.port(),
            shown(&case.load(environment), "listen").source,
        )
    };
    let plain = Case::new();
    assert_eq!(address(&plain, &[]), (8787, Source::Default));
    let file = Case::new().file("# settings\nlisten = \"127.0.0.1:1\"\n");
    let source = Source::File {
        path: "helix.toml".into(),
        line: 2,
    };
    assert_eq!(address(&file, &[]), (1, source));
    let environment = [("HELIX_LISTEN", "127.0.0.1:2")];
    assert_eq!(
        address(&file, &environment),
        (2, Source::Environment("HELIX_LISTEN"))
    );
    let flag = file.flag("listen", "127.0.0.1:3");
    assert_eq!(
        address(&flag, &environment),
        (3, Source::Flag("listen".into()))
    );
}

#[test]
fn the_four_faults_of_a_bad_start_are_one_report_without_the_secret() {
    let case = Case::new().file("listne = \"x\"\n");
    let faults = case.faults(&[
        ("HELIX_LISTEN", "127.0.0.1:99999"),
        ("HELIX_AGENT_LOCAL_JWT_SECRET", &SECRET[..31]),
        ("HELIX_AGENT_OAUTH_AUDIENCE", "helix.example.org/mcp"),
    ]);
    assert_eq!(
        faults,
        [
            "listne (helix.toml line 1): unknown key; did you mean `listen`?",
            "HELIX_LISTEN: the port must be a number from 0 to 65535",
            "HELIX_AGENT_OAUTH_AUDIENCE: must be an absolute address that starts with https:// (or http://)",
            "HELIX_AGENT_LOCAL_JWT_SECRET: must have at least 32 characters",
        ]
    );
}

#[test]
fn a_variable_written_into_the_file_is_named_by_its_key() {
    let faults = Case::new()
        .file("HELIX_AGENT_OAUTH_ISSUER = \"https://a/\"")
        .faults(&[]);
    assert_eq!(
        faults,
        [
            "HELIX_AGENT_OAUTH_ISSUER (helix.toml line 1): unknown key; did you mean `agent_oauth_issuer`?"
        ]
    );
}

#[test]
fn a_file_that_is_not_toml_is_reported_without_its_text() {
    let faults = Case::new()
        .file("lanes = 2\nagent_local_jwt_secret = hunter2hunter2\n")
        .faults(&[]);
    assert!(
        faults[0].starts_with("helix.toml line 2: is not TOML"),
        "{faults:?}"
    );
    assert!(!faults.concat().contains("hunter2"), "{faults:?}");
}

#[test]
fn only_a_named_file_must_exist() {
    assert!(Case::new().load(&[]).config.is_ok());
    let faults = Case::new().flag("config", "other.toml").faults(&[]);
    assert!(
        faults[0].starts_with("other.toml: cannot be read"),
        "{faults:?}"
    );
}

#[test]
fn hyphens_and_types_of_the_file_are_taken_as_meant() {
    let config = Case::new()
        .file("agent-ip-rate-limit = 7\nproduction = false\nlibrary = [\"a\", \"b:c\"]\nlanes = 0x2\n")
        .config(&[]);
    assert_eq!(config.limits.rest.ip.unwrap().get(), 7);
    assert_eq!(config.solver.libraries, [Path::new("a"), Path::new("b:c")]);
    assert_eq!(config.database.lanes, 2);
    let faults = Case::new()
        .file("listen = 8787\n[agent]\nx = 1\n")
        .faults(&[]);
    assert_eq!(faults.len(), 2, "{faults:?}");
}

#[test]
fn secrets_are_starred_and_never_in_debug_output() {
    let case = Case::new();
    let url = "postgres://helix:canary-password@db/helix";
    let loaded = case.load(&[
        ("HELIX_DATABASE_URL", url),
        ("HELIX_AGENT_LOCAL_JWT_SECRET", SECRET),
    ]);
    assert_eq!(shown(&loaded, "database_url").value.unwrap(), "********");
    assert!(!format!("{loaded:?}").contains("canary-password"));
    assert!(!format!("{loaded:?}").contains(SECRET));
    let config = loaded.config.unwrap();
    assert_eq!(config.database.url.unwrap().expose_secret(), url);
}

#[test]
fn an_address_with_a_password_is_refused_and_not_shown() {
    let case = Case::new();
    let loaded = case.load(&[("HELIX_AGENT_OAUTH_JWKS_URL", "https://u:canary@a/jwks")]);
    assert!(!format!("{loaded:?}").contains("canary"));
    assert!(loaded.config.is_err());
}

#[test]
fn the_public_address_comes_under_all_its_names() {
    for name in [
        "CASIMIR_PUBLIC_BASE_URL",
        "HELIX_PUBLIC_URL",
        "HELIX_PUBLIC_BASE_URL",
        "PUBLIC_BASE_URL",
        "CASIMIRBOT_PUBLIC_URL",
    ] {
        let config = Case::new().config(&[(name, "https://Helix.Example.org:443/base//")]);
        let base = config.server.public_url.base(config.server.listen);
        assert_eq!(base.as_str(), "https://helix.example.org/base", "{name}");
        assert_eq!(base.origin(), "https://helix.example.org");
        assert_eq!(base.authority(), "helix.example.org");
    }
    let both = [
        ("CASIMIR_PUBLIC_BASE_URL", "https://a.org"),
        ("PUBLIC_BASE_URL", "https://b.org"),
    ];
    let loaded = Case::new().load(&both);
    assert_eq!(shown(&loaded, "public_url").value.unwrap(), "https://a.org");
    assert_eq!(loaded.warnings.len(), 1);
}

#[test]
fn without_a_public_address_links_follow_the_listener() {
    let config = Case::new().flag("listen", "0.0.0.0:0").config(&[]);
    let bound = "0.0.0.0:4711".parse().unwrap();
    assert_eq!(
        config.server.public_url.base(bound).as_str(),
        "http://127.0.0.1:4711"
    );
}

#[test]
fn derived_defaults_follow_the_data_directory() {
    let loaded = Case::new().flag("data_dir", "/srv/helix/").load(&[]);
    assert_eq!(
        shown(&loaded, "kek_file").value.unwrap(),
        "/srv/helix/keys/kek"
    );
    let config = loaded.config.unwrap();
    assert_eq!(config.data.kek_file, Path::new("/srv/helix/keys/kek"));
    assert_eq!(config.solver.libraries, [Path::new("/srv/helix/library")]);
}

#[test]
fn data_scopes_default_to_the_configured_sources() {
    let scopes =
        |case: Case, environment: &[(&str, &str)]| case.config(environment).agent.database_scopes;
    assert_eq!(scopes(Case::new(), &[]), ["research_library"]);
    let repository = Case::new().flag("repository", ".");
    assert_eq!(
        scopes(repository, &[]),
        ["research_library", "repository_evidence"]
    );
    let servers = [
        ("HELIX_ARXIV_BASE_URL", "https://export.arxiv.org"),
        ("HELIX_SEARCH_BASE_URL", "http://127.0.0.1:8080/searx/"),
        ("HELIX_THEORY_DIR", "/srv/theory"),
    ];
    assert_eq!(
        scopes(Case::new(), &servers),
        [
            "public_web",
            "scholarly_research",
            "research_library",
            "theory_registry"
        ]
    );
    let empty: [&str; 0] = [];
    assert_eq!(
        scopes(Case::new(), &[("HELIX_AGENT_DATABASE_SCOPES", "")]),
        empty
    );
    assert_eq!(scopes(Case::new(), &PRODUCTION), empty);
}

#[test]
fn servers_of_the_tools_are_addresses_and_hosts_are_names() {
    let faults = |environment: &[(&str, &str)]| Case::new().load(environment).config.is_err();
    for (name, bad, good) in [
        (
            "HELIX_OPENALEX_BASE_URL",
            "https://user:pw@a.example",
            "https://a.example/v1",
        ),
        (
            "HELIX_SEARCH_BASE_URL",
            "https://a.example/?q=",
            "http://a.example",
        ),
        (
            "HELIX_FULL_TEXT_HOSTS",
            "https://arxiv.org",
            "arxiv.org, ArXiv.org",
        ),
        ("HELIX_TOOL_TIMEOUT_MS", "99", "100"),
    ] {
        assert!(faults(&[(name, bad)]), "{name}");
        assert!(!faults(&[(name, good)]), "{name}");
    }
}

#[test]
fn an_unknown_data_scope_is_kept_and_warned_of() {
    let loaded =
        Case::new().load(&[("HELIX_AGENT_DATABASE_SCOPES", "public_web, research_libary")]);
    assert!(
        loaded.warnings[0].contains("did you mean research_library?"),
        "{:?}",
        loaded.warnings
    );
    let config = loaded.config.unwrap();
    assert_eq!(
        config.agent.unknown_scopes().collect::<Vec<_>>(),
        ["research_libary"]
    );
}

#[test]
fn the_turn_timeout_is_clamped_and_never_a_fault() {
    for (text, millis) in [
        ("120000", 120_000),
        ("1", 1_000),
        ("1e9", 900_000),
        ("1500.7", 1_500),
        ("soon", 120_000),
    ] {
        let config = Case::new().config(&[("HELIX_AGENT_TURN_TIMEOUT_MS", text)]);
        assert_eq!(
            config.agent.turn_timeout,
            Duration::from_millis(millis),
            "{text}"
        );
    }
}

#[test]
fn limits_may_be_switched_off() {
    let config = Case::new().config(&[
        ("HELIX_AGENT_IP_RATE_LIMIT", "0"),
        ("HELIX_AGENT_PRINCIPAL_RATE_LIMIT", "-1"),
        ("HELIX_AGENT_BODY_LIMIT", "1mb"),
    ]);
    assert!(config.limits.rest.ip.is_none() && config.limits.rest.principal.is_none());
    assert_eq!(config.limits.rest.body, 1 << 20);
}

const EXTERNAL: [(&str, &str); 4] = [
    ("HELIX_AGENT_OAUTH_ISSUER", "https://id.example.org/"),
    (
        "HELIX_AGENT_OAUTH_AUDIENCE",
        "https://helix.example.org/mcp",
    ),
    ("HELIX_AGENT_OAUTH_JWKS_URL", "https://id.example.org/jwks"),
    ("HELIX_AGENT_OAUTH_PROVIDER", "idp"),
];

#[test]
fn all_four_oauth_settings_make_an_external_issuer() {
    let OAuth::External(external) = Case::new().config(&EXTERNAL).oauth else {
        panic!("external")
    };
    assert_eq!(external.issuer.issuer, "https://id.example.org/");
    assert_eq!(external.algorithms, [Algorithm::Rs256, Algorithm::Es256]);
    assert_eq!(external.issuer.max_lifetime, Duration::from_secs(86_400));
}

#[test]
fn oauth_in_part_fails_closed() {
    for left_out in 0..4 {
        let mut part = EXTERNAL.to_vec();
        let (name, _) = part.remove(left_out);
        let OAuth::Incomplete { reason } = Case::new().config(&part).oauth else {
            panic!("{name}")
        };
        assert!(reason.contains(name), "{reason}");
    }
    let algorithms = ("HELIX_AGENT_OAUTH_ALGORITHMS", "HS256,none");
    let mut all = EXTERNAL.to_vec();
    all.push(algorithms);
    assert!(matches!(
        Case::new().config(&all).oauth,
        OAuth::Incomplete { .. }
    ));
    assert!(matches!(
        Case::new().config(&[algorithms]).oauth,
        OAuth::Incomplete { .. }
    ));
    assert!(matches!(Case::new().config(&[]).oauth, OAuth::BuiltIn));
}

fn local() -> Vec<(&'static str, &'static str)> {
    let mut local = EXTERNAL.to_vec();
    local.remove(2);
    local.push(("HELIX_AGENT_ALLOW_LOCAL_HS256", "1"));
    local.push(("HELIX_AGENT_LOCAL_JWT_SECRET", SECRET));
    local
}

#[test]
fn the_local_lane_needs_its_switch_a_long_secret_and_no_key_set() {
    assert!(matches!(
        Case::new().config(&local()).oauth,
        OAuth::LocalHs256(_)
    ));
    for left_out in 0..5 {
        let mut part = local();
        let (name, _) = part.remove(left_out);
        let oauth = Case::new().config(&part).oauth;
        assert!(
            matches!(oauth, OAuth::Incomplete { .. }),
            "without {name}: {oauth:?}"
        );
    }
    let mut both = local();
    both.push(EXTERNAL[2]);
    assert!(matches!(
        Case::new().config(&both).oauth,
        OAuth::External(_)
    ));
}

const PRODUCTION: [(&str, &str); 3] = [
    ("HELIX_PRODUCTION", "1"),
    ("CASIMIR_PUBLIC_BASE_URL", "https://helix.example.org"),
    ("HELIX_AGENT_ALLOWED_HOSTS", "Helix.example.org"),
];

#[test]
fn production_lists_its_four_problems_at_once() {
    let case = Case::new();
    let keys = case.folder.path().join("helix-data/keys");
    std::fs::create_dir_all(&keys).unwrap();
    std::fs::write(keys.join("kek"), "key").unwrap();
    std::fs::set_permissions(keys.join("kek"), PermissionsExt::from_mode(0o644)).unwrap();
    let faults = case.faults(&[
        ("HELIX_PRODUCTION", "1"),
        ("CASIMIR_PUBLIC_BASE_URL", "http://helix.example.org"),
        ("HELIX_AGENT_ALLOW_LOCAL_HS256", "1"),
        ("HELIX_AGENT_ALLOWED_HOSTS", ""),
        EXTERNAL[0],
        EXTERNAL[1],
        EXTERNAL[2],
        EXTERNAL[3],
    ]);
    assert_eq!(
        faults,
        [
            "CASIMIR_PUBLIC_BASE_URL: production needs an https address",
            "HELIX_AGENT_ALLOW_LOCAL_HS256: production refuses the local HS256 lane",
            "HELIX_AGENT_ALLOWED_HOSTS: production needs the hosts it may be called by; the list is empty",
            "--kek-file: the key file is open to others (mode 0644); chmod 600 it",
        ]
    );
}

#[test]
fn production_starts_with_what_it_needs() {
    let config = Case::new().config(&PRODUCTION);
    assert!(config.production);
    assert_eq!(config.server.allowed_hosts, ["helix.example.org"]);
    let mut external = PRODUCTION.to_vec();
    external.extend(EXTERNAL);
    let OAuth::External(issuer) = Case::new().config(&external).oauth else {
        panic!("external")
    };
    assert_eq!(issuer.jwks_network, JwksNetwork::PublicOnly);
}

#[test]
fn production_needs_https_everywhere_and_secrets_in_a_private_file() {
    let case = Case::new().file(&format!("agent_local_jwt_secret = \"{SECRET}\"\n"));
    let file = case.folder.path().join("helix.toml");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    let mut settings = PRODUCTION.to_vec();
    settings.extend(EXTERNAL);
    settings[3].1 = "HTTP://id.example.org/";
    let faults = case.faults(&settings);
    assert_eq!(
        faults,
        [
            "HELIX_AGENT_OAUTH_ISSUER: production needs an https address",
            "agent_local_jwt_secret (helix.toml line 1): is a secret in a file open to others (mode 0640); chmod 600 it",
        ]
    );
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    settings[3].1 = EXTERNAL[0].1;
    assert!(case.load(&settings).config.is_ok());
}

#[test]
fn documents_of_apps_are_read_when_switched_on_and_in_production_from_public_addresses_alone() {
    let (on, open) = (("HELIX_CIMD", "1"), ("HELIX_CIMD_ALLOW_PRIVATE", "1"));
    let documents = |environment: &[_]| Case::new().config(environment).issuer.documents;
    assert_eq!(documents(&[]), None);
    assert_eq!(documents(&[open]), None);
    assert_eq!(documents(&[on]), Some(Reach::Public));
    assert_eq!(documents(&[on, open]), Some(Reach::Anywhere));
    let settings = [&PRODUCTION[..], &[on]].concat();
    assert!(Case::new().load(&settings).config.is_ok());
    let settings = [&PRODUCTION[..], &[on, open]].concat();
    assert_eq!(
        Case::new().faults(&settings),
        [
            "HELIX_CIMD_ALLOW_PRIVATE: production fetches documents of apps from public https addresses alone"
        ]
    );
}

#[test]
fn webhooks_to_private_addresses_are_for_trying_things_out() {
    let open = ("HELIX_WEBHOOK_ALLOW_PRIVATE", "1");
    let network = |environment: &[_]| Case::new().config(environment).webhooks.network;
    assert_eq!(network(&[]), WebhookNetwork::PublicOnly);
    assert_eq!(network(&[open]), WebhookNetwork::Any);
    let mut settings = PRODUCTION.to_vec();
    settings.push(open);
    assert_eq!(
        Case::new().faults(&settings),
        ["HELIX_WEBHOOK_ALLOW_PRIVATE: production sends webhooks to public https addresses alone"]
    );
}

#[test]
fn production_needs_a_public_address() {
    let faults = Case::new().faults(&[PRODUCTION[0], PRODUCTION[2]]);
    assert_eq!(
        faults,
        ["--public-url: production needs the public address to be set"]
    );
}

#[test]
fn the_solver_is_one_of_a_list_and_a_claim_timeout_is_the_workers() {
    let solver = |flags: &[(&'static str, &str)]| {
        let mut case = Case::new();
        for (name, value) in flags {
            case = case.flag(name, value);
        }
        case
    };
    let built_in = solver(&[]).config(&[]).solver;
    assert!(matches!(built_in.kind, SolverKind::CorpusExtract));
    assert_eq!(built_in.claim_timeout, None);
    let loaded = solver(&[("solver", "worker"), ("worker_claim_timeout_ms", "1500")]).load(&[]);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let worker = loaded.config.unwrap().solver;
    assert!(matches!(worker.kind, SolverKind::Worker));
    assert_eq!(worker.claim_timeout, Some(Duration::from_millis(1_500)));
    for (name, value) in [
        ("solver", "oracle"),
        ("worker_claim_timeout_ms", "0"),
        ("worker_claim_timeout_ms", "900001"),
        ("worker_ip_rate_limit", "many"),
    ] {
        assert_eq!(
            solver(&[(name, value)]).faults(&[]).len(),
            1,
            "{name} {value}"
        );
    }
    let warned = solver(&[("worker_claim_timeout_ms", "1500")])
        .load(&[])
        .warnings;
    assert!(warned.concat().contains("means nothing"), "{warned:?}");
}

#[test]
fn strange_variables_are_warned_of() {
    let loaded = Case::new().load(&[
        ("HELIX_LISTNE", "127.0.0.1:1"),
        ("HELIX_VAULT_LISTEN", "127.0.0.1:2"),
        ("HELIX_TOKEN", "t"),
        ("PATH", "/bin"),
    ]);
    assert_eq!(
        loaded.warnings,
        [
            "HELIX_LISTNE is not a setting; did you mean HELIX_LISTEN?",
            "HELIX_VAULT_LISTEN has no effect in this build"
        ]
    );
}

#[test]
fn every_setting_has_one_name_in_three_spellings() {
    for setting in SETTINGS {
        let canonical = format!("HELIX_{}", setting.name.to_uppercase());
        assert!(setting.env.contains(&canonical.as_str()), "{canonical}");
        assert!(!setting.doc.ends_with('.'), "{}", setting.name);
    }
    let mut names: Vec<_> = SETTINGS.iter().flat_map(|setting| setting.env).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
