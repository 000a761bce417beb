//! Commands that work on a data directory.

use crate::Shell;

#[test]
fn a_mistyped_data_directory_is_refused_and_stays_away() {
    let shell = Shell::new().with_path();
    for command in [
        &["account", "list"][..],
        &["account", "unlink", "--binding", "agent_binding:none"],
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
