//! Commands that work on a data directory.

use crate::Shell;
use crate::key::installed;

#[test]
fn a_mistyped_data_directory_is_refused_and_stays_away() {
    let shell = Shell::new().with_path();
    for command in [
        &["account", "list"][..],
        &["account", "unlink", "--binding", "agent_binding:none"],
        &["worker", "token", "list"],
        &["key", "rotate"],
        &["projections", "rebuild"],
        &["replay", "run_00010203-0405-0607-0809-0a0b0c0d0e0f"],
    ] {
        let there = [command, &["--data-dir", "hleix-data"]].concat();
        let ended = shell.helix(&there).expect(4);
        assert!(
            ended.err.starts_with("error[not_installed]: ") && shell.names().is_empty(),
            "{}",
            ended.err
        );
    }
}

#[test]
fn a_held_data_directory_is_in_use_whatever_the_port() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let shell = Shell::new().with_path();
    std::fs::create_dir(shell.path().join("held")).unwrap();
    shell.file("held/DEMO.txt", "");
    let lock = std::fs::File::create(shell.path().join("held/lock")).unwrap();
    lock.try_lock().unwrap();
    for command in ["serve", "demo"] {
        let arguments = [command, "--data-dir", "held", "--listen", &listen];
        let ended = shell.helix(&arguments).expect(3);
        assert!(
            ended.err.starts_with("error[in_use]: ") && ended.err.contains("\nfix: "),
            "{command}: {}",
            ended.err
        );
    }
}

#[test]
fn a_data_directory_that_cannot_be_made_is_named_itself() {
    let shell = Shell::new().with_path();
    shell.file("file", "");
    let ended = shell.helix(&["serve", "--data-dir", "file/data"]).expect(4);
    assert!(
        ended
            .err
            .starts_with("error[data_dir]: file/data cannot be used"),
        "{}",
        ended.err
    );
}

#[test]
fn a_refused_account_comes_with_a_fix() {
    let create = ["account", "create", "--email", "ana@example.org"];
    let create = [&create[..], &["--name", "Ana", "--passphrase-stdin"]].concat();
    let ended = installed()
        .helix_reading(&create, b"another passphrase")
        .expect(1);
    assert!(
        ended.err.starts_with("error[refused]: ") && ended.err.contains("\nfix: find it with"),
        "{}",
        ended.err
    );
}

#[test]
fn an_invitation_and_a_reset_print_a_link_that_is_shown_this_once() {
    let shell = installed();
    let invite = [
        "account",
        "invite",
        "--email",
        "ben@example.org",
        "--name",
        "Ben",
        "--json",
    ];
    let made: serde_json::Value =
        serde_json::from_str(&shell.helix(&invite).expect(0).out).unwrap();
    let account = made["account_id"].as_str().unwrap();
    let reset = ["account", "reset-link", account, "--json"];
    let again: serde_json::Value =
        serde_json::from_str(&shell.helix(&reset).expect(0).out).unwrap();
    for link in [&made, &again] {
        let url = link["url"].as_str().unwrap();
        assert!(
            url.starts_with("http://127.0.0.1:") && url.contains("/invite/hx_lk_"),
            "{url}"
        );
    }
    assert_ne!(made["url"], again["url"]);
    let twice = shell.helix(&invite).expect(1);
    assert!(twice.err.starts_with("error[refused]: "), "{}", twice.err);
    let nobody = [
        "account",
        "reset-link",
        "acct_00000000-0000-0000-0000-000000000001",
    ];
    let nobody = shell.helix(&nobody).expect(1);
    assert!(
        nobody.err.starts_with("error[not_found]: "),
        "{}",
        nobody.err
    );
}
