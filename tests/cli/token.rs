//! `helix token` and `helix workspace`: the operator's way to the credentials of harnesses.

use serde_json::json;

use crate::Shell;
use crate::key::installed;

fn member(shell: &Shell, account: &str) -> i32 {
    let workspace = shell
        .helix(&["workspace", "list", "--json"])
        .expect(0)
        .object();
    let workspace = workspace["workspace_id"].as_str().unwrap().to_owned();
    let add = [
        "workspace",
        "member",
        "add",
        "--workspace",
        &workspace,
        "--account",
        account,
        "--role",
        "member",
    ];
    shell.helix(&add).code
}

#[test]
fn a_token_is_minted_rotated_listed_and_revoked_without_a_browser() {
    let shell = installed();
    let create = [
        "token",
        "create",
        "--name",
        "harness",
        "--scopes",
        "brief:read,brief:write",
        "--json",
    ];
    let made = shell.helix(&create).expect(0).object();
    let token = made["token"].as_str().unwrap();
    let id = made["token_id"].as_str().unwrap();
    assert!(token.starts_with("hx_nt_") && token.len() == 55);
    let rotate = ["token", "rotate", id, "--grace-seconds", "60", "--json"];
    let second = shell.helix(&rotate).expect(0).object();
    assert_ne!(second["token_id"], made["token_id"]);
    assert_eq!(second["workspace_id"], made["workspace_id"]);
    let revoke = ["token", "revoke", id];
    shell.helix(&revoke).expect(0);
    shell.helix(&revoke).expect(0);
    let listed = shell.helix(&["token", "list", "--json"]).expect(0);
    assert!(!listed.out.contains(token));
    let lines = listed.out.lines();
    let lines: Vec<serde_json::Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let states: Vec<&str> = lines
        .iter()
        .map(|line| line["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["live", "revoked"]);
    assert_eq!(lines[0]["creator"], "Helix (operator)");
    assert_eq!(lines[0]["scopes"], json!(["brief:read", "brief:write"]));
}

#[test]
fn what_cannot_be_minted_is_refused_with_a_fix() {
    let shell = installed();
    let create = |more: &[&'static str]| {
        let all = [&["token", "create", "--name", "n"], more].concat();
        shell.helix(&all)
    };
    for (more, code) in [
        (&["--scopes", "work"][..], 64),
        (&["--expires-days", "366"], 64),
        (&["--projects", "prj_x"], 64),
        (
            &["--projects", "prj_00000000-0000-7000-8000-000000000001"],
            1,
        ),
        (
            &["--workspace", "ws_00000000-0000-7000-8000-000000000001"],
            1,
        ),
        (&["--account", "acct_none"], 64),
    ] {
        let refused = create(more).expect(code);
        assert!(refused.err.starts_with("error["), "{}", refused.err);
    }
    shell.helix(&["token", "revoke", "tok_x"]).expect(64);
    assert_eq!(
        member(&shell, "acct_00000000-0000-7000-8000-000000000001"),
        1
    );
}
