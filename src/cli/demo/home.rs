//! The demo's own directory, known by its marker: what holds none is neither used nor deleted.

use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use helix_postgres::DataDirLock;
use secrecy::{ExposeSecret, SecretString};

use crate::cli::failure::{Exit, Failure};
use crate::cli::serve::database_failure;
use crate::solver::samples::SAMPLE_DOCUMENTS;
use crate::store::keyfile::write_private;

const MARKER: &str = "DEMO.txt";
const MARKER_TEXT: &str = "This directory belongs to `helix demo`. \
`helix demo --reset` deletes everything in it because this file is here.\n";

#[derive(Debug)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Takes or makes the directory, emptied first when `reset` asks for it.
    pub fn open(path: &Path, reset: bool) -> Result<Self, Failure> {
        if reset {
            clear(path)?;
        }
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| unusable(path, &error))?;
        let path = path
            .canonicalize()
            .map_err(|error| unusable(path, &error))?;
        let marker = path.join(MARKER);
        if !marker.is_file() {
            let mut entries = std::fs::read_dir(&path).map_err(|error| unusable(&path, &error))?;
            if entries.next().is_some() {
                return Err(not_a_demo(&path));
            }
            std::fs::write(&marker, MARKER_TEXT).map_err(|error| unusable(&marker, &error))?;
        }
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn library(&self) -> PathBuf {
        self.path.join("library")
    }

    pub fn token_file(&self) -> PathBuf {
        self.path.join("token")
    }

    /// Puts the sample documents in place; files of other names are left alone. Returns how many
    /// were missing or changed.
    pub fn unpack_library(&self) -> Result<usize, Failure> {
        let library = self.library();
        std::fs::create_dir_all(&library).map_err(|error| unusable(&library, &error))?;
        let mut unpacked = 0;
        for (name, content) in SAMPLE_DOCUMENTS {
            let file = library.join(name);
            if std::fs::read(&file).is_ok_and(|present| present == *content) {
                continue;
            }
            std::fs::write(&file, content).map_err(|error| unusable(&file, &error))?;
            unpacked += 1;
        }
        Ok(unpacked)
    }

    /// The secret of the local token lane.
    pub fn secret(&self) -> Result<SecretString, Failure> {
        kept_or_made(&self.path.join("token-secret"))
    }

    pub fn passphrase_file(&self) -> PathBuf {
        self.path.join("passphrase")
    }

    /// With which the demo's owner signs in.
    pub fn passphrase(&self) -> Result<SecretString, Failure> {
        kept_or_made(&self.passphrase_file())
    }

    pub fn keep_token(&self, token: &SecretString) -> Result<(), Failure> {
        let file = self.token_file();
        write_private(&file, format!("{}\n", token.expose_secret()).as_bytes())
            .map_err(|error| unusable(&file, &error))
    }
}

/// A secret of its own file, made once.
fn kept_or_made(file: &Path) -> Result<SecretString, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) if text.trim().len() >= 32 => return Ok(SecretString::from(text.trim())),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(unusable(file, &error)),
    }
    let mut bytes = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes)
        .map_err(|error| Failure::unavailable("randomness", error.to_string()))?;
    let secret = SecretString::from(hex::encode(*bytes));
    write_private(file, secret.expose_secret().as_bytes())
        .map_err(|error| unusable(file, &error))?;
    Ok(secret)
}

/// Deletes everything but the marker, so that an interrupted reset can be repeated.
fn clear(path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    if !path.join(MARKER).is_file() {
        return Err(not_a_demo(path));
    }
    // Nobody may be at work in it; the lock's own file stays while it is held.
    let lock = DataDirLock::acquire(path).map_err(|error| database_failure(&error.into()))?;
    for entry in std::fs::read_dir(lock.data_dir()).map_err(|error| unusable(path, &error))? {
        let entry = entry.map_err(|error| unusable(path, &error))?;
        if entry.file_name() == MARKER || entry.file_name() == "lock" {
            continue;
        }
        let kind = entry
            .file_type()
            .map_err(|error| unusable(&entry.path(), &error))?;
        let removed = if kind.is_dir() {
            std::fs::remove_dir_all(entry.path())
        } else {
            std::fs::remove_file(entry.path())
        };
        removed.map_err(|error| unusable(&entry.path(), &error))?;
    }
    Ok(())
}

fn not_a_demo(path: &Path) -> Failure {
    let message = format!(
        "{} holds files and is not a demo's directory",
        path.display()
    );
    Failure::new(Exit::No, "not_a_demo", message)
        .fix("run the demo elsewhere, or name an empty directory with --data-dir")
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unavailable(
        "data_dir",
        format!("{} cannot be used: {error}", path.display()),
    )
    .fix("run the demo in a directory you can write to, or name one with --data-dir")
}
