//! The run client against a server that misbehaves as servers and proxies do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::{Value, json};

use crate::Shell;
use crate::fake::{Fake, Reply, Request};

const RUN: &str = "run_0193a0b1-0000-7000-8000-000000000001";
const TOKEN: &str = "canary-token";

fn run(lifecycle: &str, version: u64) -> Value {
    json!({
        "schema": "helix.agent_run.v1", "run_id": RUN, "lifecycle_status": lifecycle,
        "completion_status": "needs_more_evidence", "terminal_authority_status": "not_evaluated",
        "version": version, "objective": "o\u{1b}[2J", "summary": "s",
        "budget": { "max_steps": 12, "steps_used": 0, "expires_at": "2026-11-30T13:00:00.000Z" },
        "recommended_next_action": { "operation": "continue", "reason": "r" },
    })
}

fn event(seq: u64, kind: &str) -> Value {
    json!({ "seq": seq, "event_type": kind, "created_at": "2026-11-30T12:00:00.000Z", "payload": {} })
}

fn message(seq: u64, kind: &str) -> String {
    format!("id: {seq}\nevent: {kind}\ndata: {}\n\n", event(seq, kind))
}

fn page(seqs: std::ops::RangeInclusive<u64>, has_more: bool) -> Reply {
    let next = *seqs.end();
    let events: Vec<Value> = seqs
        .map(|seq| event(seq, "continuation_received"))
        .collect();
    Reply::json(
        200,
        &json!({ "events": events, "next_after_seq": next, "has_more": has_more }),
    )
}

fn seqs(out: &str) -> Vec<u64> {
    out.lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["seq"]
                .as_u64()
                .unwrap()
        })
        .collect()
}

fn shell() -> Shell {
    Shell::new().variable("HELIX_TOKEN", TOKEN)
}

fn wants_stream(request: &Request) -> bool {
    request.header("accept") == Some("text/event-stream")
}

#[test]
fn start_sends_what_was_said_under_a_printed_key() {
    let fake = Fake::start(|_| Reply::json(201, &run("waiting", 1)));
    let ended = shell()
        .variable("HELIX_URL", &fake.url)
        .helix(&[
            "run",
            "start",
            "find it",
            "--scope",
            "research_library",
            "--max-steps",
            "3",
            "--no-terminal-authority",
            "--json",
        ])
        .expect(0);
    assert_eq!(ended.object(), run("waiting", 1));
    let request = &fake.requests()[0];
    assert_eq!(request.path(), "/api/v1/agent-runs");
    assert_eq!(
        request.json(),
        json!({
            "objective": "find it", "database_scope": ["research_library"],
            "completion_contract": { "require_terminal_authority": false }, "budget": { "max_steps": 3 },
        })
    );
    assert_eq!(request.header("authorization"), Some("Bearer canary-token"));
    let key = request.header("idempotency-key").unwrap();
    assert!(ended.err.contains(&format!("key: {key}")), "{}", ended.err);
    assert!(!ended.err.contains(TOKEN));
}

#[test]
fn waiting_repeats_the_same_key_until_the_answer_is_final() {
    let fake = Fake::start(|request| match request.number {
        0 => Reply::json(201, &run("waiting", 1)).lost(10),
        1 => Reply::json(
            409,
            &json!({ "error": "idempotency_in_progress", "message": "m", "retryable": true }),
        ),
        _ => Reply::json(201, &run("waiting", 1)).header("Idempotency-Replayed", "true"),
    });
    let arguments = [
        "run",
        "start",
        "o",
        "--key",
        "my-own-key",
        "--wait",
        "--url",
        &fake.url,
    ];
    let ended = shell().helix(&arguments).expect(0);
    let keys: Vec<_> = fake
        .requests()
        .iter()
        .map(|r| r.header("idempotency-key").unwrap().to_owned())
        .collect();
    assert_eq!(keys, ["my-own-key"; 3]);
    assert!(ended.err.contains("\nreplayed"), "{}", ended.err);
    let once = [
        "run",
        "start",
        "o",
        "--key",
        "my-own-key",
        "--url",
        &fake.url,
    ];
    assert!(shell().helix(&once).expect(0).out.contains(RUN));
}

