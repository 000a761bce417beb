//! The `theory_registry` scope: claims and the relations between them, kept as TOML files.
//!
//! A file holds any number of claims and relations; relations may name claims of other files:
//!
//! ```toml
//! [[claim]]
//! id = "tide.lunar"                       # 1 to 120 of a-z 0-9 . _ -
//! statement = "The tide follows the moon." # what may be quoted, 1 to 4000 characters
//! status = "accepted"                     # open, proposed, accepted, disputed or refuted
//! sources = ["Harbour log 1911, page 3"]  # where it was said; may be left out
//!
//! [[relation]]
//! from = "tide.lunar"
//! kind = "contradicts"                    # supports, contradicts, refines or depends_on
//! to = "tide.wind"
//! ```
//!
//! What must stay true: one bad file never stops the rest; the first claim of an id stays, in the
//! order of the files' names; a relation stands only between claims that are known. Deliberately
//! absent: judging claims. The registry says what somebody has written down, with its status.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::{Found, FoundFile, stamp};
use crate::solver::corpora::CorpusFault;
use crate::solver::tools::extract::Format;

const DEPTH_LIMIT: usize = 8;
const FILE_LIMIT: usize = 1000;
/// Entries looked at, whatever they are, so that a vast tree cannot hold up a start.
const ENTRY_LIMIT: usize = 20_000;
/// The largest file, in bytes.
pub(in crate::solver) const LARGEST: u64 = 1 << 20;
/// Claims, and relations, of one registry.
const CLAIM_LIMIT: usize = 10_000;
const STATEMENT: usize = 4000;

/// How a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Open,
    Proposed,
    Accepted,
    Disputed,
    Refuted,
}

/// What one claim is to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    Supports,
    Contradicts,
    Refines,
    DependsOn,
}

/// A claim; its statement is the text of the document at the same place of the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub id: String,
    pub status: Status,
    pub sources: Vec<String>,
}

/// A relation between two known claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    pub from: String,
    pub kind: RelationKind,
    pub to: String,
}

/// Everything that was read of a folder.
#[derive(Debug, Default)]
pub struct Registry {
    /// In the order of the corpus's documents.
    claims: Vec<Claim>,
    places: BTreeMap<String, usize>,
    relations: Vec<Relation>,
}

/// A claim as a file states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::solver) struct Stated {
    pub id: String,
    pub statement: String,
    pub status: Status,
    #[serde(default)]
    pub sources: Vec<String>,
}

/// One file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::solver) struct Sheet {
    #[serde(default, rename = "claim")]
    pub claims: Vec<Stated>,
    #[serde(default, rename = "relation")]
    pub relations: Vec<Relation>,
}

/// Finds the files of a registry, in the order of their names. Links are not followed.
pub(in crate::solver) fn scan(root: &Path) -> Found {
    let mut found = Found::default();
    let shown = root.display().to_string();
    if !root.is_dir() {
        let fault = if root.exists() {
            CorpusFault::NotAFolder
        } else {
            CorpusFault::MissingFolder
        };
        found.fault(shown, fault);
        return found;
    }
    let walk = WalkDir::new(root)
        .max_depth(DEPTH_LIMIT)
        .sort_by_file_name();
    for (seen, entry) in walk.into_iter().enumerate() {
        if seen == ENTRY_LIMIT {
            found.fault(shown, CorpusFault::TooManyFiles { limit: ENTRY_LIMIT });
            return found;
        }
        let path = match entry {
            Ok(entry) => entry.into_path(),
            Err(error) => {
                let within = error.path().and_then(|path| relative(root, path));
                found.fault(
                    within.unwrap_or_else(|| shown.clone()),
                    CorpusFault::Unreadable,
                );
                continue;
            }
        };
        let is_toml = path.extension().is_some_and(|ending| ending == "toml");
        if let (true, Some(locator)) = (is_toml, relative(root, &path))
            && let Some(stamp) = stamp(&path)
        {
            if found.files.len() == FILE_LIMIT {
                found.fault(shown, CorpusFault::TooManyFiles { limit: FILE_LIMIT });
                return found;
            }
            found.files.push(FoundFile {
                locator,
                path,
                root: PathBuf::from(root),
                format: Format::Text,
                stamp,
            });
        }
    }
    found
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    path.strip_prefix(root).ok()?.to_str().map(str::to_owned)
}

/// Reads one file.
pub(in crate::solver) fn sheet(bytes: &[u8]) -> Result<Sheet, CorpusFault> {
    let text = std::str::from_utf8(bytes).map_err(|_| CorpusFault::NotUtf8)?;
    let sheet: Sheet = toml::from_str(text).map_err(|_| CorpusFault::NoClaims)?;
    let sound = sheet.claims.iter().all(|claim| {
        let length = claim.statement.chars().count();
        let written = (1..=STATEMENT).contains(&length) && !claim.statement.trim().is_empty();
        written
            && !claim.statement.contains('\0')
            && is_id(&claim.id)
            && are_sources(&claim.sources)
    });
    if sound {
        Ok(sheet)
    } else {
        Err(CorpusFault::NoClaims)
    }
}

fn is_id(id: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    (1..=120).contains(&id.len()) && id.bytes().all(plain)
}

fn are_sources(sources: &[String]) -> bool {
    let sound =
        |source: &String| source.chars().count() <= 500 && !source.chars().any(char::is_control);
    sources.len() <= 32 && sources.iter().all(sound)
}

impl Registry {
    /// Takes a claim in, unless one of its id is there already.
    pub(in crate::solver) fn add(&mut self, claim: Claim) -> Result<(), CorpusFault> {
        if self.claims.len() == CLAIM_LIMIT {
            return Err(CorpusFault::TooManyClaims { limit: CLAIM_LIMIT });
        }
        if self.places.contains_key(&claim.id) {
            return Err(CorpusFault::DuplicateClaim);
        }
        self.places.insert(claim.id.clone(), self.claims.len());
        self.claims.push(claim);
        Ok(())
    }

    /// Takes a relation in, once both its claims are there.
    pub(in crate::solver) fn relate(&mut self, relation: Relation) -> Result<(), CorpusFault> {
        let known = |id: &String| self.places.contains_key(id);
        if !known(&relation.from) || !known(&relation.to) {
            return Err(CorpusFault::UnknownClaim);
        }
        if self.relations.len() == CLAIM_LIMIT {
            return Err(CorpusFault::TooManyClaims { limit: CLAIM_LIMIT });
        }
        if !self.relations.contains(&relation) {
            self.relations.push(relation);
        }
        Ok(())
    }

    /// The place of a claim in the corpus.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub fn claim(&self, place: usize) -> Option<&Claim> {
        self.claims.get(place)
    }

    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }
}
