//! What was measured and on what, so that figures of different runs are not taken for one.

use std::path::Path;
use std::process::Command;

use helix_postgres::Programs;

/// The commit this binary was built from, as far as it can be told.
///
/// `HELIX_COMMIT` at build time wins. Otherwise the working tree in `folder` is asked, if it is
/// Helix's; a `-dirty` at the end means that it has changes of its own.
pub fn commit(folder: &Path) -> String {
    if let Some(commit) = option_env!("HELIX_COMMIT") {
        return commit.to_owned();
    }
    let is_ours = std::fs::read_to_string(folder.join("Cargo.toml"))
        .is_ok_and(|manifest| manifest.lines().any(|line| line == "name = \"helix\""));
    let described = is_ours.then(|| {
        Command::new("git")
            .current_dir(folder)
            .args([
                "describe",
                "--always",
                "--dirty",
                "--abbrev=12",
                "--exclude=*",
            ])
            .output()
    });
    let commit = match described {
        Some(Ok(output)) if output.status.success() => String::from_utf8(output.stdout).ok(),
        _ => None,
    };
    let unknown = || format!("unknown ({})", env!("CARGO_PKG_VERSION"));
    commit.map_or_else(unknown, |commit| commit.trim().to_owned())
}

/// Processors, memory, kernel, Postgres, build profile and how busy it is now, in one line.
///
/// A busy machine favours whoever has more processes, so its load belongs to the figures.
pub fn machine(programs: &Programs) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = first_value("/proc/cpuinfo", "model name").unwrap_or_default();
    let memory = first_value("/proc/meminfo", "MemTotal").unwrap_or_default();
    let memory = memory
        .split(' ')
        .next()
        .and_then(|kib| kib.parse::<u64>().ok())
        .unwrap_or(0);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    format!(
        "{cores} × {}, {} GiB, Linux {}, PostgreSQL {} with fsync, {profile} build, load {load}",
        processor.trim(),
        memory.div_ceil(1 << 20),
        kernel.trim(),
        programs.version
    )
}

/// The value of the first `key : value` line of a file of the kernel.
fn first_value(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(found, _)| found.trim() == key)
        .map(|(_, value)| value.trim().to_owned())
}
