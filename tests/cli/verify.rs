//! The verdict as an exit code, on the published vector written out as a log.

use serde_json::{Value, json};

use crate::Shell;
use crate::fake::{Fake, Reply};

const FIRST: &str = "fbc65ecb521e17697412301515dd761bc803e4216a7ac2df25f1c79b6279df03";
const SECOND: &str = "e0f6aefcd3c640b1cc9e502ab615d35a3f88fb53a409d2e7d02c0fc19ea8a685";
const RUN: &str = "run_00010203-0405-0607-0809-0a0b0c0d0e0f";

fn log() -> String {
    let zero = "0".repeat(64);
    format!(
        concat!(
            r#"{{"schema":"helix.run_log.v1","run_id":"{run}","stream":"000102030405060708090a0b0c0d0e0f","#,
            r#""algorithm":"es1","exported_at":"2026-11-30T12:00:01.000Z","head":{{"seq":2,"hash":"{second}"}}}}"#,
            "\n",
            r#"{{"seq":1,"kind":"run_started","ver":1,"at":"2026-11-30T12:00:00.000Z","#,
            r#""payload":"eyJwdWJsaWMiOnsidmVyc2lvbiI6MX0sInN0YXRlIjp7fX0=","meta":"e30=","prev":"{zero}","hash":"{first}"}}"#,
            "\n",
            r#"{{"seq":2,"kind":"run_cancelled","ver":1,"at":"2026-11-30T12:00:00.001Z","#,
            r#""payload":"eyJwdWJsaWMiOnsicmVhc29uIjoiZ2VudWcsIFpvw6sifX0=","meta":"e30=","prev":"{first}","hash":"{second}"}}"#,
            "\n"
        ),
        run = RUN,
        zero = zero,
        first = FIRST,
        second = SECOND,
    )
}

#[test]
fn the_verdict_is_the_exit_code() {
    let shell = Shell::new();
    let altered = log().replacen("run_cancelled", "run_completed", 1);
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    shell.file("good", log());
    shell.file("altered", &altered);
    shell.file("empty", "");
    shell.file("picture", picture);
    shell.helix(&["verify", "good"]).expect(0);
    let ended = shell.helix(&["verify", "altered"]).expect(1);
    assert!(ended.out.starts_with("broken at 2: "), "{}", ended.out);
    shell
        .helix(&["verify", "good", "--head", &format!("3:{FIRST}")])
        .expect(2);
    for file in ["empty", "picture", "missing", "."] {
        let ended = shell.helix(&["verify", file]).expect(3);
        assert!(ended.out.starts_with("unusable: "), "{}", ended.out);
    }
    shell.helix(&["verify", "--self-test"]).expect(0);
    shell.helix(&["verify", "--self-test", "altered"]).expect(1);
}

