//! Processes that a test starts, signals and outlives.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::client::Client;
use super::{Caller, Ended, until};

/// A server that serves. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    pub url: String,
    child: Child,
    ended: Option<ExitStatus>,
}

impl Server {
    pub async fn spawn(mut command: Command, log: PathBuf, limit: Duration) -> Self {
        let stderr = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        command
            .args(["serve", "--json"])
            .stdout(Stdio::piped())
            .stderr(stderr);
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut server = Self {
            url: String::new(),
            child,
            ended: None,
        };
        let first = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).map(|_| line)
        });
        let announced = tokio::time::timeout(limit, first).await;
        let told = || std::fs::read_to_string(&log).unwrap_or_default();
        let line = announced.unwrap_or_else(|_| panic!("no server in {limit:?}: {}", told()));
        let line = line.unwrap().unwrap();
        let seen: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}{}", told()));
        seen["url"].as_str().unwrap().clone_into(&mut server.url);
        server
    }

    pub fn client(&self, caller: &Caller) -> Client {
        Client::new(self.url.clone(), caller.token.clone())
    }

    pub fn pid(&self) -> Pid {
        pid(self.child.id())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for the process to end.
    pub async fn ended(&mut self, limit: Duration) -> ExitStatus {
        let status = until("the server ends", limit, async || {
            self.child.try_wait().unwrap()
        })
        .await;
        self.ended = Some(status);
        status
    }

    pub async fn kill(mut self) {
        self.signal(Signal::KILL);
        self.ended(Duration::from_secs(10)).await;
    }

    /// Asks it to stop and expects that it ends well.
    pub async fn stop(mut self) {
        self.signal(Signal::TERM);
        let status = self.ended(Duration::from_secs(40)).await;
        assert_eq!(status.code(), Some(0), "{status}");
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.ended.is_some() {
            return;
        }
        // A stopped process hears nothing but this; a running one ignores it.
        let _heard = kill_process(self.pid(), Signal::CONT);
        let _heard = kill_process(self.pid(), Signal::TERM);
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).unwrap()
}

/// Runs a command to its end.
pub async fn run(mut command: Command, input: &str) -> Ended {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let input = input.to_owned();
    let output = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        // A command that does not read its input may close it first.
        let _closed = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    });
    let output = tokio::time::timeout(Duration::from_secs(120), output).await;
    let output = output.expect("the command ends").unwrap();
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
