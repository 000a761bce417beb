//! The last resort: Debian's own packages, downloaded and unpacked without root.
//!
//! apt keeps its lists and archives in a directory of ours and is never allowed to install. It plans for an
//! empty system, which always has an answer, and what this system has already is then left out: its C
//! library stays the one used, and the rest is found through `LD_LIBRARY_PATH`. A finished version is moved into place in one rename. Deliberately absent: other
//! package managers, and running any package's install script.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::PostgresError;
use crate::leftovers;
use crate::search::{Programs, SUPPORTED};

const STATUS: &str = "/var/lib/dpkg/status";

pub(crate) fn available() -> bool {
    ["/usr/bin/apt-get", "/usr/bin/dpkg-deb", STATUS]
        .iter()
        .all(|path| Path::new(path).exists())
}

/// What earlier downloads left, newest version first.
pub(crate) fn cached(cache: &Path) -> Vec<(PathBuf, Option<OsString>)> {
    let root = |major: u16| cache.join(format!("postgresql-{major}"));
    let bin = |major: u16| root(major).join(format!("usr/lib/postgresql/{major}/bin"));
    let found = SUPPORTED.into_iter().filter(|major| bin(*major).is_dir());
    found
        .map(|major| (bin(major), library_path(&root(major))))
        .collect()
}

/// Fetches the wanted version, or the newest one that apt offers.
pub(crate) fn download(cache: &Path, wanted: Option<u16>) -> Result<Programs, PostgresError> {
    std::fs::create_dir_all(cache).map_err(PostgresError::directory(cache))?;
    let cache = &cache
        .canonicalize()
        .map_err(PostgresError::directory(cache))?;
    let scratch = leftovers::fresh(cache, ".fetch-")?;
    let apt = Apt::in_directory(scratch.path())?;
    tracing::info!("no PostgreSQL here: downloading it with apt");
    apt.run("apt-get update", "apt-get", ["update", "-qq"])?;
    let major = apt.offered(wanted)?;
    let packages = apt.closure(major)?;
    tracing::info!(packages = packages.len(), "downloading PostgreSQL {major}");
    let download = ["download", "-qq"]
        .into_iter()
        .map(str::to_owned)
        .chain(packages);
    apt.run("apt-get download", "apt-get", download)?;
    let unpacked = apt.unpack()?;
    let place = cache.join(format!("postgresql-{major}"));
    // Somebody else may have finished the same download; theirs is as good.
    if let Err(source) = std::fs::rename(&unpacked, &place)
        && !place.is_dir()
    {
        return Err(PostgresError::Directory {
            path: place,
            source,
        });
    }
    Programs::in_directory(
        &place.join(format!("usr/lib/postgresql/{major}/bin")),
        library_path(&place),
    )
}

/// apt with its state, and its working directory, in a scratch directory.
struct Apt {
    home: PathBuf,
}

impl Apt {
    fn in_directory(home: &Path) -> Result<Self, PostgresError> {
        let apt = Self {
            home: home.to_owned(),
        };
        for directory in [
            "lists/partial",
            "cache/archives/partial",
            "packages",
            "root",
        ] {
            let path = home.join(directory);
            std::fs::create_dir_all(&path).map_err(PostgresError::directory(&path))?;
        }
        let status = home.join("status");
        std::fs::write(&status, "").map_err(PostgresError::directory(&status))?;
        Ok(apt)
    }

