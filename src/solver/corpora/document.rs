//! One source as it was read: bytes hashed, text extracted, blocks found.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::super::tools::extract::{self, Extracted};

/// What the file system said about a file when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub bytes: u64,
    pub modified: Option<SystemTime>,
}

/// A run of prose inside a document's text, such as a paragraph or a list item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub range: Range<usize>,
    /// The text range of the heading it stands under.
    pub heading: Option<Range<usize>>,
}

/// Where a document's bytes are found when a quote of it is admitted.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    File {
        path: PathBuf,
        /// The configured folder that the path must stay in.
        root: PathBuf,
    },
    /// As somebody else's server sent them, for the rest of the turn.
    Retained(Arc<[u8]>),
}

/// An immutable document.
#[derive(Clone, PartialEq, Eq)]
pub struct Document {
    /// A path relative to its corpus, or an address of the web.
    pub locator: String,
    pub title: String,
    /// The extracted text; spans count its bytes. Holds no NUL.
    pub text: String,
    /// Ascending and not overlapping, each on character boundaries of `text`.
    pub blocks: Vec<Block>,
    /// SHA-256 of the source's bytes, lower-case hex.
    pub source_sha256: String,
    pub(crate) stamp: Stamp,
    pub(crate) origin: Origin,
}

impl Document {
    /// A document of a text that somebody else's server gave for a place.
    pub(in crate::solver) fn retained(title: String, locator: String, text: String) -> Self {
        let bytes: Arc<[u8]> = text.as_bytes().into();
        let Extracted { text, blocks, .. } = extract::plain(text);
        Self {
            locator,
            title,
            text,
            blocks,
            source_sha256: hex::encode(Sha256::digest(&bytes)),
            stamp: Stamp {
                bytes: bytes.len() as u64,
                modified: None,
            },
            origin: Origin::Retained(bytes),
        }
    }

    /// The text of a block's heading, or the empty text.
    pub fn heading(&self, block: &Block) -> &str {
        block
            .heading
            .clone()
            .and_then(|range| self.text.get(range))
            .unwrap_or_default()
    }
}

/// Never shows the text: `Debug` output ends in logs.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("source_sha256", &self.source_sha256)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// The last character boundary at or before a byte.
pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// The first character boundary at or after a byte.
pub(crate) fn ceil_boundary(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}
