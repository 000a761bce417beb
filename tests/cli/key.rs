use crate::{Ended, Shell};

const NOBODY: [&str; 4] = ["--listen", "127.0.0.1:0", "--metrics-listen", "off"];

/// A data directory with an account in it, and so with a wrapped key.
pub fn installed() -> Shell {
    let shell = Shell::new().with_path();
    shell.file("passphrase", "the tide is 1.9 metres\n");
    let create = [
        "account",
        "create",
        "--email",
        "ana@example.org",
        "--name",
        "Ana",
        "--passphrase-stdin",
    ];
    shell
        .helix_reading(&create, b"a passphrase of hers")
        .expect(0);
    shell
}

pub fn export(shell: &Shell, out: &str) -> Ended {
    shell.helix(&[
        "key",
        "export",
        "--out",
        out,
        "--passphrase-file",
        "passphrase",
    ])
}

fn import(shell: &Shell, from: &str) -> Ended {
    shell.helix(&["key", "import", from, "--passphrase-file", "passphrase"])
}

#[test]
fn a_lost_key_file_stops_every_command_until_its_export_is_put_back() {
    let shell = installed();
    let kek = shell.path().join("helix-data/keys/kek");
    let key = std::fs::read(&kek).unwrap();
    let status = shell.helix(&["key", "status", "--json"]).expect(0).object();
    assert_eq!(
        (&status["matches"], &status["exported_at"]),
        (&true.into(), &().into())
    );

    export(&shell, "kept").expect(0);
    let sealed = std::fs::read(shell.path().join("kept")).unwrap();
    let again = export(&shell, "kept").expect(1);
    assert!(again.err.starts_with("error[exists]: "), "{}", again.err);
    assert_eq!(std::fs::read(shell.path().join("kept")).unwrap(), sealed);
    let status = shell.helix(&["key", "status", "--json"]).expect(0).object();
    assert!(status["exported_at"].is_string(), "{status}");

    std::fs::remove_file(&kek).unwrap();
    let serve = [&["serve"], &NOBODY[..]].concat();
    for command in [
        &["account", "list"][..],
        &["key", "status"],
        &["key", "rotate"],
        &serve,
    ] {
        let ended = shell.helix(command).expect(4);
        assert!(
            ended.err.contains("error[key_file]: ")
                && ended
                    .err
                    .contains("`helix key import EXPORT --passphrase-file PASSPHRASE-FILE`."),
            "{}",
            ended.err
        );
    }
    let wrong = ["key", "import", "kept", "--passphrase-stdin"];
    let ended = shell
        .helix_reading(&wrong, b"the tide is 1.8 metres")
        .expect(5);
    assert!(
        ended.err.starts_with("error[passphrase]: ") && !kek.exists(),
        "{}",
        ended.err
    );

    import(&shell, "kept").expect(0);
    assert_eq!(std::fs::read(&kek).unwrap(), key);
    let list = shell.helix(&["account", "list"]).expect(0);
    assert!(list.out.contains("ana@example.org"), "{}", list.out);
    let same = import(&shell, "kept").expect(0);
    assert!(same.out.contains("already in place"), "{}", same.out);
}

#[test]
fn a_rotation_outdates_earlier_exports() {
    let shell = installed();
    let kek = shell.path().join("helix-data/keys/kek");
    export(&shell, "before").expect(0);
    let rotated = shell.helix(&["key", "rotate", "--json"]).expect(0).object();
    assert_eq!(rotated["rewrapped"], 1);
    let status = shell.helix(&["key", "status", "--json"]).expect(0).object();
    assert_eq!(
        (&status["matches"], &status["exported_at"]),
        (&true.into(), &().into())
    );

    let present = std::fs::read(&kek).unwrap();
    let ended = import(&shell, "before").expect(1);
    assert!(
        ended.err.starts_with("error[key_file_present]: "),
        "{}",
        ended.err
    );
    assert_eq!(std::fs::read(&kek).unwrap(), present);
    std::fs::remove_file(&kek).unwrap();
    let ended = import(&shell, "before").expect(1);
    assert!(
        ended.err.starts_with("error[old_export]: ") && !kek.exists(),
        "{}",
        ended.err
    );
}

#[test]
fn an_export_needs_a_key_and_a_passphrase_worth_the_name() {
    let shell = Shell::new();
    let ended = shell
        .helix_reading(
            &["key", "export", "--out", "x", "--passphrase-stdin"],
            b"long enough one",
        )
        .expect(4);
    assert!(ended.err.starts_with("error[key_file]: "), "{}", ended.err);
    std::fs::create_dir_all(shell.path().join("helix-data/keys")).unwrap();
    let ended = shell
        .helix(&["key", "import", "x", "--passphrase-stdin"])
        .expect(64);
    assert!(ended.err.starts_with("error[file]: "), "{}", ended.err);
    shell.file("x", "a shopping list");
    let ended = shell
        .helix(&["key", "import", "x", "--passphrase-stdin"])
        .expect(1);
    assert!(
        ended.err.starts_with("error[not_an_export]: "),
        "{}",
        ended.err
    );
}

#[test]
fn a_fix_line_names_the_installation_that_the_flags_have_named() {
    let shell = Shell::new().with_path();
    shell.file("odd.toml", "listne = \"x\"\n");
    for command in [&["key", "status"][..], &["config", "check"]] {
        let ended = shell
            .helix(&[command, &["--config", "odd.toml", "--data-dir", "my data"]].concat())
            .expect(64);
        let fix = "`helix config check --config odd.toml --data-dir 'my data'`";
        assert!(ended.err.contains(fix), "{}", ended.err);
    }
    let ended = shell
        .helix(&["doctor", "--config", "odd.toml", "--listen", "127.0.0.1:0"])
        .expect(2);
    assert!(
        ended.out.contains("`helix config check --config odd.toml`"),
        "{}",
        ended.out
    );
    let absent = ["key", "export", "--out", "x", "--passphrase-stdin"];
    let ended = shell
        .helix(&[&absent[..], &["--data-dir", "d"]].concat())
        .expect(4);
    let fix = "`helix key import EXPORT --passphrase-file PASSPHRASE-FILE --data-dir d`.";
    assert!(ended.err.contains(fix), "{}", ended.err);
}
