//! Every way in which the private cluster can fail, each with the one line that mends it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::lock::Held;

/// A failure to find, start, reach or stop Postgres. [`PostgresError::fix`] says what to type.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    #[error("no PostgreSQL 15 to 18 was found (looked in {})", looked.join(", "))]
    NotFound { looked: Vec<String> },
    #[error("{} does not hold {missing}", bin.display())]
    NotPrograms { bin: PathBuf, missing: &'static str },
    #[error("{} is PostgreSQL {found}, and 15 to 18 are supported", bin.display())]
    Unsupported { bin: PathBuf, found: String },
    #[error(
        "the data directory was made by PostgreSQL {wanted}, and only {} can be found",
        majors(found)
    )]
    MajorMissing { wanted: u16, found: Vec<u16> },
    #[error("PostgreSQL could not be downloaded: {step} failed: {detail}")]
    Download { step: &'static str, detail: String },
    #[error("{0}")]
    Held(Held),
    #[error("{} cannot be used: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("{} contains a line break or is too long a path for a data directory", path.display())]
    Path { path: PathBuf },
    #[error("{} belongs to user id {owner}", path.display())]
    ForeignOwner { path: PathBuf, owner: u32 },
    #[error("{} is not a complete database cluster: {missing} is missing or unreadable", path.display())]
    BrokenCluster {
        path: PathBuf,
        missing: &'static str,
    },
    #[error("user id {uid} (PostgreSQL refuses to run as root) cannot enter {}", path.display())]
    Unreachable { path: PathBuf, uid: u32 },
    #[error("{program} could not be run: {source}")]
    Launch { program: PathBuf, source: io::Error },
    #[error("initdb failed: {detail}")]
    InitDb { detail: String },
    #[error("PostgreSQL did not start: {detail}")]
    Start { detail: String, log: PathBuf },
    #[error("PostgreSQL was not ready within {} s", waited.as_secs())]
    StartTimeout { waited: Duration, log: PathBuf },
    #[error("an earlier PostgreSQL of this directory, process {pid}, does not end")]
    Lingering { pid: i32 },
    #[error("PostgreSQL did not stop within {} s", waited.as_secs())]
    StopTimeout { waited: Duration },
    #[error("the supervisor of PostgreSQL ended unexpectedly")]
    SupervisorGone,
    #[error("PostgreSQL cannot be reached: {0}")]
    Connect(#[from] sqlx::Error),
}

impl PostgresError {
    /// One line: the command to type, or the one thing to change.
    pub fn fix(&self) -> String {
        match self {
            Self::NotFound { .. } | Self::Unsupported { .. } | Self::Download { .. } => install("postgresql"),
            Self::MajorMissing { wanted, .. } => install(&format!("postgresql-{wanted}")),
            Self::NotPrograms { .. } => {
                "pass --pg-bin the directory that holds postgres and initdb, such as /usr/lib/postgresql/17/bin".into()
            }
            Self::Held(held) => held.fix(),
            Self::Directory { .. } => "choose a directory you can write to with --data-dir".into(),
            Self::Path { .. } => "choose a shorter and plainer path with --data-dir".into(),
            Self::ForeignOwner { owner, .. } => {
                format!("run as user id {owner}, or choose another directory with --data-dir")
            }
            Self::BrokenCluster { path, .. } => {
                format!("move it away and restore a backup: mv '{0}' '{0}.broken'", path.display())
            }
            Self::Unreachable { path, .. } => {
                format!("run as a plain user, or choose a directory outside {} with --data-dir", path.display())
            }
            Self::Launch { program, .. } => format!("try it by hand: '{}' --version", program.display()),
            Self::InitDb { .. } => "free some disk space, or choose another directory with --data-dir".into(),
            Self::Start { log, .. } | Self::StartTimeout { log, .. } => format!("tail -n 50 '{}'", log.display()),
            Self::Lingering { pid } => format!("kill -QUIT {pid}"),
            Self::StopTimeout { .. } => "nothing to do: the next start recovers by itself".into(),
            Self::SupervisorGone => "start helix again".into(),
            Self::Connect(_) => "see `helix doctor`".into(),
        }
    }

    pub(crate) fn directory(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self + use<'_> {
        move |source| Self::Directory {
            path: path.to_owned(),
            source,
        }
    }
}

fn install(package: &str) -> String {
    let sudo = if rustix::process::geteuid().is_root() {
        ""
    } else {
        "sudo "
    };
    if std::path::Path::new("/usr/bin/apt-get").exists() {
        format!("{sudo}apt-get install -y {package}")
    } else {
        format!("install {package} with the package manager of this system, or pass --pg-bin DIR")
    }
}

fn majors(found: &[u16]) -> String {
    if found.is_empty() {
        return "none".to_owned();
    }
    found
        .iter()
        .map(u16::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
