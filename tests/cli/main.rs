//! The binary as a person and a script meet it: arguments in, text and exit codes out.

#![expect(clippy::unwrap_used, reason = "a test's own tools fail the test")]

mod attach;
mod config;
mod conformance;
mod demo;
mod doctor;
mod fake;
mod health;
mod key;
mod manual;
mod run;
mod token;
mod verify;
mod webhook;
mod worker;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A working directory of its own and an environment that holds nothing but what a test sets.
struct Shell {
    folder: TempDir,
    variables: Vec<(&'static str, OsString)>,
}

/// How a command ended.
struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Shell {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            variables: Vec::new(),
        }
    }

    fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Where Postgres may be found, for commands that start one.
    fn with_path(self) -> Self {
        let path = std::env::var("PATH").unwrap_or_default();
        self.variable("PATH", path)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_helix"));
        command
            .args(arguments)
            .env_clear()
            .current_dir(self.path())
            .stdin(Stdio::null());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn helix(&self, arguments: &[&str]) -> Ended {
        Ended::from(self.command(arguments).output().unwrap())
    }

    /// Its standard output goes into `out`.
    fn helix_into(&self, arguments: &[&str], out: File) -> Ended {
        let mut command = self.command(arguments);
        Ended::from(command.stdout(out).output().unwrap())
    }

    fn helix_reading(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Ended::from(child.wait_with_output().unwrap())
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// The one JSON object of `--json`.
    fn object(&self) -> serde_json::Value {
        assert_eq!(self.out.lines().count(), 1, "{}", self.out);
        serde_json::from_str(&self.out).unwrap()
    }

    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        self
    }
}
