//! The one-word schemes that apps may be answered at (`HELIX_REDIRECT_SCHEMES`).
//!
//! Such schemes belong to nobody, so only those an operator trusts are admitted. Some never are,
//! whatever the setting says: they run code or name something other than an app.

use std::collections::BTreeSet;

const DEFAULT: [&str; 5] = ["cursor", "vscode", "vscode-insiders", "windsurf", "zed"];

const NEVER: [&str; 15] = [
    "about",
    "blob",
    "data",
    "file",
    "filesystem",
    "ftp",
    "http",
    "https",
    "intent",
    "javascript",
    "mailto",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Why a list of schemes is not taken. The word is the operator's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemeFault {
    #[error("`{0}` is not a scheme of one lower-case word")]
    Malformed(String),
    #[error("the scheme `{0}` is never admitted")]
    Never(String),
}

/// Admitted one-word schemes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneWordSchemes(BTreeSet<String>);

impl Default for OneWordSchemes {
    fn default() -> Self {
        Self(DEFAULT.into_iter().map(str::to_owned).collect())
    }
}

impl OneWordSchemes {
    /// Reads words parted by white space or commas. No word admits none.
    pub fn parse(text: &str) -> Result<Self, SchemeFault> {
        let parted = |c: char| c.is_ascii_whitespace() || c == ',';
        let words = text.split(parted).filter(|word| !word.is_empty());
        words.map(checked).collect::<Result<_, _>>().map(Self)
    }

    pub fn admit(&self, scheme: &str) -> bool {
        self.0.contains(scheme)
    }
}

fn checked(word: &str) -> Result<String, SchemeFault> {
    if NEVER.contains(&word) {
        return Err(SchemeFault::Never(word.to_owned()));
    }
    let one_word = !word.contains('.') && !word.bytes().any(|byte| byte.is_ascii_uppercase());
    if one_word && super::form::is_scheme(word) {
        Ok(word.to_owned())
    } else {
        Err(SchemeFault::Malformed(word.to_owned()))
    }
}
