//! From the bytes of a file to its text and the blocks of prose in it.
//!
//! Exists so that spans have something exact to point into. What must stay true: extraction is a
//! pure function of the bytes; its text holds no NUL; blocks ascend, do not overlap and lie on
//! character boundaries. Plain text and Markdown keep their bytes, so that a span can be checked
//! against the file with a text editor.

use std::path::Path;

use crate::solver::corpora::{Block, CorpusFault};

mod html;
mod markdown;
mod pdf;
mod text;

pub use pdf::{PdfReading, answer_as_child};

/// The largest file of any format, in bytes.
pub(in crate::solver) const LARGEST: u64 = 16 << 20;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Format {
    Text,
    Markdown,
    Html,
    Pdf,
    /// Any other file of a working tree: text, unless it holds NUL.
    Tracked,
}

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solver) struct Extracted {
    pub title: Option<String>,
    pub text: String,
    pub blocks: Vec<Block>,
}

impl Format {
    /// The format that a file's extension promises.
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "txt" | "text" => Some(Self::Text),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "pdf" => Some(Self::Pdf),
            _ => None,
        }
    }

    /// The largest file that is read, in bytes.
    pub fn byte_limit(self) -> u64 {
        match self {
            Self::Pdf => LARGEST,
            Self::Html | Self::Text | Self::Markdown => 4 << 20,
            Self::Tracked => 1 << 20,
        }
    }
}

/// Whether the first bytes look like anything but text.
pub(in crate::solver) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8192).any(|byte| *byte == 0)
}

/// Extracts the text of a file.
pub(in crate::solver) fn extract(
    format: Format,
    bytes: Vec<u8>,
    pdf_reading: &PdfReading,
) -> Result<Extracted, CorpusFault> {
    match format {
        Format::Text | Format::Tracked => utf8(bytes).map(text::extract),
        Format::Markdown => utf8(bytes).map(markdown::extract),
        // Checked on the bytes: the text has its NULs replaced.
        Format::Html if is_binary(&bytes) => Err(CorpusFault::Corrupt { format: "HTML" }),
        Format::Html => html::extract(&utf8(bytes)?),
        Format::Pdf => pdf::extract(bytes, pdf_reading),
    }
}

/// Plain text as it stands, in paragraphs.
pub(in crate::solver) fn plain(text: String) -> Extracted {
    text::extract(storable(text))
}

fn utf8(bytes: Vec<u8>) -> Result<String, CorpusFault> {
    String::from_utf8(bytes)
        .map(storable)
        .map_err(|_| CorpusFault::NotUtf8)
}

/// Replaces NUL, which Postgres cannot store, by U+FFFD. A Rust text never holds a lone surrogate.
pub(in crate::solver) fn storable(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}

/// A title on one line, at most 200 characters.
fn title(raw: &str) -> Option<String> {
    let words: Vec<&str> = raw.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(200).collect();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests;
