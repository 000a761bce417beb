//! Postgres's log, kept by the supervisor in `<data-dir>/postgres.log`.
//!
//! The server writes to a pipe that is always drained, whatever happens to the disk: a full one costs log
//! lines, never the server. Two files of 4 MiB at most; the end of the current start stays in memory so that
//! an error can say why.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const FILE_LIMIT: u64 = 4 << 20;
const TAIL_LIMIT: usize = 4 << 10;

/// The end of what one program wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(bytes);
        let surplus = tail.len().saturating_sub(TAIL_LIMIT);
        tail.drain(..surplus);
    }

    /// The last complaints, or the last lines when there are none, joined into one.
    pub(crate) fn reason(&self) -> String {
        let tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reason_in(&tail.iter().copied().collect::<Vec<u8>>())
    }
}

pub(crate) fn reason_in(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let grave = |line: &&str| {
        ["FATAL:", "PANIC:", "error:", "could not"]
            .iter()
            .any(|mark| line.contains(mark))
    };
    let complaints: Vec<&str> = lines.iter().copied().filter(grave).collect();
    let told = if complaints.is_empty() {
        lines
    } else {
        complaints
    };
    if told.is_empty() {
        return "it said nothing".to_owned();
    }
    told[told.len().saturating_sub(3)..].join("; ")
}

/// Drains `source` to its end: into the tail and, as far as the disk allows, into the file.
pub(crate) fn drain(mut source: impl Read, path: &Path, tail: &Tail) {
    let mut file = Bounded::open(path);
    let mut buffer = [0; 8 << 10];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                tail.push(&buffer[..count]);
                file.write(&buffer[..count]);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

struct Bounded {
    path: PathBuf,
    file: Option<File>,
    length: u64,
}

impl Bounded {
    fn open(path: &Path) -> Self {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .ok();
        let length = file
            .as_ref()
            .and_then(|file| file.metadata().ok())
            .map_or(0, |meta| meta.len());
        Self {
            path: path.to_owned(),
            file,
            length,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.length >= FILE_LIMIT {
            self.rotate();
        }
        if let Some(file) = &mut self.file
            && file.write_all(bytes).is_ok()
        {
            self.length += bytes.len() as u64;
        }
    }

    fn rotate(&mut self) {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        // Where even a rename fails, the file starts over: its size is the stronger promise.
        if std::fs::rename(&self.path, old).is_err()
            && let Some(file) = &self.file
            && file.set_len(0).is_err()
        {
            self.file = None;
            return;
        }
        *self = Self::open(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_never_outgrows_two_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("postgres.log");
        let flood = std::io::repeat(b'x').take(3 * FILE_LIMIT);
        drain(flood, &path, &Tail::default());
        let sizes: Vec<u64> = std::fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), 2);
        assert!(
            sizes.iter().all(|size| *size <= FILE_LIMIT + 8192),
            "{sizes:?}"
        );
    }

    #[test]
    fn the_reason_is_the_complaint_and_not_the_chatter() {
        let tail = Tail::default();
        tail.push(b"LOG:  starting\nFATAL:  could not create lock file\nLOG:  shut down\n");
        assert_eq!(tail.reason(), "FATAL:  could not create lock file");
    }
}
