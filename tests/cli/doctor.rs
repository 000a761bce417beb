use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use helix::testing::{ModelServer, Speech};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fake::{Fake, Reply};
use crate::key::{export, installed};
use crate::{Ended, Shell};

fn doctor(shell: &Shell, more: &[&str]) -> Ended {
    shell.helix(&[&["doctor", "--json", "--listen", "127.0.0.1:0"], more].concat())
}

/// What a report complains about, as `level code`. The machine the tests run on is not at issue.
fn complaints(ended: &Ended) -> Vec<String> {
    let report = ended.object();
    let checks = report["checks"].as_array().unwrap().iter();
    let bad = checks.filter(|check| {
        check["level"] != "ok" && check["code"] != "disk" && check["code"] != "pg_dump"
    });
    bad.map(|check| {
        assert!(check["fix"].is_string(), "{check}");
        format!(
            "{} {}",
            check["level"].as_str().unwrap(),
            check["code"].as_str().unwrap()
        )
    })
    .collect()
}

fn check<'a>(report: &'a Value, code: &str) -> &'a Value {
    let mut checks = report["checks"].as_array().unwrap().iter();
    checks.find(|check| check["code"] == code).unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_is_wrong_is_named_and_what_needs_no_decision_is_mended() {
    let shell = installed();
    let data = shell.path().join("helix-data");
    let (kek, library) = (data.join("keys/kek"), data.join("library"));
    open_to_all(&kek);
    open_to_all(&data);
    let ended = doctor(&shell, &[]).expect(2);
    let named = [
        "error data_dir",
        "error key_file",
        "warning key_export",
        "warning library_missing",
    ];
    assert_eq!(complaints(&ended), named);
    assert!(
        mode(&kek) == 0o755 && !library.exists(),
        "a look changes nothing"
    );

    let mended = doctor(&shell, &["--fix"]).expect(1);
    assert_eq!(complaints(&mended), ["warning key_export"]);
    assert_eq!((mode(&kek), mode(&data)), (0o600, 0o700));
    assert!(library.is_dir());

    export(&shell, "kept").expect(0);
    assert_eq!(complaints(&doctor(&shell, &[])), Vec::<String>::new());
    std::fs::write(library.join("torn.pdf"), b"%PDF-1.7 and then nothing").unwrap();
    std::fs::write(library.join("latin.txt"), b"caf\xe9 au lait").unwrap();
    std::fs::write(library.join("good.txt"), "The tide turns at noon.").unwrap();
    let ended = doctor(
        &shell,
        &["--library", "helix-data/library", "--library", "elsewhere"],
    )
    .expect(1);
    let mut named = complaints(&ended);
    named.sort();
    assert_eq!(
        named,
        [
            "warning document_corrupt",
            "warning document_not_utf8",
            "warning library_missing"
        ]
    );
    let report = ended.object();
    for (code, name) in [
        ("document_corrupt", "torn.pdf"),
        ("document_not_utf8", "latin.txt"),
        ("library_missing", "elsewhere"),
    ] {
        assert!(
            check(&report, code)["text"]
                .as_str()
                .unwrap()
                .contains(name),
            "{code}"
        );
    }
    assert!(
        check(&report, "documents")["text"]
            .as_str()
            .unwrap()
            .contains("1 readable"),
        "{report}"
    );
    assert!(
        !ended.out.contains("au lait"),
        "no text of a document is shown"
    );

    std::fs::remove_file(&kek).unwrap();
    assert!(complaints(&doctor(&shell, &[]).expect(2)).contains(&"error key_file".to_owned()));
}

#[test]
fn nothing_is_wrong_where_nothing_is_yet_and_nothing_is_made() {
    let shell = Shell::new().with_path();
    let ended = doctor(&shell, &[]);
    assert_eq!(complaints(&ended), Vec::<String>::new());
    assert!(shell.names().is_empty());
}

