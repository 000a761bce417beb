//! The birth of a cluster, whole or not at all: made beside its place, then renamed into it.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::endpoint::SUPERUSER;
use crate::error::PostgresError;
use crate::launch::{Identity, command, launch_error};
use crate::leftovers;
use crate::log::reason_in;
use crate::search::Programs;
use crate::settings::Durability;

/// Local connections only; whoever may enter the socket's directory is the superuser.
const HBA: &str = "local all all trust\n";

pub(crate) fn cluster_path(data_dir: &Path) -> PathBuf {
    data_dir.join("pg")
}

/// The major version of the cluster in a data directory; `None` when there is none yet.
///
/// # Errors
/// [`PostgresError::BrokenCluster`] when there is a directory without a readable version.
pub fn existing_major(data_dir: &Path) -> Result<Option<u16>, PostgresError> {
    let cluster = cluster_path(data_dir);
    match std::fs::symlink_metadata(&cluster) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(PostgresError::Directory {
                path: cluster,
                source,
            });
        }
        Ok(_) => {}
    }
    let version = std::fs::read_to_string(cluster.join("PG_VERSION")).ok();
    match version.and_then(|version| version.trim().parse().ok()) {
        Some(major) => Ok(Some(major)),
        None => Err(PostgresError::BrokenCluster {
            path: cluster,
            missing: "PG_VERSION",
        }),
    }
}

/// Uid and gid of an existing cluster.
pub(crate) fn owner(data_dir: &Path) -> Option<(u32, u32)> {
    std::fs::metadata(cluster_path(data_dir))
        .ok()
        .map(|found| (found.uid(), found.gid()))
}

/// Makes the cluster when it is missing, and otherwise checks that these programs and this user fit it.
/// Blocks for about a second. Call it from the thread that will run the server.
pub(crate) fn ensure(
    data_dir: &Path,
    programs: &Programs,
    identity: Identity,
    durability: Durability,
) -> Result<PathBuf, PostgresError> {
    open_to(data_dir, programs, identity)?;
    let cluster = cluster_path(data_dir);
    match existing_major(data_dir)? {
        Some(major) if major == programs.version => check(&cluster, identity)?,
        Some(wanted) => {
            return Err(PostgresError::MajorMissing {
                wanted,
                found: vec![programs.version],
            });
        }
        None => create(data_dir, &cluster, programs, identity, durability)?,
    }
    Ok(cluster)
}

/// A user that is not the caller must be able to walk into the data directory.
fn open_to(data_dir: &Path, programs: &Programs, identity: Identity) -> Result<(), PostgresError> {
    let Identity::User { uid, .. } = identity else {
        return Ok(());
    };
    let found = std::fs::metadata(data_dir).map_err(PostgresError::directory(data_dir))?;
    let mode = found.permissions().mode();
    if found.uid() != uid && mode & 0o001 == 0 {
        let passable = std::fs::Permissions::from_mode(mode | 0o001);
        std::fs::set_permissions(data_dir, passable).map_err(PostgresError::directory(data_dir))?;
    }
    let entered = command(programs, "postgres", identity)?
        .arg("--version")
        .current_dir(data_dir)
        .output();
    match entered {
        Ok(output) if output.status.success() => Ok(()),
        Ok(_) | Err(_) => Err(PostgresError::Unreachable {
            path: data_dir.to_owned(),
            uid,
        }),
    }
}

fn check(cluster: &Path, identity: Identity) -> Result<(), PostgresError> {
    let found = std::fs::metadata(cluster).map_err(PostgresError::directory(cluster))?;
    let (uid, gid) = identity.owner();
    if found.uid() != uid {
        if !rustix::process::geteuid().is_root() {
            return Err(PostgresError::ForeignOwner {
                path: cluster.to_owned(),
                owner: found.uid(),
            });
        }
        // Made in a user namespace, and now there are none to be had: the files follow the new user.
        hand_over(cluster, uid, gid).map_err(PostgresError::directory(cluster))?;
    }
    for missing in ["global/pg_control", "base", "pg_wal"] {
        if !cluster.join(missing).exists() {
            return Err(PostgresError::BrokenCluster {
                path: cluster.to_owned(),
                missing,
            });
        }
    }
    Ok(())
}

fn create(
    data_dir: &Path,
    cluster: &Path,
    programs: &Programs,
    identity: Identity,
    durability: Durability,
) -> Result<(), PostgresError> {
    let nursery = leftovers::fresh(data_dir, "pg-new-")?;
    let (uid, gid) = identity.owner();
    chown(nursery.path(), Some(uid), Some(gid))
        .map_err(PostgresError::directory(nursery.path()))?;
    let mut initdb = command(programs, "initdb", identity)?;
    initdb.arg("-D").arg(nursery.path()).args([
        "-U",
        SUPERUSER,
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
    ]);
    initdb.args(["--data-checksums", "--no-instructions"]);
    if durability == Durability::Off {
        initdb.arg("--no-sync");
    }
    let output = initdb
        .output()
        .map_err(|source| launch_error(&programs.bin.join("initdb"), source))?;
    if !output.status.success() {
        return Err(PostgresError::InitDb {
            detail: reason_in(&output.stderr),
        });
    }
    let settle = || -> std::io::Result<()> {
        std::fs::write(nursery.path().join("pg_hba.conf"), HBA)?;
        std::fs::rename(nursery.path(), cluster)?;
        std::fs::File::open(data_dir)?.sync_all()
    };
    settle().map_err(PostgresError::directory(cluster))
}

fn hand_over(path: &Path, uid: u32, gid: u32) -> std::io::Result<()> {
    std::os::unix::fs::lchown(path, Some(uid), Some(gid))?;
    if std::fs::symlink_metadata(path)?.is_dir() {
        for entry in std::fs::read_dir(path)? {
            hand_over(&entry?.path(), uid, gid)?;
        }
    }
    Ok(())
}
