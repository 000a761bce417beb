//! The server as a process of its own, with what it prints.

use std::process::Stdio;

use helix::testing::TestApp;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

pub const HELIX: &str = env!("CARGO_BIN_EXE_helix");

/// Makes the projections of a test's database again, as an operator does.
pub async fn rebuild(app: &TestApp) {
    let (arguments, environment) = app.serve_process();
    let rebuilt = Command::new(HELIX)
        .args(["projections", "rebuild"])
        .args(arguments.into_iter().skip(1))
        .env_clear()
        .envs(environment)
        .output()
        .await
        .unwrap();
    assert!(rebuilt.status.success(), "{rebuilt:?}");
}

/// The binary, serving a test's database, with everything it prints.
pub struct Process {
    child: Child,
    pub url: String,
    pub metrics: String,
}

impl Process {
    pub async fn serve(app: &TestApp) -> Self {
        let (arguments, environment) = app.serve_process();
        let mut child = Command::new(HELIX)
            .args(arguments)
            .arg("--json")
            .env_clear()
            .envs(environment)
            .env("HELIX_LOG_LEVEL", "trace")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).await.unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
        let text = |name: &str| said[name].as_str().map(str::to_owned);
        let (Some(url), Some(metrics)) = (text("url"), text("metrics")) else {
            child.kill().await.unwrap();
            let mut error = String::new();
            child
                .stderr
                .as_mut()
                .unwrap()
                .read_to_string(&mut error)
                .await
                .unwrap();
            panic!("the server did not start: {line}{error}");
        };
        Self {
            child,
            url,
            metrics,
        }
    }

    /// The most memory it has held at a time, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id().unwrap());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<u64>().unwrap() * 1024
    }

    /// Stops it as an operator would and returns what it wrote to standard error.
    pub async fn stop(mut self) -> String {
        let mut stderr = self.child.stderr.take().unwrap();
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            stderr.read_to_string(&mut text).await.unwrap();
            text
        });
        let id = self.child.id().unwrap().to_string();
        let told = Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .await
            .unwrap();
        assert!(told.success());
        assert!(self.child.wait().await.unwrap().success());
        reading.await.unwrap()
    }
}
