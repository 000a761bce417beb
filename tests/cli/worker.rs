//! `helix worker token`: what a person sees of a worker's credential, and how often.

use std::fs::File;

use serde_json::Value;

use crate::Shell;

fn create(shell: &Shell, name: &str) -> serde_json::Value {
    let made = shell.helix(&["worker", "token", "create", "--name", name, "--json"]);
    made.expect(0).object()
}

#[test]
fn a_token_is_shown_once_listed_without_its_text_and_revoked_for_good() {
    let shell = Shell::new().with_path();
    let made = create(&shell, "harbour");
    let token = made["token"].as_str().unwrap();
    let id = made["token_id"].as_str().unwrap();
    assert!(token.starts_with("hx_wk_") && token.len() == 55, "{token}");
    let mut members: Vec<&str> = made
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    members.sort_unstable();
    assert_eq!(members, ["created_at", "name", "token", "token_id"]);

    let listed = shell
        .helix(&["worker", "token", "list", "--json"])
        .expect(0);
    assert!(!listed.out.contains(token) && !listed.err.contains(token));
    let line = listed.object();
    assert_eq!(
        (line["name"].as_str(), line["state"].as_str()),
        (Some("harbour"), Some("live"))
    );
    assert_eq!(line["last_four"].as_str().unwrap(), &token[51..]);
    assert!(line["last_used_at"].is_null() && line["revoked_at"].is_null());

    let revoke = ["worker", "token", "revoke", id];
    shell.helix(&revoke).expect(0);
    // Once more changes nothing.
    shell.helix(&revoke).expect(0);
    let line = shell
        .helix(&["worker", "token", "list", "--json"])
        .expect(0)
        .object();
    assert_eq!(line["state"], "revoked");
    let text = shell.helix(&["worker", "token", "list"]).expect(0).out;
    assert!(
        text.contains("harbour") && text.contains("revoked") && text.contains(id),
        "{text}"
    );
}

#[test]
fn a_name_or_an_id_that_is_none_is_refused_with_a_fix() {
    let shell = Shell::new().with_path();
    create(&shell, "harbour");
    for (arguments, code) in [
        (&["worker", "token", "create", "--name", " "][..], 64),
        (&["worker", "token", "create", "--name", "a\u{7}b"], 64),
        (&["worker", "token", "create"], 64),
        (&["worker", "token", "revoke", "wtok_1"], 64),
        (
            &[
                "worker",
                "token",
                "revoke",
                "wtok_00000000-0000-7000-8000-000000000001",
            ],
            1,
        ),
    ] {
        let ended = shell.helix(arguments).expect(code);
        assert!(
            ended.err.contains("\nfix: "),
            "{arguments:?}: {}",
            ended.err
        );
        assert!(ended.out.is_empty());
    }
}

#[test]
fn doctor_misses_a_token_where_turns_wait_for_workers() {
    let shell = Shell::new().with_path();
    let doctor = || {
        let report = shell.helix(&[
            "doctor",
            "--json",
            "--listen",
            "127.0.0.1:0",
            "--solver",
            "worker",
        ]);
        let checks = report.object()["checks"].as_array().unwrap().clone();
        let mut of_workers = checks
            .into_iter()
            .filter(|check| check["code"] == "workers");
        of_workers.next().unwrap()
    };
    assert_eq!(doctor()["level"], "warning");
    create(&shell, "harbour");
    let report = doctor();
    assert_eq!(
        (&report["level"], &report["text"]),
        (&"ok".into(), &"1 live worker token".into())
    );
}

#[test]
fn a_token_that_could_not_be_shown_is_revoked_again() {
    let shell = Shell::new().with_path();
    create(&shell, "harbour");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let arguments = ["worker", "token", "create", "--name", "lost", "--json"];
    let ended = shell.helix_into(&arguments, full).expect(4);
    assert!(
        ended.err.contains("the token is revoked again"),
        "{}",
        ended.err
    );
    let listed = shell
        .helix(&["worker", "token", "list", "--json"])
        .expect(0);
    let states: Vec<Value> = listed
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["state"].clone())
        .collect();
    assert_eq!(states, ["live", "revoked"]);
}
