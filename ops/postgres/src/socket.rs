//! The 0700 directory of the socket.
//!
//! A socket's path may have 107 bytes. Beside the cluster is the natural place; a deep data directory gets a
//! short one under `/tmp` instead, named after the data directory's inode so that a killed supervisor's is
//! found again, and used only when nobody else could have made it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::endpoint::PORT;
use crate::error::PostgresError;

const PATH_LIMIT: usize = 107;

/// Makes, or checks, the directory and hands it to `owner`.
pub(crate) fn prepare(
    data_dir: &Path,
    wanted: Option<&Path>,
    owner: (u32, u32),
) -> Result<PathBuf, PostgresError> {
    let directory = match wanted {
        Some(directory) if !fits(directory) => {
            return Err(PostgresError::Path {
                path: directory.to_owned(),
            });
        }
        Some(directory) => directory.to_owned(),
        None if fits(&data_dir.join("run")) => data_dir.join("run"),
        None => short(data_dir)?,
    };
    match make(&directory, owner) {
        Ok(()) => Ok(directory),
        Err(source) => Err(PostgresError::Directory {
            path: directory,
            source,
        }),
    }
}

fn fits(directory: &Path) -> bool {
    directory.join(format!(".s.PGSQL.{PORT}")).as_os_str().len() <= PATH_LIMIT
}

fn short(data_dir: &Path) -> Result<PathBuf, PostgresError> {
    let place = std::fs::metadata(data_dir).map_err(PostgresError::directory(data_dir))?;
    Ok(PathBuf::from(format!(
        "/tmp/helix-pg-{:x}-{:x}",
        place.dev(),
        place.ino()
    )))
}

fn make(directory: &Path, (uid, gid): (u32, u32)) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => chown(directory, Some(uid), Some(gid))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let found = std::fs::symlink_metadata(directory)?;
    if !found.is_dir() || found.uid() != uid {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it was made by somebody else",
        ));
    }
    if found.permissions().mode() & 0o777 != 0o700 {
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// A short directory goes with its server; one that is not empty was not ours alone.
pub(crate) fn leave(data_dir: &Path, directory: &Path) {
    if !directory.starts_with(data_dir)
        && let Err(error) = std::fs::remove_dir(directory)
    {
        tracing::debug!(%error, "socket directory kept");
    }
}

/// Sockets of a killed postmaster. Only called when no postmaster of this directory lives.
pub(crate) fn clear(directory: &Path) {
    for name in [format!(".s.PGSQL.{PORT}"), format!(".s.PGSQL.{PORT}.lock")] {
        if let Err(error) = std::fs::remove_file(directory.join(name))
            && error.kind() != io::ErrorKind::NotFound
        {
            // Postgres reports what it then cannot bind.
            tracing::warn!(%error, "stale socket kept");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> (u32, u32) {
        (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        )
    }

    #[test]
    fn a_deep_data_directory_gets_a_short_socket_directory() {
        let parent = tempfile::tempdir().unwrap();
        let deep = parent.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let first = prepare(&deep, None, me()).unwrap();
        let again = prepare(&deep, None, me()).unwrap();
        std::fs::remove_dir(&first).unwrap();
        assert!(fits(&first) && !first.starts_with(&deep));
        assert_eq!(first, again);
    }

    #[test]
    fn a_link_somebody_planted_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let planted = parent.path().join("run");
        std::os::unix::fs::symlink("/tmp", &planted).unwrap();
        let refused = prepare(parent.path(), None, me()).unwrap_err();
        assert!(
            matches!(refused, PostgresError::Directory { path, .. } if path == planted.as_path())
        );
    }
}
