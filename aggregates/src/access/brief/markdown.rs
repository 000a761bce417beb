//! The text of a brief: Markdown as its author wrote it, bounded in bytes.

use std::fmt;

use sha2::{Digest, Sha256};

/// Bytes of one text (`access` 6.1).
pub const BYTES_LIMIT: usize = 64 * 1024;

#[derive(Clone, PartialEq, Eq)]
pub struct Markdown(String);

/// Why a text cannot be that of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarkdownError {
    #[error("the text is blank")]
    Blank,
    #[error("the text is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the text contains NUL")]
    Nul,
}

impl Markdown {
    /// Keeps the text as it is; white space may mean something in it.
    pub fn parse(raw: &str) -> Result<Self, MarkdownError> {
        if raw.len() > BYTES_LIMIT {
            return Err(MarkdownError::TooLong { limit: BYTES_LIMIT });
        }
        if crate::text::trim(raw).is_empty() {
            return Err(MarkdownError::Blank);
        }
        if raw.contains('\0') {
            return Err(MarkdownError::Nul);
        }
        Ok(Self(raw.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// SHA-256 of the UTF-8 bytes, in lower-case hex.
    pub fn sha256(&self) -> String {
        hex::encode(Sha256::digest(self.0.as_bytes()))
    }
}

/// Shows the length only: the text is its workspace's.
impl fmt::Debug for Markdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Markdown({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_as_it_was_written() {
        let text = Markdown::parse("\n# Tides  \r\n").unwrap();
        assert_eq!(text.as_str(), "\n# Tides  \r\n");
        assert_eq!(format!("{text:?}"), "Markdown(12 bytes)");
    }

    #[test]
    fn the_hash_is_that_of_the_bytes() {
        assert_eq!(
            Markdown::parse("abc").unwrap().sha256(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_text_is_bounded_in_bytes_and_neither_blank_nor_holding_nul() {
        assert!(Markdown::parse(&"a".repeat(BYTES_LIMIT)).is_ok());
        let limit = BYTES_LIMIT;
        for long in ["a".repeat(limit + 1), "ü".repeat(limit / 2 + 1)] {
            assert_eq!(
                Markdown::parse(&long),
                Err(MarkdownError::TooLong { limit })
            );
        }
        for blank in ["", " \r\n\t", "\u{feff}"] {
            assert_eq!(Markdown::parse(blank), Err(MarkdownError::Blank));
        }
        assert_eq!(Markdown::parse("a\0b"), Err(MarkdownError::Nul));
    }
}
