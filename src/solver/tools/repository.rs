//! The `repository_evidence` scope: the text files of a git working tree.
//!
//! Git is asked for the list of files and for the commit, nothing else, and runs with nothing of
//! the repository's or the user's configuration that could start a program.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Component, Path};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::extract::Format;
use super::{FILE_LIMIT, Found, FoundFile, stamp};
use crate::solver::corpora::CorpusFault;

const GIT_BYTES: u64 = 16 << 20;
const GIT_TIME: Duration = Duration::from_secs(30);

/// Finds tracked and untracked, not ignored files.
pub(in crate::solver) fn scan(root: &Path) -> Found {
    let mut found = Found::default();
    let shown = root.display().to_string();
    if !root.is_dir() {
        let fault = if root.exists() {
            CorpusFault::NotAFolder
        } else {
            CorpusFault::MissingFolder
        };
        found.fault(shown, fault);
        return found;
    }
    let listed = match git(
        root,
        &[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
    ) {
        Ok(listed) => listed,
        Err(fault) => {
            found.fault(shown, fault);
            return found;
        }
    };
    // A repository without a commit has no HEAD; its files are read all the same.
    found.revision = git(root, &["rev-parse", "--verify", "HEAD"])
        .ok()
        .and_then(|answer| String::from_utf8(answer).ok())
        .map(|text| text.trim().to_owned());
    let names: BTreeSet<&[u8]> = listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .collect();
    for name in names {
        take(root, name, &mut found);
        if found.files.len() == FILE_LIMIT {
            found.fault(shown, CorpusFault::TooManyFiles { limit: FILE_LIMIT });
            break;
        }
    }
    found
}

fn take(root: &Path, name: &[u8], found: &mut Found) {
    let Ok(locator) = std::str::from_utf8(name) else {
        return found.fault(String::from_utf8_lossy(name), CorpusFault::OddName);
    };
    let relative = Path::new(locator);
    if !relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return;
    }
    let path = root.join(relative);
    let Ok(metadata) = std::fs::symlink_metadata(&path) else {
        // Tracked, but deleted from the working tree.
        return;
    };
    if metadata.is_symlink() {
        return found.fault(locator, CorpusFault::Link);
    }
    // A submodule is listed as a folder; it is another repository.
    let Some(stamp) = stamp(&path) else { return };
    let format = match Format::of_name(&path) {
        Some(Format::Pdf) => return,
        Some(format) => format,
        None => Format::Tracked,
    };
    found.files.push(FoundFile {
        locator: locator.to_owned(),
        path,
        root: root.to_owned(),
        format,
        stamp,
    });
}

fn git(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, CorpusFault> {
    let mut child = command(root, arguments).spawn().map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            CorpusFault::GitMissing
        } else {
            CorpusFault::NotARepository
        }
    })?;
    let (answer, answered) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(GIT_BYTES + 1).read_to_end(&mut bytes);
            // The receiver is gone when git took too long; nobody wants the answer then.
            drop(answer.send(read.map(|_| bytes)));
        });
    }
    let bytes = answered.recv_timeout(GIT_TIME);
    let complete = matches!(&bytes, Ok(Ok(bytes)) if bytes.len() as u64 <= GIT_BYTES);
    if !complete {
        // A process that has ended by itself cannot be killed, and need not be.
        drop(child.kill());
    }
    let status = child.wait().map_err(|_| CorpusFault::NotARepository)?;
    match bytes {
        Ok(Ok(bytes)) if complete && status.success() => Ok(bytes),
        Ok(_) if complete => Err(CorpusFault::NotARepository),
        Ok(_) | Err(_) => Err(CorpusFault::GitUnbounded),
    }
}

fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut safe_directory = std::ffi::OsString::from("safe.directory=");
    safe_directory.push(root.canonicalize().unwrap_or_else(|_| root.to_owned()));
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(root)
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .args(["-c", "core.untrackedCache=false", "-c"])
        .arg(safe_directory)
        .args(arguments)
        .env_clear()
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    // The program itself is found the usual way.
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}
