//! How a Postgres program becomes a child process.
//!
//! Postgres refuses to run as root, so a root supervisor starts it inside a user namespace where it is
//! nobody while its files stay the caller's; where namespaces are forbidden it becomes another user.
//! The child leaves the terminal's process group, and the kernel interrupts it when the thread that
//! started it ends: start it only from a thread that lives as long as the child.

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};

use crate::error::PostgresError;
use crate::search::Programs;

/// The user id of `nobody` on every Linux in use, and the kernel's overflow id.
const NOBODY: u32 = 65534;

/// As whom the programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The caller is a plain user already.
    Caller,
    /// The caller is root and appears as nobody in a user namespace of its own.
    Namespace,
    /// The caller is root and gives its rights up to this user, who then owns the cluster.
    User { uid: u32, gid: u32 },
}

impl Identity {
    /// Chooses for the owner of an existing cluster, or for a new one when `owner` is `None`. Root keeps the
    /// files of a plain user usable by that user.
    pub(crate) fn choose(programs: &Programs, owner: Option<(u32, u32)>) -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::Caller;
        }
        match owner {
            Some((uid, gid)) if uid != 0 => Self::User { uid, gid },
            Some(_) | None if Self::Namespace.works(programs) => Self::Namespace,
            Some(_) | None => Self::User {
                uid: NOBODY,
                gid: NOBODY,
            },
        }
    }

    /// The user and group who own the files of a cluster run under this identity.
    pub(crate) fn owner(self) -> (u32, u32) {
        match self {
            Self::Caller | Self::Namespace => (
                rustix::process::geteuid().as_raw(),
                rustix::process::getegid().as_raw(),
            ),
            Self::User { uid, gid } => (uid, gid),
        }
    }

    fn works(self, programs: &Programs) -> bool {
        let probe =
            command(programs, "postgres", self).map(|mut probe| probe.arg("--version").output());
        matches!(probe, Ok(Ok(output)) if output.status.success())
    }
}

/// A Postgres program ready to be given arguments and spawned, with an environment that holds nothing of
/// the caller's but `PATH`.
pub(crate) fn command(
    programs: &Programs,
    name: &str,
    identity: Identity,
) -> Result<Command, PostgresError> {
    let program = programs.bin.join(name);
    let mut command = Command::new(&program);
    command
        .env_clear()
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .process_group(0);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    if let Some(libraries) = &programs.library_path {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    if let Identity::User { uid, gid } = identity {
        command.uid(uid).gid(gid);
    }
    let maps = match identity {
        Identity::Namespace => {
            Some(NamespaceMaps::new().map_err(|source| launch_error(&program, source))?)
        }
        Identity::Caller | Identity::User { .. } => None,
    };
    before_exec(&mut command, maps, rustix::process::getpid());
    Ok(command)
}

pub(crate) fn launch_error(program: &Path, source: io::Error) -> PostgresError {
    PostgresError::Launch {
        program: program.to_owned(),
        source,
    }
}

/// The texts for `/proc/self`, made before the fork since nothing may be allocated after it.
struct NamespaceMaps {
    uid: CString,
    gid: CString,
}

impl NamespaceMaps {
    fn new() -> io::Result<Self> {
        let (uid, gid) = (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        );
        Ok(Self {
            uid: CString::new(format!("{NOBODY} {uid} 1"))?,
            gid: CString::new(format!("{NOBODY} {gid} 1"))?,
        })
    }
}

#[expect(
    unsafe_code,
    reason = "a user namespace and the death signal can only be set between fork and exec"
)]
fn before_exec(command: &mut Command, maps: Option<NamespaceMaps>, supervisor: Pid) {
    let setup = move || {
        if let Some(maps) = &maps {
            // SAFETY: only a new user namespace is asked for; no file table is unshared, which is the one
            // hazard this call documents. The forked child has a single thread, as the kernel demands.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWUSER) }?;
            write_proc(c"/proc/self/setgroups", c"deny")?;
            write_proc(c"/proc/self/uid_map", &maps.uid)?;
            write_proc(c"/proc/self/gid_map", &maps.gid)?;
        }
        // After the change of credentials, which would clear it.
        rustix::process::set_parent_process_death_signal(Some(Signal::INT))?;
        // The supervisor may have died before the line above took effect.
        if rustix::process::getppid() == Some(supervisor) {
            Ok(())
        } else {
            Err(io::Error::from(rustix::io::Errno::SRCH))
        }
    };
    // SAFETY: the closure runs between fork and exec of a process with many threads, so it may only do what
    // is async-signal-safe. It makes plain system calls on C strings prepared earlier; it neither allocates
    // nor takes a lock, and its errors are bare error numbers.
    unsafe { command.pre_exec(setup) };
}

fn write_proc(path: &std::ffi::CStr, text: &std::ffi::CStr) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.to_bytes())?;
    Ok(())
}
