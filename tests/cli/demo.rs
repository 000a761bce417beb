use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::Shell;

const QUIET: [&str; 4] = ["--listen", "127.0.0.1:0", "--metrics-listen", "off"];

fn steps(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn step<'a>(steps: &'a [Value], name: &str) -> &'a Value {
    steps.iter().find(|step| step["step"] == name).unwrap()
}

#[test]
fn a_second_demo_finds_what_the_first_has_made_and_mends_its_library() {
    let shell = Shell::new().with_path();
    let home = shell.path().join("my demo");
    let arguments = [&["demo", "--check", "--data-dir", "./my demo"], &QUIET[..]].concat();
    let first = shell.helix(&arguments).expect(0);
    let ticked = first
        .out
        .lines()
        .filter(|line| line.starts_with('✓'))
        .count();
    assert!(ticked >= 11 && !first.out.contains('✗'), "{}", first.out);
    assert!(
        first.out.contains("answer: ") && first.out.contains("[1]"),
        "{}",
        first.out
    );

    std::fs::remove_file(home.join("library/fares.html")).unwrap();
    let second = shell
        .helix(&[&arguments[..], &["--json"]].concat())
        .expect(0);
    let steps = steps(&second.out);
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step["step"].as_str().unwrap())
        .collect();
    let expected = [
        "postgres",
        "schema",
        "owner",
        "documents",
        "start",
        "replay",
        "continue",
        "continue",
        "events",
        "evidence",
        "ref",
        "log",
        "sign_in",
        "connect",
        "projects",
        "reach",
    ];
    assert_eq!(names, expected);
    assert!(
        steps
            .iter()
            .all(|step| step["ok"] == true && step["ms"].is_u64()),
        "{}",
        second.out
    );
    assert_eq!(step(&steps, "owner")["status"], "kept");
    assert_eq!(step(&steps, "documents")["status"], "1 unpacked");
    assert_eq!(step(&steps, "replay")["id"], step(&steps, "start")["id"]);
    assert_eq!(step(&steps, "log")["status"], "verified");
    assert_eq!(step(&steps, "connect")["status"], "connected");
    assert_eq!(step(&steps, "projects")["status"], "kept");
    assert_eq!(step(&steps, "reach")["status"], "revoked");

    for name in ["token", "token-secret", "passphrase"] {
        let file = home.join(name);
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600,
            "{name}"
        );
        let secret = std::fs::read_to_string(file).unwrap();
        let log = std::fs::read_to_string(home.join("postgres.log")).unwrap();
        for text in [&first.out, &first.err, &second.out, &second.err, &log] {
            assert!(!text.contains(secret.trim()), "{name}");
        }
    }

    let reset = shell
        .helix(&[&arguments[..], &["--json", "--reset"]].concat())
        .expect(0);
    assert_eq!(step(&self::steps(&reset.out), "owner")["status"], "created");
}

#[test]
fn a_taken_port_that_was_asked_for_ends_the_demo_with_a_fix() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let shell = Shell::new().with_path();
    let arguments = [
        "demo",
        "--check",
        "--listen",
        &address,
        "--metrics-listen",
        "off",
    ];
    let ended = shell.helix(&arguments).expect(1);
    assert!(
        ended.err.contains("error[listen]: ") && ended.err.contains("\nfix: "),
        "{}",
        ended.err
    );
    let ended = shell
        .helix(&[&arguments[..], &["--json"]].concat())
        .expect(1);
    let object = ended.object();
    assert_eq!(
        (&object["step"], &object["ok"]),
        (&"postgres".into(), &false.into())
    );
    assert!(object["error"]["fix"].is_string(), "{object}");
}

#[test]
fn a_directory_that_is_not_a_demos_is_neither_used_nor_deleted() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path().join("mine")).unwrap();
    shell.file("mine/thesis.txt", "years of work");
    for reset in [&[][..], &["--reset"]] {
        let ended = shell
            .helix(&[&["demo", "--check", "--data-dir", "mine"], reset].concat())
            .expect(1);
        assert!(
            ended.err.starts_with("error[not_a_demo]: "),
            "{}",
            ended.err
        );
    }
    let names = std::fs::read_dir(shell.path().join("mine"))
        .unwrap()
        .count();
    assert_eq!(names, 1);
    assert_eq!(
        std::fs::read(shell.path().join("mine/thesis.txt")).unwrap(),
        b"years of work"
    );
}

#[test]
fn the_demo_runs_on_nothing_but_its_own() {
    let shell = Shell::new();
    let ended = shell
        .helix(&[
            "demo",
            "--check",
            "--database-url",
            "postgres://db.example.org/x",
        ])
        .expect(64);
    assert!(ended.err.contains("--database-url"), "{}", ended.err);
    assert!(shell.names().is_empty());
}
