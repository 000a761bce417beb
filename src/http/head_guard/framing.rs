//! Where the requests of one connection begin and end: a machine over the bytes that came and were
//! not passed on yet, without a socket, a clock or a word of its own.
//!
//! A head passes when it is whole and without fault; the bytes of a body pass as they come. However
//! the bytes are cut into pieces, the same ones pass and the same fault is found.

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use super::chunks::{Chunks, Next};
use super::fault::Fault;
use super::head::{self, Body, Extent, Then};
use super::lines::Lines;

/// The requests of a connection, as far as they have come.
#[derive(Debug)]
pub struct Framing {
    state: State,
    /// What follows the present request.
    then: Then,
}

#[derive(Debug)]
enum State {
    /// No byte of the next request has come.
    Between(Empty),
    Head(Lines),
    Counted(u64),
    Chunked(Chunks),
    /// The last request is over.
    Over,
    Refused(Fault),
}

/// Empty lines before a request: some clients end a body with one too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    MayCome,
    Came,
}

/// What is to be done with the bytes that are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// More have to come before anything can pass.
    More,
    /// The first `bytes` pass.
    Pass { bytes: usize, part: Part },
    /// So many of the first bytes belong to no request.
    Drop(usize),
    /// What is held is no request, nor the rest of one, and nothing after it can be.
    Refuse(Fault),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Head { fields: usize },
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    Nothing,
    /// The rest of a head.
    Head,
    /// The rest of a body, which may be all of it.
    Body,
}

impl Default for Framing {
    fn default() -> Self {
        Self {
            state: State::Between(Empty::MayCome),
            then: Then::Another,
        }
    }
}

impl Framing {
    /// Judges the bytes that have not been passed on or dropped, from the first of them.
    pub fn step(&mut self, held: &[u8]) -> Step {
        match &mut self.state {
            State::Between(empty) => match held {
                [] | [b'\r'] => Step::More,
                [b'\r', b'\n', ..] if *empty == Empty::MayCome => {
                    *empty = Empty::Came;
                    Step::Drop(2)
                }
                _ => {
                    self.state = State::Head(Lines::head());
                    self.step(held)
                }
            },
            State::Head(lines) => match lines.scan(held) {
                Ok(None) => Step::More,
                Ok(Some(bytes)) => {
                    let fields = lines.fields();
                    self.head(&held[..bytes], fields)
                }
                Err(fault) => self.refuse(fault),
            },
            State::Counted(_) | State::Chunked(_) | State::Over if held.is_empty() => Step::More,
            State::Counted(left) => {
                let bytes = usize::try_from(*left).map_or(held.len(), |left| left.min(held.len()));
                *left -= bytes as u64;
                if *left == 0 {
                    self.end();
                }
                body(bytes)
            }
            State::Chunked(chunks) => {
                let seen = chunks.scan(held);
                match seen.next {
                    Next::More => {}
                    Next::End => self.end(),
                    Next::Fault(fault) if seen.bytes == 0 => return self.refuse(fault),
                    Next::Fault(fault) => self.state = State::Refused(fault),
                }
                body(seen.bytes)
            }
            State::Over => Step::Drop(held.len()),
            State::Refused(fault) => Step::Refuse(*fault),
        }
    }

    /// What has begun and is not there yet.
    pub fn awaits(&self) -> Awaits {
        match self.state {
            State::Head(_) => Awaits::Head,
            State::Counted(_) | State::Chunked(_) => Awaits::Body,
            State::Between(_) | State::Over | State::Refused(_) => Awaits::Nothing,
        }
    }

    fn head(&mut self, head: &[u8], fields: usize) -> Step {
        match head::read(head) {
            Err(fault) => self.refuse(fault),
            Ok(Extent { body, then }) => {
                self.then = then;
                match body {
                    Body::None => self.end(),
                    Body::Counted(length) => self.state = State::Counted(length),
                    Body::Chunked => self.state = State::Chunked(Chunks::new()),
                }
                let part = Part::Head { fields };
                let bytes = head.len();
                Step::Pass { bytes, part }
            }
        }
    }

    fn end(&mut self) {
        self.state = match self.then {
            Then::Another => State::Between(Empty::MayCome),
            Then::Nothing => State::Over,
        };
    }

    fn refuse(&mut self, fault: Fault) -> Step {
        self.state = State::Refused(fault);
        Step::Refuse(fault)
    }
}

fn body(bytes: usize) -> Step {
    let part = Part::Body;
    Step::Pass { bytes, part }
}
