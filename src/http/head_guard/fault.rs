//! What can be wrong with the bytes of a connection, and what its sender is told.

use crate::app::problem::{Code, Problem};

/// The first thing wrong. Its answer never quotes the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A bare LF or a bare CR.
    LineEnd,
    RequestLine,
    FieldLine,
    Folded,
    Control,
    /// Missing on HTTP/1.1, or there twice.
    Host,
    Length,
    Coding,
    /// Another protocol is asked for.
    Protocol,
    TooManyFields,
    TooLong,
    /// The head, or the first byte of it, did not come in time.
    LateHead,
    Chunk,
    Trailer,
    LateBody,
}

impl Fault {
    /// As metrics and logs name it.
    pub fn label(self) -> &'static str {
        match self {
            Self::LineEnd => "line_end",
            Self::RequestLine => "request_line",
            Self::FieldLine => "field_line",
            Self::Folded => "folded",
            Self::Control => "control",
            Self::Host => "host",
            Self::Length => "length",
            Self::Coding => "coding",
            Self::Protocol => "protocol",
            Self::TooManyFields => "too_many_fields",
            Self::TooLong => "too_long",
            Self::LateHead => "late_head",
            Self::Chunk => "chunk",
            Self::Trailer => "trailer",
            Self::LateBody => "late_body",
        }
    }

    /// What the guard answers. Nothing where the router has the head already: it is the router that
    /// answers for a body which ends early.
    pub fn problem(self) -> Option<Problem> {
        let malformed = match self {
            Self::Chunk | Self::Trailer | Self::LateBody => return None,
            Self::TooManyFields | Self::TooLong => return Some(Problem::new(Code::HeadTooLarge)),
            Self::LateHead => return Some(Problem::new(Code::HeadTimeout)),
            Self::LineEnd => "A line of the request head does not end in CR LF.",
            Self::RequestLine => "The request line is not one of HTTP/1.1 or HTTP/1.0.",
            Self::FieldLine => "A header field is not a name, a colon and a value.",
            Self::Folded => "A header field goes on in a second line.",
            Self::Control => "A control character stands in the request head.",
            Self::Host => "Send one Host header.",
            Self::Length => "Send one Content-Length, a decimal number.",
            Self::Coding => {
                "Transfer-Encoding may be chunked, on HTTP/1.1 and without Content-Length."
            }
            Self::Protocol => "No other protocol is spoken here.",
        };
        Some(Problem::invalid(malformed))
    }
}
