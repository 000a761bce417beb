//! Parsing in a child process: bytes go in on standard input, text comes out on standard output.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{CORRUPT, LARGEST, TEXT_LIMIT, TOO_SLOW, thread as here};
use crate::solver::corpora::CorpusFault;

pub(super) const TIME: Duration = Duration::from_secs(30);
const MEMORY_BYTES: u64 = 1 << 30;
const PROCESSOR_SECONDS: u64 = 25;

/// The text of a PDF file as a child process reads it. The child is ended when it is late.
pub(super) fn parse(
    program: &Path,
    arguments: &[String],
    bytes: Vec<u8>,
    time: Duration,
) -> Result<String, CorpusFault> {
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|_| CorpusFault::Unreadable)?;
    let text = exchange(&mut child, bytes, time);
    // A child that has ended by itself cannot be killed, and need not be.
    drop(child.kill());
    let status = child.wait().map_err(|_| CORRUPT)?;
    match text? {
        Some(text) if status.success() => String::from_utf8(text).map_err(|_| CORRUPT),
        _ => Err(CORRUPT),
    }
}

/// Feeds the child and waits for it to end; `None` when it could not be fed or heard.
fn exchange(
    child: &mut Child,
    bytes: Vec<u8>,
    time: Duration,
) -> Result<Option<Vec<u8>>, CorpusFault> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Ok(None);
    };
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || {
        // A child that stops listening is judged by what it says and how it ends.
        drop(input.write_all(&bytes));
    });
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.take(TEXT_LIMIT as u64 + 1).read_to_end(&mut text);
        // The receiver is gone when the child was late.
        drop(answer.send(read.map(|_| text)));
    });
    let text = answered.recv_timeout(time).map_err(|_| TOO_SLOW)?;
    // Standard output is closed before the process has quite ended.
    for _ in 0..200 {
        if !matches!(child.try_wait(), Ok(None)) {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(text.ok())
}

/// The child's side: limits this process, reads a PDF from standard input and writes its text to
/// standard output. Fails with exit code 1 when there is no text to be had.
pub fn answer() -> ExitCode {
    limit(Resource::As, MEMORY_BYTES);
    limit(Resource::Cpu, PROCESSOR_SECONDS);
    limit(Resource::Core, 0);
    match convert(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// A limit that cannot be set leaves the one of the parent process.
fn limit(resource: Resource, value: u64) {
    setrlimit(
        resource,
        Rlimit {
            current: Some(value),
            maximum: Some(value),
        },
    )
    .ok();
}

pub(super) fn convert(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    input.take(LARGEST + 1).read_to_end(&mut bytes)?;
    let text = here::parse(bytes).map_err(io::Error::other)?;
    output.write_all(text.as_bytes())?;
    output.flush()
}
