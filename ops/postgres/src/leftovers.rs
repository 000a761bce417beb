//! Temporary directories whose makers may be killed at any moment.
//!
//! Each carries its maker's process id in its name and is removed by its guard. What a killed maker leaves
//! is swept by the next one: only when that process is gone and nobody holds a lock inside, so that a
//! recycled id or another container's process cannot cost anybody a live directory.

use std::fs::File;
use std::path::Path;

use tempfile::TempDir;

use crate::error::PostgresError;

/// A new 0700 directory `<parent>/<prefix><pid>-<random>`, after sweeping the dead ones beside it.
pub(crate) fn fresh(parent: &Path, prefix: &str) -> Result<TempDir, PostgresError> {
    sweep(parent, prefix);
    tempfile::Builder::new()
        .prefix(&format!("{prefix}{}-", std::process::id()))
        .tempdir_in(parent)
        .map_err(PostgresError::directory(parent))
}

fn sweep(parent: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let maker = name
            .to_str()
            .and_then(|name| name.strip_prefix(prefix))
            .and_then(|rest| rest.split_once('-'));
        let Some(pid) = maker.and_then(|(pid, _)| pid.parse::<u32>().ok()) else {
            continue;
        };
        if is_alive(pid) || is_locked(&entry.path()) {
            continue;
        }
        // Two sweepers may meet, and another user's directory stays: neither is a fault of ours.
        if let Err(error) = std::fs::remove_dir_all(entry.path()) {
            tracing::debug!(path = %entry.path().display(), %error, "left-over directory kept");
        }
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn is_locked(directory: &Path) -> bool {
    File::open(directory.join("lock")).is_ok_and(|file| file.try_lock().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_dead_makers_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let dead = parent.path().join("x-4194305-abc");
        let locked = parent.path().join("x-4194305-def");
        let foreign = parent.path().join("y-4194305-abc");
        for directory in [&dead, &locked, &foreign] {
            std::fs::create_dir(directory).unwrap();
        }
        let lock = File::create(locked.join("lock")).unwrap();
        lock.lock().unwrap();

        let first = fresh(parent.path(), "x-").unwrap();
        let second = fresh(parent.path(), "x-").unwrap();

        assert!(!dead.exists());
        assert!(locked.exists() && foreign.exists());
        assert!(first.path().exists() && second.path().exists());
    }
}
