//! Where the Postgres programs are: the order of operations 2.
//!
//! A place that holds the wrong version is passed over, the place a person named explicitly apart: that one
//! is used or refused. Deliberately absent: reading flags or variables; the caller passes them in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt;
use crate::error::PostgresError;

/// Newest first, as they are tried.
pub(crate) const SUPPORTED: [u16; 4] = [18, 17, 16, 15];

const SYSTEM: &str = "/usr/lib/postgresql";

/// What the search may use. Run it where blocking is allowed: a download can take minutes.
#[derive(Debug, Clone)]
pub struct Search {
    /// `--pg-bin`: the only place looked at when given.
    pub pg_bin: Option<PathBuf>,
    /// Where downloaded programs are kept, across starts.
    pub cache: PathBuf,
    /// Forbids the download.
    pub offline: bool,
    /// Passes over the system's own Postgres, for the test of the download.
    pub hide_system: bool,
    /// The only acceptable major version, that of an existing cluster ([`crate::existing_major`]).
    pub major: Option<u16>,
}

/// Programs of one supported version that were seen to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The directory that holds `postgres` and `initdb`, absolute.
    pub bin: PathBuf,
    /// `LD_LIBRARY_PATH` for downloaded programs.
    pub library_path: Option<OsString>,
    /// The major version, 15 to 18.
    pub version: u16,
}

impl Search {
    /// A search with the usual places and the download allowed.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            pg_bin: None,
            cache: cache.into(),
            offline: false,
            hide_system: false,
            major: None,
        }
    }

    /// The first acceptable programs.
    ///
    /// # Errors
    /// [`PostgresError::NotPrograms`] or [`PostgresError::Unsupported`] for a `pg_bin` that cannot be used,
    /// [`PostgresError::MajorMissing`] when only other versions exist, [`PostgresError::Download`] when
    /// that last resort failed, otherwise [`PostgresError::NotFound`].
    pub fn find(&self) -> Result<Programs, PostgresError> {
        if let Some(bin) = &self.pg_bin {
            let programs = Programs::in_directory(bin, None)?;
            return self
                .accepts(&programs)
                .then(|| programs.clone())
                .ok_or_else(|| self.missing(&[programs.version]));
        }
        let mut others = Vec::new();
        for (bin, library_path) in self.places() {
            match Programs::in_directory(&bin, library_path) {
                Ok(programs) if self.accepts(&programs) => return Ok(programs),
                Ok(programs) => others.push(programs.version),
                // An incomplete or foreign installation is no reason to stop looking.
                Err(error) => tracing::debug!(bin = %bin.display(), %error, "passed over"),
            }
        }
        if !self.offline && apt::available() {
            return apt::download(&self.cache, self.major);
        }
        Err(self.missing(&others))
    }

    fn accepts(&self, programs: &Programs) -> bool {
        self.major.is_none_or(|major| major == programs.version)
    }

    fn missing(&self, found: &[u16]) -> PostgresError {
        match self.major {
            Some(wanted) if !found.is_empty() => PostgresError::MajorMissing {
                wanted,
                found: found.to_vec(),
            },
            Some(_) | None => PostgresError::NotFound {
                looked: vec![
                    format!("{SYSTEM}/*/bin"),
                    "PATH".into(),
                    self.cache.display().to_string(),
                ],
            },
        }
    }

    fn places(&self) -> Vec<(PathBuf, Option<OsString>)> {
        let mut places = Vec::new();
        if !self.hide_system {
            places.extend(
                SUPPORTED.map(|major| (PathBuf::from(format!("{SYSTEM}/{major}/bin")), None)),
            );
            let path = std::env::var_os("PATH").unwrap_or_default();
            places.extend(std::env::split_paths(&path).map(|directory| (directory, None)));
        }
        places.retain(|(bin, _)| bin.is_absolute() && bin.join("postgres").exists());
        places.extend(apt::cached(&self.cache));
        places
    }
}

impl Programs {
    pub(crate) fn in_directory(
        bin: &Path,
        library_path: Option<OsString>,
    ) -> Result<Self, PostgresError> {
        for missing in ["postgres", "initdb"] {
            if !bin.join(missing).is_file() {
                return Err(PostgresError::NotPrograms {
                    bin: bin.to_owned(),
                    missing,
                });
            }
        }
        let bin = bin.canonicalize().map_err(PostgresError::directory(bin))?;
        // A link in PATH, such as /usr/local/bin/postgres, leads to the directory where its companions are.
        let program = bin
            .join("postgres")
            .canonicalize()
            .map_err(PostgresError::directory(&bin))?;
        let bin = program
            .parent()
            .filter(|real| real.join("initdb").is_file())
            .map_or(bin.clone(), Path::to_owned);
        let text = version_text(&program, library_path.as_ref())?;
        match major_in(&text).filter(|major| SUPPORTED.contains(major)) {
            Some(version) => Ok(Self {
                bin,
                library_path,
                version,
            }),
            None => Err(PostgresError::Unsupported {
                bin,
                found: if text.is_empty() {
                    "unknown".into()
                } else {
                    text
                },
            }),
        }
    }
}

fn version_text(program: &Path, library_path: Option<&OsString>) -> Result<String, PostgresError> {
    let mut command = Command::new(program);
    command.arg("--version").env_clear().env("LC_ALL", "C");
    if let Some(libraries) = library_path {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    let output = command.output().map_err(|source| PostgresError::Launch {
        program: program.to_owned(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// `postgres (PostgreSQL) 15.18 (Debian …)` and `… 18beta1` alike.
fn major_in(version: &str) -> Option<u16> {
    let number = version.strip_prefix("postgres (PostgreSQL) ")?;
    let digits = number
        .find(|c: char| !c.is_ascii_digit())
        .map_or(number, |end| &number[..end]);
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_every_form() {
        assert_eq!(
            major_in("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"),
            Some(15)
        );
        assert_eq!(major_in("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_in("mysqld 8.0"), None);
    }
}
