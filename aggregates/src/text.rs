//! Bounded text. Lengths are UTF-16 code units after trimming, as the contracts count them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a text was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("text is empty")]
    Empty,
    #[error("text is longer than {limit} characters")]
    TooLong { limit: usize },
    #[error("text contains NUL")]
    Nul,
    #[error("text contains a control character")]
    Control,
}

/// The length the contracts mean: UTF-16 code units.
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().map(char::len_utf16).sum()
    }
}

/// White space as ECMAScript's `trim` sees it.
fn is_trimmed(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

/// Trims as ECMAScript's `String.prototype.trim` does: also U+FEFF, but not U+0085.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_trimmed)
}

/// The longest prefix of at most `limit` UTF-16 code units that ends on a character.
pub fn prefix(text: &str, limit: usize) -> &str {
    let mut units = 0;
    for (index, c) in text.char_indices() {
        units += c.len_utf16();
        if units > limit {
            return &text[..index];
        }
    }
    text
}

/// Trimmed text of 1 to `MAX` UTF-16 code units without NUL.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    pub fn parse(raw: &str) -> Result<Self, TextError> {
        let text = trim(raw);
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        if utf16_len(text) > MAX {
            return Err(TextError::TooLong { limit: MAX });
        }
        if text.contains('\0') {
            return Err(TextError::Nul);
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> TryFrom<String> for Text<MAX> {
    type Error = TextError;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        Self::parse(&raw)
    }
}

impl<const MAX: usize> From<Text<MAX>> for String {
    fn from(text: Text<MAX>) -> Self {
        text.0
    }
}

/// Shows the length only: most bounded texts are personal.
impl<const MAX: usize> fmt::Debug for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} units)", utf16_len(&self.0))
    }
}

/// Refuses U+0000–U+001F and U+007F, which could forge the joined text of an audit hash.
pub fn without_controls(text: &str) -> Result<&str, TextError> {
    if text.chars().any(|c| c.is_ascii_control()) {
        Err(TextError::Control)
    } else {
        Ok(text)
    }
}

/// Trims, drops empties and repeats; the first occurrence keeps its place.
pub fn unique<I, S>(items: I) -> Vec<String>
where
    I: IntoIterator<Item = S>,
    S: AsRef<str>,
{
    let mut seen = std::collections::HashSet::new();
    let mut kept = Vec::new();
    for item in items {
        let text = trim(item.as_ref());
        if !text.is_empty() && seen.insert(text.to_owned()) {
            kept.push(text.to_owned());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_utf16_units_after_trimming() {
        assert!(Text::<4>::parse("  \u{1f98a}\u{1f98a} \u{feff}").is_ok());
        assert_eq!(
            Text::<4>::parse("\u{1f98a}\u{1f98a}n").unwrap_err(),
            TextError::TooLong { limit: 4 }
        );
        assert_eq!(Text::<4>::parse(" \t\n ").unwrap_err(), TextError::Empty);
    }

    #[test]
    fn a_prefix_never_ends_inside_a_character() {
        assert_eq!(prefix("ab\u{1f98a}", 3), "ab");
        assert_eq!(prefix("ab\u{1f98a}", 4), "ab\u{1f98a}");
    }

    #[test]
    fn unique_keeps_first_seen_order() {
        assert_eq!(unique(["b ", "a", "b", "", " a"]), ["b", "a"]);
    }
}