#[test]
fn continue_builds_on_the_present_version_and_carries_answers() {
    let fake = Fake::start(|_| Reply::json(200, &run("waiting", 7)));
    let arguments = [
        "run", "continue", RUN, "-i", "go on", "--answer", "q1=\"a\"", "--answer", "q2=b", "--url",
        &fake.url,
    ];
    let ended = shell().helix(&arguments).expect(0);
    assert!(
        !ended.out.contains('\u{1b}'),
        "control characters stay away from terminals"
    );
    let requests = fake.requests();
    assert_eq!(requests[0].path(), format!("/api/v1/agent-runs/{RUN}"));
    assert_eq!(
        requests[1].path(),
        format!("/api/v1/agent-runs/{RUN}/continue")
    );
    assert_eq!(
        requests[1].json(),
        json!({
            "expected_version": 7, "instruction": "go on",
            "answers": [{ "question_id": "q1", "value": "a" }, { "question_id": "q2", "value": "b" }],
        })
    );
}

#[test]
fn errors_of_the_server_keep_their_code_and_get_a_fix() {
    for (status, code, exit) in [
        (400, "invalid_request", 64),
        (401, "unauthorized", 5),
        (403, "insufficient_scope", 5),
        (404, "not_found", 1),
        (409, "run_busy", 3),
        (503, "auth_not_configured", 4),
    ] {
        let error =
            json!({ "error": code, "message": "m", "request_id": "r-1", "retryable": false });
        let fake = Fake::start(move |_| Reply::json(status, &error));
        let ended = shell()
            .helix(&["run", "inspect", RUN, "--json", "--url", &fake.url])
            .expect(exit);
        assert!(
            ended.err.starts_with(&format!("error[{code}]: m")),
            "{}",
            ended.err
        );
        assert!(ended.err.contains("\nfix: "), "{}", ended.err);
        assert_eq!(ended.object()["error"]["details"]["request_id"], "r-1");
    }
}

#[test]
fn a_redirect_does_not_carry_the_token_away() {
    let thief = Fake::start(|_| Reply::json(200, &run("waiting", 1)));
    let place = thief.url.clone();
    let fake = Fake::start(move |_| Reply::json(307, &json!({})).header("Location", &place));
    shell()
        .helix(&["run", "inspect", RUN, "--url", &fake.url])
        .expect(4);
    assert!(thief.requests().is_empty());
}

#[test]
fn following_survives_cuts_doubles_and_gaps_without_losing_an_event() {
    let fake = Fake::start(|request| match (wants_stream(request), request.number) {
        (false, 0) => page(1..=2, false),
        (true, 1) => {
            let text = format!(
                ": hi\n\n{}{}",
                message(3, "continuation_received"),
                "id: 4\ndata: {\"se"
            );
            Reply::new(200, "text/event-stream", text).lost(50)
        }
        (true, 2) => {
            let text = [
                message(3, "continuation_received"),
                message(4, "evidence_reentered"),
                message(7, "run_waiting"),
            ];
            Reply::new(200, "text/event-stream", text.concat())
        }
        (false, 3) => page(5..=7, false),
        _ => Reply::new(200, "text/event-stream", message(8, "run_completed")),
    });
    let ended = shell()
        .helix(&[
            "run", "events", RUN, "--follow", "--json", "--url", &fake.url,
        ])
        .expect(0);
    assert_eq!(seqs(&ended.out), [1, 2, 3, 4, 5, 6, 7, 8]);
    let resumed: Vec<_> = fake
        .requests()
        .iter()
        .filter_map(|r| r.header("last-event-id").map(str::to_owned))
        .collect();
    assert_eq!(resumed, ["2", "3", "7"]);
}

#[test]
fn following_polls_where_nothing_streams() {
    let fake = Fake::start(|request| {
        if wants_stream(request) || !request.target.contains("wait_ms") {
            return page(1..=1, false);
        }
        assert!(request.target.contains("after_seq=1"), "{}", request.target);
        Reply::json(
            200,
            &json!({ "events": [event(2, "run_cancelled")], "has_more": false }),
        )
    });
    let ended = shell()
        .helix(&[
            "run", "events", RUN, "--follow", "--json", "--url", &fake.url,
        ])
        .expect(0);
    assert_eq!(seqs(&ended.out), [1, 2]);
    assert!(
        fake.requests()
            .iter()
            .any(|request| request.target.contains("wait_ms=25000"))
    );
}