#[test]
fn a_noted_head_finds_a_cut_tail_and_a_rewritten_one() {
    let shell = Shell::new();
    shell.file("good", log());
    let lines: Vec<String> = log().lines().map(|line| format!("{line}\n")).collect();
    let head = format!(r#"{{"seq":2,"hash":"{SECOND}"}}"#);
    let shorter = format!(r#"{{"seq":1,"hash":"{FIRST}"}}"#);
    shell.file(
        "cut",
        format!("{}{}", lines[0].replacen(&head, &shorter, 1), lines[1]),
    );
    shell.helix(&["verify", "cut"]).expect(0);
    shell
        .helix(&["verify", "cut", "--head", &format!("2:{SECOND}")])
        .expect(2);
    shell
        .helix(&["verify", "good", "--head", &format!("2:{SECOND}")])
        .expect(0);
    shell
        .helix(&["verify", "good", "--head", &format!("1:{FIRST}")])
        .expect(0);
    let ended = shell
        .helix(&["verify", "good", "--head", &format!("2:{FIRST}")])
        .expect(1);
    assert!(
        ended.out.contains("the head does not match"),
        "{}",
        ended.out
    );
}

#[test]
fn json_names_the_damage_and_its_place() {
    let shell = Shell::new();
    shell.file(
        "spaced",
        log().replacen("\"seq\":2,\"kind\"", "\"seq\": 2,\"kind\"", 1),
    );
    let object = shell
        .helix(&["verify", "spaced", "--json"])
        .expect(1)
        .object();
    assert_eq!(
        (&object["verdict"], &object["at"], &object["damage"]),
        (&json!("broken"), &json!(2), &json!("spelling"))
    );
    let object = Shell::new()
        .helix_reading(&["verify", "-", "--json"], log().as_bytes())
        .expect(0)
        .object();
    assert_eq!(object["head"], json!({ "seq": 2, "hash": SECOND }));
    assert_eq!(
        (&object["run_id"], &object["not_proven"]),
        (&json!(RUN), &json!(["exported_at"]))
    );
}

fn served(change: impl Fn(&mut Value) + Send + 'static) -> Fake {
    let event = |seq: u64, id: &str, kind: &str, at: &str, payload: Value| {
        json!({
            "schema": "helix.agent_run.event.v1", "event_id": id, "run_id": RUN, "seq": seq,
            "event_type": kind, "payload": payload, "created_at": at, "answer_authority": false,
            "assistant_answer": false, "terminal_eligible": false, "raw_content_included": false,
        })
    };
    let first = (
        "evt_e525ce0b-2f0b-8631-a810-e1eb54aa07f3",
        "2026-11-30T12:00:00.000Z",
    );
    let second = (
        "evt_d665dd6e-b3d8-81ee-a626-c556fdc2526f",
        "2026-11-30T12:00:00.001Z",
    );
    let mut events = json!([
        event(1, first.0, "run_started", first.1, json!({ "version": 1 })),
        event(
            2,
            second.0,
            "run_cancelled",
            second.1,
            json!({ "reason": "genug, Zoë" })
        ),
    ]);
    change(&mut events);
    Fake::start(move |request| {
        let query = request.target.split_once("after_seq=").unwrap().1;
        let after: usize = query.split('&').next().unwrap().parse().unwrap();
        let page: Vec<&Value> = events.as_array().unwrap().iter().skip(after).collect();
        Reply::json(200, &json!({ "events": page, "has_more": false }))
    })
}

#[test]
fn with_a_server_every_clear_field_is_compared() {
    let shell = Shell::new();
    shell.file("good", log());
    let same = served(|_| ());
    shell
        .helix(&["verify", "good", "--url", &same.url])
        .expect(0);
    assert_eq!(
        same.requests()[0].target,
        format!("/api/v1/agent-runs/{RUN}/events?after_seq=0&limit=2")
    );
    let other = served(|events| events[1]["payload"]["reason"] = "another".into());
    let object = shell
        .helix(&["verify", "good", "--json", "--url", &other.url])
        .expect(1)
        .object();
    assert_eq!(
        (&object["at"], &object["damage"]),
        (&json!(2), &json!("served"))
    );
    let refusing =
        Fake::start(|_| Reply::json(401, &json!({ "error": "unauthorized", "message": "no" })));
    shell
        .helix(&["verify", "good", "--url", &refusing.url])
        .expect(2);
}

#[test]
fn a_log_that_ends_before_what_is_served_is_not_called_verified() {
    let shell = Shell::new();
    shell.file("good", log());
    let grown = served(|events| {
        let mut third = events[1].clone();
        third["seq"] = 3.into();
        events.as_array_mut().unwrap().push(third);
    });
    let ended = shell
        .helix(&["verify", "good", "--url", &grown.url])
        .expect(2);
    assert!(ended.out.contains("events after 2"), "{}", ended.out);
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_a_fix() {
    let ended = Shell::new().helix(&["verify", "nofile"]).expect(3);
    assert!(
        ended.out.contains("nofile cannot be opened") && ended.err.starts_with("fix: "),
        "{}{}",
        ended.out,
        ended.err
    );
}
