//! `postmaster.pid`: what the last postmaster of a cluster said about itself, and whether it still lives.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::endpoint::Endpoint;
use crate::error::PostgresError;

/// How long a zombie, or a foreign process under a recycled id, may stand in the way.
const STALE_WAIT: Duration = Duration::from_secs(5);

/// How long an orphaned postmaster may take to stop by itself before it is told to drop everything.
const ORPHAN_WAIT: Duration = Duration::from_secs(10);

pub(crate) const POLL: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PidFile {
    pub(crate) pid: i32,
    pub(crate) ready: bool,
    pub(crate) endpoint: Option<Endpoint>,
}

impl PidFile {
    pub(crate) fn read(cluster: &Path) -> Option<Self> {
        Self::parse(&std::fs::read(cluster.join("postmaster.pid")).ok()?)
    }

    /// Lines: pid, directory, start, port, socket directory, address, shared memory, status.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let text = |line: usize| {
            lines
                .get(line)
                .and_then(|line| std::str::from_utf8(line).ok())
                .map(str::trim)
        };
        let pid = text(0)?.parse::<i32>().ok().filter(|pid| *pid > 0)?;
        let port = text(3).and_then(|port| port.parse().ok());
        let socket_dir = lines.get(4).filter(|line| !line.is_empty()).map(|line| {
            PathBuf::from(
                <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(line.to_vec()),
            )
        });
        let endpoint = port
            .zip(socket_dir)
            .map(|(port, socket_dir)| Endpoint { socket_dir, port });
        Some(Self {
            pid,
            ready: text(7) == Some("ready"),
            endpoint,
        })
    }

    pub(crate) fn is_ready_as(&self, child: u32) -> bool {
        self.ready && u32::try_from(self.pid) == Ok(child)
    }

    /// Whether the process is a running postmaster of this directory, and not a zombie or a stranger.
    pub(crate) fn lives_in(&self, cluster: &Path) -> bool {
        let read =
            |name: &str| std::fs::read(format!("/proc/{}/{name}", self.pid)).unwrap_or_default();
        // A zombie has no command line.
        let line = read("cmdline");
        let is_postgres = read("comm").starts_with(b"postgres");
        let here = std::fs::read_link(format!("/proc/{}/cwd", self.pid))
            .is_ok_and(|cwd| cwd == cluster)
            || line
                .split(|byte| *byte == 0)
                .any(|word| word == cluster.as_os_str().as_encoded_bytes());
        !line.is_empty() && is_postgres && here
    }

    fn exists(&self) -> bool {
        u32::try_from(self.pid).is_ok_and(crate::leftovers::is_alive)
    }
}

/// Makes way for a new postmaster: stops an orphan, waits for a zombie, forgets a recycled process id.
/// The caller holds the lock of the data directory, so nobody supervises what is found here.
pub(crate) fn clear_the_way(cluster: &Path) -> Result<(), PostgresError> {
    let Some(found) = PidFile::read(cluster) else {
        return Ok(());
    };
    if found.lives_in(cluster) {
        tracing::info!(
            pid = found.pid,
            "stopping the postmaster that an earlier supervisor left"
        );
        signal(found.pid, Signal::INT);
        if !wait_until(ORPHAN_WAIT, || !found.lives_in(cluster)) {
            signal(found.pid, Signal::QUIT);
            if !wait_until(ORPHAN_WAIT, || !found.lives_in(cluster)) {
                return Err(PostgresError::Lingering { pid: found.pid });
            }
        }
    }
    let same = || PidFile::read(cluster).is_some_and(|now| now.pid == found.pid);
    if !wait_until(STALE_WAIT, || !found.exists() || !same()) && same() && !found.lives_in(cluster)
    {
        // Postgres only asks whether the id exists, and would refuse for as long as a stranger has it. Its
        // second guard, the shared memory of the directory, still protects against surviving backends.
        let path = cluster.join("postmaster.pid");
        std::fs::remove_file(&path).map_err(PostgresError::directory(&path))?;
    }
    Ok(())
}

pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    if let Some(Err(error)) = Pid::from_raw(pid).map(|pid| kill_process(pid, signal)) {
        tracing::debug!(pid, %error, "signal not delivered");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_file_tells_the_socket() {
        let text = b"42\n/data/pg\n1700000000\n5432\n/data/\xc3\xbc run\n\n  1234 5\nready   \n";
        let file = PidFile::parse(text).unwrap();
        assert!(file.is_ready_as(42) && !file.is_ready_as(43));
        assert_eq!(
            file.endpoint,
            Some(Endpoint {
                socket_dir: "/data/ü run".into(),
                port: 5432
            })
        );
    }

    #[test]
    fn a_half_written_file_is_not_ready() {
        let file = PidFile::parse(b"42\n/data/pg\n17000").unwrap();
        assert_eq!(
            file,
            PidFile {
                pid: 42,
                ready: false,
                endpoint: None
            }
        );
        assert_eq!(PidFile::parse(b""), None);
        assert_eq!(PidFile::parse(b"-7\n"), None);
    }
}
