//! One supervisor per data directory.
//!
//! The lock is a `flock` on `<data-dir>/lock`, so it dies with its process and a left-over file means
//! nothing. The text inside only tells a second process who is there; it is never trusted to decide.
//! Deliberately absent: taking a lock over, and waiting for one.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::PostgresError;

/// The proof that this process alone looks after a data directory. Clones share one lock, which is
/// given up when the last of them is dropped or the process ends in any way.
#[derive(Debug, Clone)]
pub struct DataDirLock {
    data_dir: PathBuf,
    _file: Arc<File>,
}

/// Who holds a data directory. `pid` is missing only when the holder has not yet written its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub data_dir: PathBuf,
    pub pid: Option<u32>,
    /// The program and its subcommand, without flags: those may carry secrets.
    pub command: String,
    /// When the holder took the lock.
    pub since: SystemTime,
}

#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    command: String,
}

impl DataDirLock {
    /// Creates the directory (mode 0700) when it is missing and takes its lock without waiting.
    ///
    /// # Errors
    /// [`PostgresError::Held`] names the holder; [`PostgresError::Directory`] when the directory cannot be
    /// made or written; [`PostgresError::Path`] for a name with a line break.
    pub fn acquire(data_dir: &Path) -> Result<Self, PostgresError> {
        if data_dir.as_os_str().as_encoded_bytes().contains(&b'\n') {
            return Err(PostgresError::Path {
                path: data_dir.to_owned(),
            });
        }
        let fault = || PostgresError::directory(data_dir);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data_dir)
            .map_err(fault())?;
        let data_dir = &data_dir.canonicalize().map_err(fault())?;
        let path = data_dir.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(fault())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(PostgresError::Held(Held::read(data_dir, &path)));
            }
            Err(TryLockError::Error(source)) => return Err(fault()(source)),
        }
        Holder::here().write(&mut file).map_err(fault())?;
        Ok(Self {
            data_dir: data_dir.clone(),
            _file: Arc::new(file),
        })
    }

    /// The absolute path of the directory.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }
}

impl Holder {
    fn here() -> Self {
        let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let program = words.next().unwrap_or_default();
        let program = Path::new(&program)
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into());
        let subcommands = words
            .take(2)
            .take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
        let command = std::iter::once(program)
            .chain(subcommands)
            .collect::<Vec<_>>()
            .join(" ");
        Self {
            pid: std::process::id(),
            command,
        }
    }

    fn write(&self, file: &mut File) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        file.set_len(0)?;
        file.write_all(&text)
    }
}

impl Held {
    fn read(data_dir: &Path, path: &Path) -> Self {
        // The holder writes its name just after it has locked; a reader in between looks again.
        for _ in 0..50 {
            if let Some(Holder { pid, command }) = std::fs::read(path)
                .ok()
                .and_then(|text| serde_json::from_slice(&text).ok())
            {
                return Self {
                    data_dir: data_dir.to_owned(),
                    pid: Some(pid),
                    command,
                    since: taken_at(path),
                };
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Self {
            data_dir: data_dir.to_owned(),
            pid: None,
            command: "another process".into(),
            since: taken_at(path),
        }
    }

    /// One line to type.
    pub fn fix(&self) -> String {
        match self.pid {
            Some(pid) => format!("stop it first (kill {pid}), or choose another --data-dir"),
            None => "choose another --data-dir".into(),
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is in use by {}",
            self.data_dir.display(),
            self.command
        )?;
        if let Some(pid) = self.pid {
            write!(f, " (process {pid})")?;
        }
        match OffsetDateTime::from(self.since)
            .replace_nanosecond(0)
            .map(|since| since.format(&Rfc3339))
        {
            Ok(Ok(since)) => write!(f, " since {since}"),
            Ok(Err(_)) | Err(_) => Ok(()),
        }
    }
}

/// The holder's one write to the file is the moment it took the lock.
fn taken_at(path: &Path) -> SystemTime {
    std::fs::metadata(path)
        .and_then(|meta| meta.modified())
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
