//! What was left out of a corpus, and why. Names files; never quotes them.

use std::fmt;

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CorpusFault {
    #[error("the folder does not exist")]
    MissingFolder,
    #[error("this is not a folder")]
    NotAFolder,
    #[error("the file or folder cannot be read")]
    Unreadable,
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error("the file is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the {format} file is corrupt")]
    Corrupt { format: &'static str },
    #[error("the {format} file holds no text")]
    NoText { format: &'static str },
    #[error("reading the {format} file took too long")]
    TooSlow { format: &'static str },
    #[error("a link is not followed")]
    Link,
    #[error("the name is not valid Unicode")]
    OddName,
    #[error("only the first {limit} files are read")]
    TooManyFiles { limit: usize },
    #[error("only the first {limit} bytes of text are kept")]
    TooMuchText { limit: u64 },
    #[error("this is not a git working tree, or git cannot read it")]
    NotARepository,
    #[error("the git program is missing")]
    GitMissing,
    #[error("git answered more than can be read, or took too long")]
    GitUnbounded,
    #[error("the file does not hold claims as they are written")]
    NoClaims,
    #[error("a claim of this id is known already")]
    DuplicateClaim,
    #[error("the relation names a claim that is not known")]
    UnknownClaim,
    #[error("only the first {limit} claims and relations are read")]
    TooManyClaims { limit: usize },
    #[error("the index could not be built")]
    NotIndexed,
    #[error("further faults are not listed")]
    More,
}

/// A named fault of one scope's corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusWarning {
    pub scope: &'static str,
    /// A path relative to its corpus, or the configured folder itself.
    pub locator: String,
    pub fault: CorpusFault,
}

impl fmt::Display for CorpusWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: {}",
            self.scope,
            self.locator.escape_debug(),
            self.fault
        )
    }
}
