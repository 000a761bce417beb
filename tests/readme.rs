//! The README keeps its word: every block marked `sh run` is executed, in order and in one shell as a
//! reader would, against a real server with its own Postgres; what the README prints below a block must
//! be what the block prints.
//!
//! Two things differ from a reader's terminal: the port, which somebody else may hold, and what no
//! two runs share (ids, hashes, times, counts of milliseconds), which is masked on both sides.

#![expect(clippy::unwrap_used, reason = "a test's own tools fail the test")]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;

/// The address the README's server listens on.
const ADDRESS: &str = "127.0.0.1:8787";
/// Stands between the outputs of two blocks.
const BORDER: &str = "---- next block ----";
/// Longest time for all blocks together, in seconds.
const PATIENCE: &str = "180";

/// A block of commands, and what the README says that it prints.
#[derive(Debug)]
struct Block {
    commands: String,
    printed: Option<String>,
}

#[test]
fn the_commands_of_the_readme_print_what_the_readme_shows() {
    let blocks = blocks(&readme());
    assert!(blocks.len() >= 3, "too few blocks: {blocks:#?}");
    let folder = tempfile::tempdir().unwrap();
    let printed = run(&blocks, folder.path());
    let outputs: Vec<&str> = printed.split(BORDER).collect();
    assert_eq!(outputs.len(), blocks.len(), "{printed}");
    for (block, output) in blocks.iter().zip(outputs) {
        let Some(shown) = &block.printed else {
            continue;
        };
        assert_eq!(
            masked(output),
            masked(shown),
            "\n--- after\n{}\n--- it printed\n{output}\n--- the README shows\n{shown}",
            block.commands
        );
    }
}

#[test]
fn the_demo_ticks_the_steps_that_the_readme_shows() {
    let readme = readme();
    let shown = readme.split("```text\n").nth(1).unwrap();
    // The lines below the steps name places of the machine it ran on.
    let steps = shown.split("\n\n").next().unwrap();
    assert!(steps.starts_with('✓'), "{steps}");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_helix"))
        .args(["demo", "--check"])
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HELIX_LISTEN", "127.0.0.1:0")
        .env("HELIX_METRICS_LISTEN", "off")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{err}");
    assert_eq!(masked(&printed), masked(steps), "{printed}");
}

#[test]
fn the_two_commands_of_the_readme_are_the_ones_that_ci_runs() {
    let readme = readme();
    let first = readme.split("```sh\n").nth(1).unwrap();
    let commands: Vec<&str> = first
        .split("```")
        .next()
        .unwrap()
        .lines()
        .map(|line| line.split('#').next().unwrap().trim())
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(commands, ["cargo run --release -- demo", "cargo test"]);
    let ci = std::fs::read_to_string(root().join("ops/ci.sh")).unwrap();
    let tests = ci.split("step_tests() {").nth(1).unwrap();
    let tests = tests.lines().next().unwrap();
    assert!(tests.trim_end().ends_with("cargo test; }"), "{tests}");
}

#[test]
fn every_path_that_the_readme_links_exists() {
    let readme = readme();
    let links = Regex::new(r"\]\(([^)#]+)\)").unwrap();
    let paths: Vec<&str> = links
        .captures_iter(&readme)
        .map(|found| found.get(1).unwrap().as_str())
        .filter(|target| !target.contains("://"))
        .collect();
    assert!(!paths.is_empty());
    for path in paths {
        assert!(root().join(path).exists(), "{path}");
    }
}

#[test]
fn every_metric_that_the_runbook_names_is_exposed() {
    let runbook = std::fs::read_to_string(root().join("ops/runbook.md")).unwrap();
    let metrics = std::fs::read_to_string(root().join("src/metrics.rs")).unwrap();
    let name = Regex::new(r"helix_([a-z_]+)").unwrap();
    let mut named = 0;
    for found in name.captures_iter(&runbook) {
        let name = found[1].trim_end_matches("_count");
        assert!(metrics.contains(&format!("\"{name}\"")), "{name}");
        named += 1;
    }
    assert!(named > 10, "{named} metrics");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// The blocks marked `sh run`, each with the `text` block that follows it directly.
fn blocks(readme: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut fence: Option<(String, String)> = None;
    let mut after_commands = false;
    for line in readme.lines() {
        match (&mut fence, line.strip_prefix("```")) {
            (Some((kind, text)), Some(_)) => {
                match kind.as_str() {
                    "sh run" => blocks.push(Block {
                        commands: text.clone(),
                        printed: None,
                    }),
                    "text" if after_commands => {
                        blocks.last_mut().unwrap().printed = Some(text.clone());
                    }
                    _ => {}
                }
                after_commands = kind == "sh run";
                fence = None;
            }
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, Some(kind)) => fence = Some((kind.to_owned(), String::new())),
            (None, None) => after_commands &= line.is_empty(),
        }
    }
    blocks
}

/// Runs all blocks in one shell and returns what they printed on standard output.
fn run(blocks: &[Block], folder: &Path) -> String {
    let border = format!("echo; echo '{BORDER}'\n");
    let commands: Vec<&str> = blocks.iter().map(|block| block.commands.as_str()).collect();
    // A failed command ends the script, and the server with it.
    let prelude = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n";
    let listen = free_address();
    let script = format!("{prelude}{}", commands.join(&border)).replace(ADDRESS, &listen);
    let helix = Path::new(env!("CARGO_BIN_EXE_helix"));
    let path = format!(
        "{}:{}",
        helix.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let output = Command::new("timeout")
        .args(["--kill-after=10", PATIENCE, "bash", "-c", &script])
        .env_clear()
        .envs([("PATH", path.as_str()), ("HOME", folder.to_str().unwrap())])
        .envs([
            ("HELIX_LISTEN", listen.as_str()),
            ("HELIX_METRICS_LISTEN", "off"),
        ])
        .env("HELIX_URL", format!("http://{listen}"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    let log = std::fs::read_to_string(folder.join("serve.log")).unwrap_or_default();
    assert!(
        output.status.success(),
        "{}\n--- out\n{out}\n--- err\n{err}\n--- serve.log\n{log}\n--- install with: apt-get install curl perl",
        output.status
    );
    out
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// The lines that are not blank, without what differs from run to run.
fn masked(text: &str) -> Vec<String> {
    let masks = [
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "UUID",
        ),
        (r"\b[0-9a-f]{8,64}\b", "HEX"),
        (r"\b\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
        (r"[0-9a-f]+…", "SHORTENED"),
        (r"\b1[5-8]\.\d+\b", "POSTGRES"),
        (r"127\.0\.0\.1:\d+", "ADDRESS"),
        (r"\b\d+(\.\d+)? ?(ms|bytes)\b", "SIZE"),
    ];
    let masks = masks.map(|(pattern, name)| (Regex::new(pattern).unwrap(), name));
    let mask = |line: &str| {
        // Columns are as wide as what was masked.
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        masks.iter().fold(line, |line, (mask, name)| {
            mask.replace_all(&line, *name).into_owned()
        })
    };
    text.lines()
        .map(mask)
        .filter(|line| !line.is_empty())
        .collect()
}
