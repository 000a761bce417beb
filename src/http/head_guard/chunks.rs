//! A chunked body, as far as its end has to be found.

use super::fault::Fault;
use super::lines::{Lines, Progress};

/// The longest line before a chunk, its extensions included: what one byte of body can cost.
pub const MAX_SIZE_LINE: usize = 256;
/// Digits that fit 64 bits.
const MAX_DIGITS: usize = 16;

/// How far one body has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunks {
    at: At,
    /// Bytes of the present line so far.
    line: usize,
    /// Of the chunk that its line tells.
    size: u64,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    Size,
    Extension,
    SizeLineFeed,
    Data,
    DataEnd,
    DataLineFeed,
    Trailers(Lines),
}

/// How far a look at new bytes came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// So many bytes are as they should be.
    pub bytes: usize,
    pub next: Next,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    More,
    /// The body ended with the last of the bytes.
    End,
    /// The byte after them is wrong.
    Fault(Fault),
}

impl Chunks {
    pub fn new() -> Self {
        Self {
            at: At::Size,
            line: 0,
            size: 0,
        }
    }

    /// Looks at bytes it has not seen yet.
    pub fn scan(&mut self, new: &[u8]) -> Seen {
        let mut bytes = 0;
        while let Some(byte) = new.get(bytes) {
            if self.at == At::Data {
                bytes += self.data(new.len() - bytes);
                continue;
            }
            match self.take(*byte) {
                Ok(Progress::More) => bytes += 1,
                Ok(Progress::Done) => {
                    let bytes = bytes + 1;
                    return Seen {
                        bytes,
                        next: Next::End,
                    };
                }
                Err(fault) => {
                    let next = Next::Fault(fault);
                    return Seen { bytes, next };
                }
            }
        }
        Seen {
            bytes,
            next: Next::More,
        }
    }

    /// Takes as much of the chunk as there is.
    fn data(&mut self, there: usize) -> usize {
        let taken = usize::try_from(self.size).map_or(there, |size| size.min(there));
        self.size -= taken as u64;
        if self.size == 0 {
            self.at = At::DataEnd;
        }
        taken
    }

    /// Looks at one byte that is not data.
    fn take(&mut self, byte: u8) -> Result<Progress, Fault> {
        if let At::Trailers(lines) = &mut self.at {
            return lines.take(byte).map_err(|_| Fault::Trailer);
        }
        self.line += 1;
        if self.line > MAX_SIZE_LINE {
            return Err(Fault::Chunk);
        }
        self.at = match (&self.at, byte) {
            (At::Size, byte) if byte.is_ascii_hexdigit() && self.line <= MAX_DIGITS => {
                let digit = char::from(byte).to_digit(16).ok_or(Fault::Chunk)?;
                self.size = self.size << 4 | u64::from(digit);
                At::Size
            }
            (At::Size, b';') if self.line > 1 => At::Extension,
            (At::Size, b'\r') if self.line > 1 => At::SizeLineFeed,
            (At::Extension, b'\t' | b' '..=b'~' | 0x80..) => At::Extension,
            (At::Extension, b'\r') => At::SizeLineFeed,
            (At::SizeLineFeed, b'\n') if self.size == 0 => At::Trailers(Lines::trailers()),
            (At::SizeLineFeed, b'\n') => At::Data,
            (At::DataEnd, b'\r') => At::DataLineFeed,
            (At::DataLineFeed, b'\n') => {
                self.line = 0;
                At::Size
            }
            _ => return Err(Fault::Chunk),
        };
        Ok(Progress::More)
    }
}
