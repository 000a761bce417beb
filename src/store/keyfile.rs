//! The key file: key-encryption keys and the look-up key, kept outside Postgres (ADR 0004).
//!
//! Text, one key a line, mode 0600, replaced atomically. It is made only when the database holds
//! no wrapped key; otherwise a missing file stops the start, because making a new one would turn
//! every sealed text into noise.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use uuid::Uuid;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Data keys are spread over this many key-encryption keys, so that erasing one owner rewraps few.
pub const BUCKETS: i16 = 16;

const TITLE: &str = "helix-keys-v1";

#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("the key file {path} is missing although the database holds sealed data")]
    Missing { path: PathBuf },
    #[error("the key file {path} cannot be used: {reason}")]
    Unusable { path: PathBuf, reason: String },
    #[error("the key file {path} belongs to another database")]
    Foreign { path: PathBuf },
    #[error("the passphrase does not open this key export")]
    WrongPassphrase,
}

/// One key. Zeroed when dropped, never shown.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; 32]);

impl Secret {
    fn fresh() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// The content of a key file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    pub file_id: Uuid,
    pub lookup: Secret,
    /// Keys by id; a bucket's newest id wraps, older ones open until everything is rewrapped.
    pub keks: BTreeMap<String, Kek>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kek {
    pub bucket: i16,
    /// Counts up within a bucket.
    pub generation: u32,
    pub key: Secret,
}

impl KeyFile {
    pub fn fresh(file_id: Uuid) -> Result<Self, getrandom::Error> {
        let mut file = Self {
            file_id,
            lookup: Secret::fresh()?,
            keks: BTreeMap::new(),
        };
        for bucket in 0..BUCKETS {
            file.add_generation(bucket)?;
        }
        Ok(file)
    }

    /// The key that wraps new data keys of `bucket`.
    pub fn current(&self, bucket: i16) -> Option<(&str, &Kek)> {
        self.keks
            .iter()
            .filter(|(_, kek)| kek.bucket == bucket)
            .max_by_key(|(_, kek)| kek.generation)
            .map(|(id, kek)| (id.as_str(), kek))
    }

    /// Gives `bucket` a new wrapping key and returns its id.
    pub fn add_generation(&mut self, bucket: i16) -> Result<String, getrandom::Error> {
        let generation = self
            .current(bucket)
            .map_or(1, |(_, kek)| kek.generation + 1);
        // Drawn, so that two rotations can never give two keys one name.
        let mut tail = [0; 4];
        getrandom::fill(&mut tail)?;
        let id = format!("b{bucket}g{generation}-{}", hex::encode(tail));
        self.keks.insert(
            id.clone(),
            Kek {
                bucket,
                generation,
                key: Secret::fresh()?,
            },
        );
        Ok(id)
    }

    /// Forgets every wrapping key of `bucket` but the newest.
    pub fn keep_newest(&mut self, bucket: i16) {
        let newest = self.current(bucket).map(|(id, _)| id.to_owned());
        self.keks
            .retain(|id, kek| kek.bucket != bucket || Some(id) == newest.as_ref());
    }

    pub fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(format!("{TITLE}\nfile {}\n", self.file_id));
        // Writing to a String cannot fail.
        let _infallible = writeln!(text, "lookup {}", STANDARD.encode(self.lookup.0));
        for (id, kek) in &self.keks {
            let key = Zeroizing::new(STANDARD.encode(kek.key.0));
            let _infallible =
                writeln!(text, "kek {id} {} {} {}", kek.bucket, kek.generation, &*key);
        }
        text
    }

