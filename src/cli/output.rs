//! The only place that writes to standard output and standard error.
//!
//! A reader that goes away (`helix … | head`) ends the command quietly. Text of people, servers and
//! files loses its control characters, so that it cannot talk to a terminal.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use serde::Serialize;

use super::failure::{Exit, Failure};

/// For people, or one JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    People,
    Json,
}

impl Output {
    pub fn new(json: bool) -> Self {
        if json { Self::Json } else { Self::People }
    }

    pub fn is_json(self) -> bool {
        self == Self::Json
    }

    /// Prints `object` under `--json`, else lets `people` print.
    pub fn answer(
        self,
        object: &impl Serialize,
        people: impl FnOnce(Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.is_json() {
            self.object(object)
        } else {
            people(self)
        }
    }

    /// One JSON object on a line of its own.
    pub fn object(self, object: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(object)
            .map_err(|error| Failure::new(Exit::No, "unprintable", error.to_string()))?;
        line.push(b'\n');
        self.bytes(&line)
    }

    /// One line for people.
    pub fn line(self, line: &str) -> Result<(), Failure> {
        self.bytes(format!("{}\n", plain(line)).as_bytes())
    }

    /// Aligned lines of keys and values; a value of several lines is indented under its key.
    pub fn pairs(self, pairs: &[(&str, String)]) -> Result<(), Failure> {
        let width = pairs
            .iter()
            .map(|(key, _)| key.chars().count())
            .max()
            .unwrap_or(0);
        for (key, value) in pairs {
            for (index, line) in value.lines().enumerate() {
                let key = if index == 0 { key } else { "" };
                self.line(format!("{key:width$}  {line}").trim_end())?;
            }
        }
        Ok(())
    }

    /// Text of our own making, line breaks and all.
    pub fn text(self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    /// Exact bytes, flushed.
    pub fn bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(|error| {
                if error.kind() == ErrorKind::BrokenPipe {
                    Failure::ReaderGone
                } else {
                    Failure::new(
                        Exit::Unavailable,
                        "output",
                        format!("cannot write: {error}"),
                    )
                }
            })
    }

    /// A remark on standard error. Its loss is not worth failing for.
    pub fn note(self, text: &str) {
        let mut err = io::stderr().lock();
        for line in text.lines() {
            if writeln!(err, "{}", plain(line)).is_err() {
                return;
            }
        }
    }

    /// Says what went wrong and gives the exit code.
    pub fn fail(self, failure: &Failure) -> ExitCode {
        let Failure::Told(told) = failure else {
            return Exit::Ok.into();
        };
        self.note(&format!("error[{}]: {}", told.code, told.message));
        if let Some(fix) = &told.fix {
            self.note(&format!("fix: {fix}"));
        }
        match self {
            Self::Json if self.object(&told.to_json()) == Err(Failure::ReaderGone) => {
                Exit::Ok.into()
            }
            Self::Json | Self::People => told.exit.into(),
        }
    }
}

/// A number and its noun.
pub fn counted(count: impl std::fmt::Display, noun: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Without control characters, nor those that turn the direction of a line around.
fn plain(text: &str) -> String {
    let forges =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|c| if forges(c) { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1, "warning"), "1 warning");
        assert_eq!(counted(0, "data key"), "0 data keys");
    }

    #[test]
    fn a_line_cannot_talk_to_the_terminal() {
        assert_eq!(
            plain("a\u{1b}[2Jb\u{7}\u{9b}\u{202e}ü"),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}ü"
        );
    }
}