#[test]
fn faults_of_the_configuration_are_errors() {
    let shell = Shell::new()
        .with_path()
        .variable("HELIX_AGENT_DATABASE_SCOPES", "research_libary");
    let ended = shell
        .helix(&["doctor", "--json", "--listen", "127.0.0.1:99999"])
        .expect(2);
    assert!(complaints(&ended).contains(&"error config".to_owned()));
    let ended = doctor(&shell, &[]);
    assert!(
        complaints(&ended).contains(&"warning data_scope_unknown".to_owned()),
        "{}",
        ended.out
    );
}

#[test]
fn a_running_server_is_recognised_and_its_database_looked_at() {
    let shell = installed();
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let mut serve = shell.command(&[
        "serve",
        "--json",
        "--listen",
        &free,
        "--metrics-listen",
        "off",
    ]);
    let mut server = serve
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let started: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(started["url"], format!("http://{free}"));

    let report = shell
        .helix(&["doctor", "--json", "--listen", &free])
        .expect(1)
        .object();
    assert!(
        check(&report, "port")["text"]
            .as_str()
            .unwrap()
            .contains("a helix server answers"),
        "{report}"
    );
    assert_eq!(check(&report, "cluster")["text"], "present and running");
    assert_eq!(check(&report, "public_url")["level"], "ok");
    let other = [
        "doctor",
        "--json",
        "--listen",
        &free,
        "--public-url",
        "http://helix.example.org",
    ];
    let report = shell.helix(&other).expect(2).object();
    assert_eq!(check(&report, "public_url")["level"], "error");

    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());
}

#[test]
fn the_model_server_is_looked_at_without_a_token_spent_and_the_key_is_not_told() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let models = runtime.block_on(ModelServer::start());
    let shell = Shell::new()
        .with_path()
        .variable("HELIX_SOLVER", "openai")
        .variable("HELIX_MODEL", "m-1")
        .variable("HELIX_MODEL_API_KEY", "sk-canary")
        .variable("HELIX_MODEL_BASE_URL", models.base_url());
    let listed = Speech::json(&json!({"object": "list", "data": [{"id": "m-1"}]}));
    for (speech, level) in [
        (listed, "ok"),
        (Speech::json(&json!({"data": []})), "warning"),
        (Speech::status(401), "error"),
    ] {
        models.says([speech]);
        let ended = doctor(&shell, &[]);
        assert_eq!(check(&ended.object(), "model")["level"], level);
        assert!(!ended.out.contains("canary") && !ended.err.contains("canary"));
    }
    let asked = models.asked();
    assert!(asked.iter().all(|request| request.path == "/v1/models"));
    assert_eq!(asked.len(), 3);
}

#[test]
fn each_configured_server_of_the_tools_has_a_line() {
    let shell = installed();
    let server = Fake::start(|request| match request.path() {
        "/works" => Reply::json(200, &json!({"results": []})),
        _ => Reply::json(403, &json!({})),
    });
    let claims = shell.path().join("claims");
    std::fs::create_dir(&claims).unwrap();
    std::fs::write(claims.join("broken.toml"), "[[claim").unwrap();
    let report = doctor(
        &shell,
        &[
            "--search-base-url",
            &server.url,
            "--openalex-base-url",
            &server.url,
            "--crossref-base-url",
            "http://127.0.0.1:1",
            "--theory-dir",
            claims.to_str().unwrap(),
        ],
    )
    .expect(1)
    .object();
    let lines: Vec<(&str, &str)> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["code"] == "tool_server" || check["code"] == "theory_registry")
        .map(|check| {
            let level = check["level"].as_str().unwrap();
            (level, check["text"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        lines,
        [
            (
                "warning",
                "theory_registry: broken.toml: the file does not hold claims as they are written"
            ),
            (
                "warning",
                "the web search gives no usable answer, because it answered with status 403"
            ),
            ("ok", "OpenAlex answers"),
            (
                "warning",
                "Crossref gives no usable answer, because it cannot be reached"
            ),
        ]
    );
}