    fn run<I>(
        &self,
        step: &'static str,
        program: &str,
        arguments: I,
    ) -> Result<String, PostgresError>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let option = |name: &str, place: &str| {
            let mut option = OsString::from(format!("{name}="));
            option.push(self.home.join(place));
            option
        };
        let mut command = Command::new(program);
        command
            .current_dir(self.home.join("packages"))
            .stdin(Stdio::null())
            .env("LC_ALL", "C");
        for (name, place) in [
            ("Dir::State::Lists", "lists"),
            ("Dir::State::status", "status"),
            ("Dir::Cache", "cache"),
        ] {
            command.arg("-o").arg(option(name, place));
        }
        for plain in [
            "APT::Sandbox::User=root",
            "Debug::NoLocking=1",
            "APT::Update::Error-Mode=any",
        ] {
            command.arg("-o").arg(plain);
        }
        finish(step, command.args(arguments))
    }

    fn offered(&self, wanted: Option<u16>) -> Result<u16, PostgresError> {
        let names = self.run("apt-cache", "apt-cache", ["pkgnames", "postgresql-1"])?;
        let offered = |major: &u16| {
            names
                .lines()
                .any(|name| name == format!("postgresql-{major}"))
        };
        let acceptable = |major: &u16| wanted.is_none_or(|wanted| wanted == *major);
        SUPPORTED
            .into_iter()
            .filter(acceptable)
            .find(offered)
            .ok_or_else(|| PostgresError::Download {
                step: "apt-cache",
                detail: match wanted {
                    Some(major) => format!("the sources of this system have no postgresql-{major}"),
                    None => "the sources of this system have no PostgreSQL 15 to 18".into(),
                },
            })
    }

    /// The packages, as `name=version`, that an installation would add to this system.
    fn closure(&self, major: u16) -> Result<Vec<String>, PostgresError> {
        let package = format!("postgresql-{major}");
        let plan = self.run(
            "apt-get --simulate",
            "apt-get",
            ["install", "-s", "-qq", "--no-install-recommends", &package],
        )?;
        let status =
            std::fs::read_to_string(STATUS).map_err(PostgresError::directory(Path::new(STATUS)))?;
        let present: HashSet<&str> = status.split("\n\n").filter_map(installed).collect();
        let missing = plan.lines().filter_map(planned);
        let missing = missing.filter(|(name, _)| !present.contains(name));
        Ok(missing
            .map(|(name, version)| format!("{name}={version}"))
            .collect())
    }

    fn unpack(&self) -> Result<PathBuf, PostgresError> {
        let (packages, root) = (self.home.join("packages"), self.home.join("root"));
        for entry in std::fs::read_dir(&packages).map_err(PostgresError::directory(&packages))? {
            let archive = entry.map_err(PostgresError::directory(&packages))?.path();
            finish(
                "dpkg-deb",
                Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&root),
            )?;
        }
        Ok(root)
    }
}

/// `Inst libpq5 (15.18-0+deb12u1 Debian-Security:12/… [amd64])` is a package of the plan.
fn planned(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix("Inst ")?.split_once(' ')?;
    let (version, _) = rest.split_once('(')?.1.split_once(' ')?;
    Some((name, version))
}

/// The package of a stanza of dpkg's status that is there whole. A broken or hidden Postgres does not count.
fn installed(stanza: &str) -> Option<&str> {
    let name = stanza
        .trim_start()
        .strip_prefix("Package: ")?
        .lines()
        .next()?;
    let whole = stanza
        .lines()
        .any(|line| line == "Status: install ok installed");
    (whole && !name.starts_with("postgresql")).then_some(name)
}

fn finish(step: &'static str, command: &mut Command) -> Result<String, PostgresError> {
    let output = command.output().map_err(|error| PostgresError::Download {
        step,
        detail: error.to_string(),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    Err(PostgresError::Download {
        step,
        detail: if last.is_empty() {
            output.status.to_string()
        } else {
            last
        },
    })
}

/// Every directory of the unpacked tree where the dynamic linker would look on an installed system.
fn library_path(root: &Path) -> Option<OsString> {
    let mut directories = Vec::new();
    for parent in [root.join("usr/lib"), root.join("lib")] {
        let triplets = std::fs::read_dir(&parent)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        directories.extend(triplets.filter(|path| path.to_string_lossy().contains("-linux-")));
        directories.push(parent);
    }
    directories.retain(|directory| directory.is_dir());
    std::env::join_paths(directories).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_line_names_the_version_to_fetch() {
        let line = "Inst libpq5 (15.18-0+deb12u1 Debian-Security:12/oldstable-security [amd64])";
        assert_eq!(planned(line), Some(("libpq5", "15.18-0+deb12u1")));
        let upgrade = "Inst libpq5 [15.17-0+deb12u1] (15.18-0+deb12u1 Debian:12 [amd64])";
        assert_eq!(planned(upgrade), Some(("libpq5", "15.18-0+deb12u1")));
        assert_eq!(
            planned("Conf libpq5 (15.18-0+deb12u1 Debian:12 [amd64])"),
            None
        );
    }

    #[test]
    fn only_whole_packages_count_as_present() {
        let whole = "Package: libc6\nStatus: install ok installed\nVersion: 2.36";
        assert_eq!(installed(whole), Some("libc6"));
        assert_eq!(
            installed("Package: libpq5\nStatus: deinstall ok config-files"),
            None
        );
        assert_eq!(
            installed("Package: postgresql-15\nStatus: install ok installed"),
            None
        );
    }
}
