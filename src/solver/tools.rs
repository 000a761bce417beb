//! The real tools behind the logical scopes.
//!
//! Exists so that scopes name something that can be read. What must stay true: nothing outside the
//! configured folders is opened and no server asked that is not configured; every read is bounded;
//! a bad file is a named fault rather than an error of the whole. Deliberately absent: writing, and
//! scopes whose tools are not built yet; [`limitation`] says so to the caller.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::corpora::{CorpusFault, Stamp};
use extract::Format;

pub mod extract;
pub mod library;
pub mod remote;
pub mod repository;
pub mod theory;

/// Files read of one corpus.
pub(super) const FILE_LIMIT: usize = 10_000;

/// A file worth reading.
#[derive(Debug, Clone)]
pub(super) struct FoundFile {
    pub locator: String,
    pub path: PathBuf,
    pub root: PathBuf,
    pub format: Format,
    pub stamp: Stamp,
}

/// What a scan of a source found, in order of locator.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub files: Vec<FoundFile>,
    pub faults: Vec<(String, CorpusFault)>,
    pub revision: Option<String>,
}

impl Found {
    pub fn fault(&mut self, locator: impl Into<String>, fault: CorpusFault) {
        self.faults.push((locator.into(), fault));
    }
}

/// Why a scope cannot be read here, as a sentence for the run's unresolved requirements.
pub fn limitation(scope_id: &str) -> String {
    format!("This server has no provider for the scope {scope_id}, so nothing of it can be read.")
}

/// What the file system says about a file, without following a link at its end.
pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    metadata.is_file().then(|| Stamp {
        bytes: metadata.len(),
        modified: metadata.modified().ok(),
    })
}

/// Reads a whole file that lies inside `root`, at most `limit` bytes.
///
/// A path that leads out of `root` through a link, a device or a pipe is refused; opening never
/// blocks.
pub(super) fn open_file(root: &Path, path: &Path, limit: u64) -> Result<Vec<u8>, CorpusFault> {
    let real_root = root.canonicalize().map_err(|_| CorpusFault::Unreadable)?;
    let parent = path.parent().unwrap_or(root);
    let real_parent = parent.canonicalize().map_err(|_| CorpusFault::Unreadable)?;
    let name = path.file_name().ok_or(CorpusFault::Unreadable)?;
    if !real_parent.starts_with(&real_root) {
        return Err(CorpusFault::Link);
    }
    let no_follow = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(no_follow.bits().cast_signed())
        .open(real_parent.join(name))
        .map_err(|error| match error.raw_os_error() {
            Some(code) if code == Errno::LOOP.raw_os_error() => CorpusFault::Link,
            _ => CorpusFault::Unreadable,
        })?;
    read_bounded(&file, limit)
}

fn read_bounded(file: &File, limit: u64) -> Result<Vec<u8>, CorpusFault> {
    let metadata = file.metadata().map_err(|_| CorpusFault::Unreadable)?;
    if !metadata.is_file() {
        return Err(CorpusFault::Unreadable);
    }
    let mut bytes = Vec::new();
    let read = file
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| CorpusFault::Unreadable)?;
    if read as u64 > limit {
        Err(CorpusFault::TooLarge { limit })
    } else {
        Ok(bytes)
    }
}
