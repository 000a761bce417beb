//! The lines of a head, byte by byte: ends, names, values, their number and their length.
//!
//! What a line means is read when all of them are there ([`super::head`]); whatever can be refused
//! by looking at a byte is refused at that byte, so that nothing has to be kept of a flood.

use super::fault::Fault;

/// The longest head, in bytes, its empty last line included (`access` 12).
pub const MAX_BYTES: usize = 32 * 1024;
/// The most header fields (`access` 12).
pub const MAX_FIELDS: usize = 100;

/// How far the lines of one head, or of the trailers of one body, have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    at: At,
    bytes: usize,
    fields: usize,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Method,
    /// Target and version.
    Target,
    Name,
    Value,
    /// The LF of a line.
    LineFeed,
    /// The first byte of a field, or the CR of the empty line.
    LineStart,
    /// The LF of the empty line.
    LastLineFeed,
}

/// Whether a byte was the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    More,
    Done,
}

impl Lines {
    pub fn head() -> Self {
        Self::from(At::Method)
    }

    pub fn trailers() -> Self {
        Self::from(At::LineStart)
    }

    fn from(at: At) -> Self {
        Self {
            at,
            bytes: 0,
            fields: 0,
        }
    }

    /// How many fields have begun.
    pub fn fields(&self) -> usize {
        self.fields
    }

    /// Looks at what is new in `lines`, which begin where the first one did. Returns their length
    /// when the empty one has come.
    pub fn scan(&mut self, lines: &[u8]) -> Result<Option<usize>, Fault> {
        let new = lines.get(self.bytes..).unwrap_or_default();
        for byte in new {
            if self.take(*byte)? == Progress::Done {
                return Ok(Some(self.bytes));
            }
        }
        Ok(None)
    }

    /// Looks at the next byte.
    pub fn take(&mut self, byte: u8) -> Result<Progress, Fault> {
        if self.bytes == MAX_BYTES {
            return Err(Fault::TooLong);
        }
        self.at = match (self.at, byte) {
            (At::Method, b' ') if self.bytes > 0 => At::Target,
            (At::Method, byte) if is_token(byte) => At::Method,
            (At::Target, b' '..=b'~') => At::Target,
            (At::Name, byte) if is_token(byte) => At::Name,
            (At::Name, b':') | (At::Value, b'\t' | b' '..=b'~' | 0x80..) => At::Value,
            (At::Target | At::Value, b'\r') => At::LineFeed,
            (At::LineFeed, b'\n') => At::LineStart,
            (At::LineStart, b'\r') => At::LastLineFeed,
            (At::LineStart, byte) if is_token(byte) => {
                self.fields += 1;
                if self.fields > MAX_FIELDS {
                    return Err(Fault::TooManyFields);
                }
                At::Name
            }
            (At::LastLineFeed, b'\n') => {
                self.bytes += 1;
                return Ok(Progress::Done);
            }
            (at, byte) => return Err(fault(at, byte)),
        };
        self.bytes += 1;
        Ok(Progress::More)
    }
}

fn fault(at: At, byte: u8) -> Fault {
    match (at, byte) {
        (At::LineFeed | At::LastLineFeed, _) | (_, b'\n') => Fault::LineEnd,
        (At::LineStart, b' ' | b'\t') => Fault::Folded,
        (At::Method | At::Target, b'\r' | b'\t') => Fault::RequestLine,
        (At::Name, b'\r' | b'\t') => Fault::FieldLine,
        (_, 0..b' ' | 0x7f) => Fault::Control,
        (At::Method | At::Target, _) => Fault::RequestLine,
        (At::Name | At::LineStart | At::Value, _) => Fault::FieldLine,
    }
}

/// A byte of a method or of a field's name.
pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
