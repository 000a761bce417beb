use std::process::Stdio;

use crate::Shell;

#[test]
fn the_version_is_told_to_people_and_programs() {
    let shell = Shell::new();
    assert_eq!(
        shell.helix(&["--version"]).expect(0).out,
        concat!("helix ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let object = shell.helix(&["--version", "--json"]).expect(0).object();
    assert_eq!(object["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_shell_gets_its_completions() {
    let shell = Shell::new();
    for name in ["bash", "zsh", "fish"] {
        let script = shell.helix(&["completions", name]).expect(0).out;
        for word in ["serve", "projections", "metrics-listen", "passphrase-stdin"] {
            assert!(script.contains(word), "{name}: {word}");
        }
    }
    shell.helix(&["completions", "klingon"]).expect(64);
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let shell = Shell::new();
    assert!(shell.helix(&["man"]).expect(0).out.contains(".TH helix 1"));
    shell.helix(&["man", "--out", "."]).expect(0);
    for page in [
        "helix.1",
        "helix-serve.1",
        "helix-run-events.1",
        "helix-account-link.1",
    ] {
        assert!(shell.names().contains(&page.to_owned()), "{page}");
    }
    let page = std::fs::read_to_string(shell.path().join("helix-serve.1")).unwrap();
    assert!(page.contains("HELIX_METRICS_LISTEN"));
}

#[test]
fn wrong_usage_is_an_error_with_a_fix_and_exit_64() {
    let shell = Shell::new();
    for arguments in [
        &["serve", "--lisen", "x"][..],
        &[
            "account",
            "create",
            "--email",
            "a@example.org",
            "--name",
            "A",
        ],
        &["run", "inspect", "../rooms"],
        &["replay", "run_1"],
        &["verify"],
        &["verify", "file", "--head", "3"],
        &["key", "export", "--out", "x"],
    ] {
        let ended = shell.helix(arguments).expect(64);
        assert!(ended.err.starts_with("error[usage]: "), "{}", ended.err);
        assert!(
            ended.err.lines().any(|line| line.starts_with("fix: ")),
            "{}",
            ended.err
        );
        assert!(ended.out.is_empty());
    }
    shell.helix(&[]).expect(64);
}

#[test]
fn help_is_no_error() {
    let ended = Shell::new().helix(&["serve", "--help"]).expect(0);
    assert!(ended.out.contains("--agent-turn-timeout-ms") && ended.err.is_empty());
}

#[test]
fn the_systemd_unit_starts_this_binary() {
    let unit = Shell::new()
        .helix(&["serve", "--print-systemd"])
        .expect(0)
        .out;
    assert!(
        unit.contains(&format!(
            "ExecStart=\"{}\" serve",
            env!("CARGO_BIN_EXE_helix")
        )),
        "{unit}"
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let shell = Shell::new();
    let mut command = shell.command(&["completions", "bash"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn the_manual_names_the_folder_it_cannot_write_to() {
    let ended = Shell::new().helix(&["man", "--out", "nofolder"]).expect(4);
    assert!(ended.err.contains("nofolder"), "{}", ended.err);
}

#[test]
fn the_help_tells_the_exit_status() {
    let help = Shell::new().helix(&["--help"]).expect(0).out;
    for line in [
        "Exit status:",
        "  5   not allowed",
        "  64  the command line",
    ] {
        assert!(help.contains(line), "{line}: {help}");
    }
}