#[test]
fn a_stream_that_the_server_closes_says_why() {
    let fake = Fake::start(|request| {
        if wants_stream(request) {
            let text = "event: closed\ndata: {\"error\":\"unauthorized\"}\n\n";
            return Reply::new(200, "text/event-stream", text);
        }
        page(1..=1, false)
    });
    let ended = shell()
        .helix(&["run", "events", RUN, "--follow", "--url", &fake.url])
        .expect(5);
    assert!(
        ended.err.starts_with("error[unauthorized]"),
        "{}",
        ended.err
    );
}

#[test]
fn pages_are_read_to_their_end() {
    let fake = Fake::start(|request| {
        let first = request.target.contains("after_seq=0");
        page(if first { 1..=2 } else { 3..=4 }, first)
    });
    let ended = shell()
        .helix(&["run", "events", RUN, "--json", "--url", &fake.url])
        .expect(0);
    assert_eq!(seqs(&ended.out), [1, 2, 3, 4]);
}

#[test]
fn a_log_appears_whole_or_not_at_all() {
    let fake = Fake::start(|request| {
        let reply = Reply::new(200, "application/x-ndjson", "one\ntwo\n");
        if request.number == 0 {
            reply.lost(7)
        } else {
            reply
        }
    });
    let shell = shell();
    shell.file("log", "kept");
    let arguments = ["run", "log", RUN, "--out", "log", "--url", &fake.url];
    let there = shell.helix(&arguments).expect(1);
    assert!(there.err.starts_with("error[exists]: "), "{}", there.err);
    std::os::unix::fs::symlink("log", shell.path().join("link")).unwrap();
    let link = [
        "run", "log", RUN, "--force", "--out", "link", "--url", &fake.url,
    ];
    shell.helix(&link).expect(1);
    std::fs::remove_file(shell.path().join("link")).unwrap();
    assert!(fake.requests().is_empty(), "nothing was asked for");
    let arguments = [
        "run", "log", RUN, "--out", "log", "--force", "--url", &fake.url,
    ];
    shell.helix(&arguments).expect(4);
    assert_eq!(
        std::fs::read_to_string(shell.path().join("log")).unwrap(),
        "kept"
    );
    assert_eq!(shell.names(), ["log"], "nothing half-written is left");
    shell.helix(&arguments).expect(0);
    assert_eq!(
        std::fs::read_to_string(shell.path().join("log")).unwrap(),
        "one\ntwo\n"
    );
    assert_eq!(
        shell
            .helix(
                &arguments[..3]
                    .iter()
                    .chain(&arguments[6..])
                    .copied()
                    .collect::<Vec<_>>()
            )
            .expect(0)
            .out,
        "one\ntwo\n"
    );
}

#[test]
fn an_evidence_ref_is_one_encoded_segment() {
    let fake = Fake::start(|_| Reply::json(200, &json!({ "ref": "evidence:a/b?c", "quote": "q" })));
    shell()
        .helix(&[
            "run",
            "evidence",
            RUN,
            "--ref",
            "evidence:a/b?c",
            "--url",
            &fake.url,
        ])
        .expect(0);
    assert_eq!(
        fake.requests()[0].target,
        format!("/api/v1/agent-runs/{RUN}/evidence/evidence:a%2Fb%3Fc")
    );
}

#[test]
fn the_list_goes_on_where_the_cursor_says() {
    let fake = Fake::start(|_| {
        Reply::json(
            200,
            &json!({ "runs": [run("waiting", 1)], "next_cursor": "c2" }),
        )
    });
    let arguments = [
        "run", "list", "--status", "waiting", "--limit", "1", "--cursor", "c1", "--url", &fake.url,
    ];
    let ended = shell().helix(&arguments).expect(0);
    assert_eq!(
        fake.requests()[0].target,
        "/api/v1/agent-runs?status=waiting&limit=1&cursor=c1"
    );
    assert!(
        ended.out.contains(RUN) && ended.out.contains("--cursor c2"),
        "{}",
        ended.out
    );
}