    /// Reads what [`Self::to_text`] writes and nothing else. Errors never quote the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line) != Some(TITLE) {
            return Err(format!("it does not start with {TITLE}"));
        }
        let (mut file_id, mut lookup, mut keks) = (None, None, BTreeMap::new());
        for (number, line) in lines {
            let fault = || format!("line {} is not readable", number + 1);
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["file", id] => file_id = Some(Uuid::try_parse(id).map_err(|_| fault())?),
                ["lookup", key] => lookup = Some(secret(key).ok_or_else(fault)?),
                ["kek", id, bucket, generation, key] => {
                    let kek = Kek {
                        bucket: bucket.parse().map_err(|_| fault())?,
                        generation: generation.parse().map_err(|_| fault())?,
                        key: secret(key).ok_or_else(fault)?,
                    };
                    keks.insert(id.to_owned(), kek);
                }
                _ => return Err(fault()),
            }
        }
        let file = Self {
            file_id: file_id.ok_or("it names no file id")?,
            lookup: lookup.ok_or("it holds no look-up key")?,
            keks,
        };
        match (0..BUCKETS).find(|bucket| file.current(*bucket).is_none()) {
            Some(bucket) => Err(format!("it holds no key for bucket {bucket}")),
            None => Ok(file),
        }
    }

    /// Reads a key file; `None` when there is none.
    pub fn load(path: &Path) -> Result<Option<Self>, KeyFileError> {
        let unusable = |reason: String| KeyFileError::Unusable {
            path: path.to_owned(),
            reason,
        };
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&Zeroizing::new(text))
                .map(Some)
                .map_err(unusable),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(error.kind().to_string())),
        }
    }

    /// Puts the file at `path` unless there is one already, and says which of the two is there.
    pub fn store_new(self, path: &Path) -> Result<Self, KeyFileError> {
        match write_private_new(path, self.to_text().as_bytes()) {
            Ok(()) => Ok(self),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Self::load(path)?
                .ok_or_else(|| KeyFileError::Missing {
                    path: path.to_owned(),
                }),
            Err(error) => Err(KeyFileError::Unusable {
                path: path.to_owned(),
                reason: error.to_string(),
            }),
        }
    }

    /// Replaces the file at `path` atomically, readable by its owner alone.
    pub fn store(&self, path: &Path) -> Result<(), KeyFileError> {
        write_private(path, self.to_text().as_bytes()).map_err(|error| KeyFileError::Unusable {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }
}

fn secret(text: &str) -> Option<Secret> {
    let bytes = Zeroizing::new(STANDARD.decode(text).ok()?);
    bytes.as_slice().try_into().ok().map(Secret)
}

/// Writes a file of mode 0600 beside `path`, makes it durable, and puts it in place.
///
/// A link is followed: whoever keeps the file on a volume of its own finds the new one there.
pub fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (folder, draft) = draft(&path, content)?;
    draft.persist(&path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}

/// As [`write_private`], but never in place of a file that is there.
pub fn write_private_new(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let (folder, draft) = draft(path, content)?;
    draft.persist_noclobber(path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}

fn draft(path: &Path, content: &[u8]) -> std::io::Result<(PathBuf, tempfile::NamedTempFile)> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).to_owned();
    if !folder.exists() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
    }
    let mut draft = tempfile::NamedTempFile::new_in(&folder)?;
    draft
        .as_file()
        .set_permissions(std::fs::Permissions::from_mode(0o600))?;
    draft.write_all(content)?;
    draft.as_file().sync_all()?;
    Ok((folder, draft))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_reads_back_as_itself() {
        let mut file = KeyFile::fresh(Uuid::from_u128(1)).unwrap();
        file.add_generation(3).unwrap();
        assert_eq!(KeyFile::parse(&file.to_text()).unwrap(), file);
        assert!(file.current(3).unwrap().0.starts_with("b3g2-"));
        file.keep_newest(3);
        assert_eq!(file.keks.len(), usize::try_from(BUCKETS).unwrap());
    }

    #[test]
    fn a_damaged_key_file_is_refused_without_quoting_it() {
        let text = KeyFile::fresh(Uuid::from_u128(1)).unwrap().to_text();
        let text = text.replace("\nkek ", "\nkek canary ");
        let error = KeyFile::parse(&text).unwrap_err();
        assert!(
            error.contains("line") && !error.contains("canary"),
            "{error}"
        );
        assert!(KeyFile::parse("").is_err());
    }

    #[test]
    fn a_stored_key_file_is_private_to_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/kek");
        let file = KeyFile::fresh(Uuid::from_u128(1)).unwrap();
        file.store(&path).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(KeyFile::load(&path).unwrap(), Some(file));
    }
}
