//! Offline verification of exported logs, without a database and without trusting the server.
//!
//! A run log (`helix.run_log.v1`, settled question 36) is checked as exact bytes: every line is read
//! strictly, spelled again and compared, every link of the chain is recomputed, and the last one
//! must be the head the header names. So any edit is found that does not recompute the whole rest
//! of the chain; that one is found by comparing with a head kept elsewhere, or with the server.
//!
//! Not proven: `exported_at`. It is no part of the chain; it must be a timestamp not before the last
//! event, and that is all that is known of it. Deliberately absent: repairing anything.

pub mod reader;
pub mod run_log;
pub mod self_test;
pub mod served;
#[cfg(test)]
mod tests;

use std::io::BufRead;

use reader::LogReader;
use run_log::Head;

/// What is wrong with a log that could be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("the line is not a log line in its exact spelling")]
    Spelling,
    #[error("the line is longer than any log line")]
    Oversize,
    #[error("the last line is not ended")]
    CutLine,
    #[error("an entry is missing")]
    Missing,
    #[error("an entry is doubled or out of order")]
    Order,
    #[error("the entry does not follow the one before it")]
    Predecessor,
    #[error("the entry was altered: its hash does not match its content")]
    Altered,
    #[error("the entry is older than the one before it")]
    Time,
    #[error("the log ends before or beyond its own head")]
    Head,
    #[error("the head does not match")]
    Checkpoint,
    #[error("the export claims to be older than its last entry")]
    ExportTime,
    #[error("the header names a stream that is not the run's")]
    Stream,
    #[error("the server serves something else: {0}")]
    Served(&'static str),
}

impl Damage {
    /// The stable name of the kind of damage, for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Spelling => "spelling",
            Self::Oversize => "oversize",
            Self::CutLine => "cut_line",
            Self::Missing => "missing",
            Self::Order => "order",
            Self::Predecessor => "predecessor",
            Self::Altered => "altered",
            Self::Time => "time",
            Self::Head => "head",
            Self::Checkpoint => "checkpoint",
            Self::ExportTime => "export_time",
            Self::Stream => "stream",
            Self::Served(_) => "served",
        }
    }
}

/// Why a log is not verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `at` is the sequence number the damage was found at; 0 is the header.
    #[error("broken at {at}: {damage}")]
    Broken { at: u64, damage: Damage },
    /// Sound as far as it goes, but not all of it could be judged.
    #[error("unchecked: {0}")]
    Unchecked(String),
    #[error("unusable: {0}")]
    Unusable(String),
}

impl Refusal {
    pub(crate) fn broken(at: u64, damage: Damage) -> Self {
        Self::Broken { at, damage }
    }
}

/// What a sound log contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub run_id: String,
    pub entries: u64,
    pub head: Head,
}

/// Verifies a run log, reading it once with constant memory. `checkpoint` is a head kept elsewhere.
pub fn run_log(input: impl BufRead, checkpoint: Option<Head>) -> Result<Verified, Refusal> {
    let mut reader = LogReader::open(input, checkpoint)?;
    while reader.next_entry()?.is_some() {}
    reader.verified()
}