#[test]
fn inspecting_can_wait_for_a_turn_to_end() {
    let fake = Fake::start(
        |request| match (request.path().ends_with("/events"), request.number) {
            (true, _) => page(1..=1, false),
            (false, 0) => Reply::json(200, &run("running", 2)),
            (false, _) => Reply::json(200, &run("waiting", 3)),
        },
    );
    let ended = shell()
        .helix(&[
            "run", "inspect", RUN, "--wait", "--json", "--url", &fake.url,
        ])
        .expect(0);
    assert_eq!(ended.object()["version"], 3);
}

#[test]
fn a_start_without_a_scope_says_that_nothing_can_be_read() {
    let fake = Fake::start(|_| Reply::json(201, &run("waiting", 1)));
    let start = ["run", "start", "o", "--url", &fake.url];
    let ended = shell().helix(&start).expect(0);
    assert!(ended.err.contains("can read nothing"), "{}", ended.err);
    let scoped = [&start[..], &["--scope", "public_web"]].concat();
    let ended = shell().helix(&scoped).expect(0);
    assert!(!ended.err.contains("can read nothing"), "{}", ended.err);
    let help = shell().helix(&["run", "start", "--help"]).expect(0).out;
    for word in [
        "public_web",
        "scholarly_research",
        "research_library",
        "repository_evidence",
        "theory_registry",
        "bound_room_evidence",
        "bound_room_environment_probe",
        "[default: 12]",
        "[default: 3600, an hour]",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

#[test]
fn an_unknown_ref_is_told_from_where_the_refs_are() {
    let error = json!({ "error": "not_found", "message": "There is no such run or ref." });
    let fake = Fake::start(move |_| Reply::json(404, &error));
    let arguments = ["run", "evidence", RUN, "--ref", "x", "--url", &fake.url];
    let ended = shell().helix(&arguments).expect(1);
    let fix = format!("fix: see the refs with `helix run evidence {RUN}`");
    assert!(
        ended.err.contains("no such run or ref") && ended.err.contains(&fix),
        "{}",
        ended.err
    );
}

#[test]
fn an_empty_list_says_so_and_knows_its_statuses() {
    let fake = Fake::start(|_| Reply::json(200, &json!({ "runs": [], "next_cursor": null })));
    let ended = shell()
        .helix(&["run", "list", "--url", &fake.url])
        .expect(0);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", "no runs\n"));
    let ended = shell()
        .helix(&["run", "list", "--status", "asleep", "--url", &fake.url])
        .expect(64);
    assert!(ended.err.contains("waiting"), "{}", ended.err);
}

#[test]
fn what_is_no_helix_server_is_called_so() {
    for body in [json!(null), json!({"ok": true}), json!([])] {
        let fake = Fake::start(move |_| Reply::json(200, &body));
        for arguments in [
            &["run", "inspect", RUN][..],
            &["run", "start", "Which port?"],
            &["run", "inspect", RUN, "--json"],
        ] {
            let all = [arguments, &["--url", &fake.url]].concat();
            let ended = shell().helix(&all).expect(4);
            assert!(
                ended.err.contains("not_helix") || ended.out.contains("not_helix"),
                "{}",
                ended.err
            );
        }
    }
}

#[test]
fn a_key_that_no_header_can_hold_is_a_fault_of_the_command() {
    for key in ["ferry-plan\r\nX: y", "ferry\tplan", "ferry-plån"] {
        let ended = shell()
            .helix(&[
                "run",
                "start",
                "Which port?",
                "--key",
                key,
                "--url",
                "http://127.0.0.1:9",
            ])
            .expect(64);
        assert!(ended.err.starts_with("error[key]: "), "{}", ended.err);
    }
}

#[test]
fn a_variable_that_is_no_text_is_not_passed_over() {
    let odd = || OsString::from_vec(b"http://\xff".to_vec());
    for name in ["HELIX_URL", "HELIX_TOKEN"] {
        let ended = Shell::new()
            .variable(name, odd())
            .helix(&["run", "list"])
            .expect(64);
        assert!(
            ended.err.starts_with("error[environment]: ") && ended.err.contains(name),
            "{}",
            ended.err
        );
    }
}
