//! Webhook endpoints at the command line.

use serde_json::Value;

use crate::key::installed;
use crate::{Ended, Shell};

const URL: &str = "http://127.0.0.1:9/in?token=kestrel";

fn lines(ended: &Ended) -> Vec<Value> {
    let object = |line: &str| serde_json::from_str(line).unwrap();
    ended.out.lines().map(object).collect()
}

fn webhook(shell: &Shell, arguments: &[&str], code: i32) -> Ended {
    let all = [&["webhook"], arguments, &["--json"]].concat();
    shell.helix(&all).expect(code)
}

#[test]
fn an_endpoint_is_made_listed_rotated_tested_and_deleted() {
    let shell = installed().variable("HELIX_WEBHOOK_ALLOW_PRIVATE", "1");
    let events = "run.completed,run.needs_input";
    let create = ["create", "--url", URL, "--events", events];
    let made = webhook(&shell, &create, 0).object();
    let id = made["webhook_id"].as_str().unwrap();
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 6 + 44);
    assert_eq!(made["url"], "http://127.0.0.1:9/***?***");
    assert_eq!(made["events"].as_array().unwrap().len(), 2);
    assert!(made["account_id"].as_str().unwrap().starts_with("acct_"));

    let list = webhook(&shell, &["list"], 0);
    let listed = lines(&list);
    assert_eq!(listed[0]["webhook_id"], made["webhook_id"]);
    assert_eq!(listed[0]["fingerprint"], made["fingerprint"]);
    assert!(!list.out.contains(secret) && !list.out.contains("kestrel"));

    let rotated = webhook(&shell, &["rotate", id], 0).object();
    assert_ne!(rotated["secret"], made["secret"]);
    assert!(rotated["previous_valid_until"].is_string());

    let sent = webhook(&shell, &["test", id], 0).object();
    let deliveries = lines(&webhook(&shell, &["deliveries", "--webhook", id], 0));
    assert_eq!(deliveries[0]["message_id"], sent["message_id"]);
    assert_eq!(deliveries[0]["state"], "pending");
    assert_eq!(deliveries[0]["type"], "webhook.test");
    let people = shell.helix(&["webhook", "deliveries"]).expect(0);
    assert!(people.out.contains("webhook.test"), "{}", people.out);

    let refused = webhook(&shell, &["enable", id], 1);
    assert!(
        refused.err.starts_with("error[refused]: "),
        "{}",
        refused.err
    );
    webhook(&shell, &["delete", id], 0);
    assert!(webhook(&shell, &["list"], 0).out.is_empty());
    let gone = webhook(&shell, &["rotate", id], 1);
    assert!(gone.err.starts_with("error[not_found]: "), "{}", gone.err);
}

#[test]
fn what_cannot_be_an_endpoint_is_refused_with_a_fix() {
    let shell = installed();
    let public = "https://hooks.example.org/in";
    let nobody = "acct_00000000-0000-0000-0000-000000000001";
    for (arguments, code, start) in [
        (
            &["create", "--url", URL, "--events", "run.failed"][..],
            64,
            "error[url]: ",
        ),
        (
            &["create", "--url", public, "--events", "run.started"],
            64,
            "error[usage]: ",
        ),
        (&["create", "--url", public], 64, "error[usage]: "),
        (&["rotate", "wh_1"], 64, "error[usage]: "),
        (
            &[
                "create",
                "--url",
                public,
                "--events",
                "run.failed",
                "--account",
                nobody,
            ],
            1,
            "error[not_found]: ",
        ),
    ] {
        let ended = webhook(&shell, arguments, code);
        assert!(ended.err.starts_with(start), "{arguments:?}: {}", ended.err);
        assert!(
            ended.err.contains("\nfix: "),
            "{arguments:?}: {}",
            ended.err
        );
        assert!(!ended.err.contains("kestrel"), "{}", ended.err);
    }
}
