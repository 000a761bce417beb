//! The one JSON reader of every door.
//!
//! Lenient readers settle doubtful documents in silence: the last of two equal keys wins, a long
//! number becomes its neighbour, a lone surrogate becomes U+FFFD. Two readers that settle them
//! differently can be played against each other, so whatever is doubtful is refused here, before
//! anything is looked up.
//!
//! What stays true: a document is accepted only if RFC 8259 allows it and only one reading of it
//! exists; time is linear and memory is bounded by the document; nesting cannot exhaust the stack;
//! an error tells the kind and the place, never the content.
//!
//! Deliberately absent: coercion, comments, repair, reading from a stream (doors judge a body's
//! size first, then hand over the whole), and import documents, which have a reader of their own.

mod number;
mod parser;
#[cfg(test)]
mod tests;

use serde_json::Value;

/// Deepest nesting of arrays and objects (access 11). A scalar has depth 0.
pub const MAX_DEPTH: usize = 32;

/// Most values in one document, containers included, keys not (access 11).
pub const MAX_VALUES: usize = 20_000;

/// Longest string or key, in bytes of UTF-8 once escapes are resolved (access 11).
pub const MAX_STRING_BYTES: usize = 256 * 1024;

/// Why a document was refused. No variant carries any of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StrictJsonFault {
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error("a byte order mark precedes the document")]
    ByteOrderMark,
    #[error("an unexpected character")]
    Unexpected,
    #[error("the document ends too early")]
    UnexpectedEnd,
    #[error("text follows the document")]
    TrailingText,
    #[error("a key is given twice")]
    DuplicateKey,
    #[error("nesting is deeper than {MAX_DEPTH}")]
    TooDeep,
    #[error("there are more than {MAX_VALUES} values")]
    TooManyValues,
    #[error("a string is longer than {MAX_STRING_BYTES} bytes")]
    StringTooLong,
    #[error("a string contains a control character")]
    ControlCharacter,
    #[error("a string contains NUL")]
    Nul,
    #[error("a string contains half a surrogate pair")]
    LoneSurrogate,
    #[error("an unknown escape")]
    BadEscape,
    #[error("a number that a double cannot carry unchanged")]
    InexactNumber,
}

/// A refused document: what is wrong, and where in bytes from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct StrictJsonError {
    pub fault: StrictJsonFault,
    pub offset: usize,
}

/// Reads exactly one JSON value with only JSON white space around it (access 11, settled 1).
///
/// Numbers must survive a round trip through binary64 (settled 83): the shortest text of the
/// nearest double has the same decimal value. A number that is integral and fits `i64` or `u64`
/// becomes an integer however it was spelled (`3`, `3.0`, `30e-1`), so every door treats the
/// spellings alike; `-0` in any spelling stays the double −0 and is no integer.
pub fn read(bytes: &[u8]) -> Result<Value, StrictJsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| StrictJsonError {
        fault: StrictJsonFault::NotUtf8,
        offset: error.valid_up_to(),
    })?;
    parser::Parser::new(text).document()
}
