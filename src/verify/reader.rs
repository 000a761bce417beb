//! A run log read line by line: an entry is handed out only after its link was recomputed.

use std::io::{BufRead, Read};

use helix_aggregates::chain::Hash;
use helix_aggregates::time::Timestamp;
use uuid::Uuid;

use super::run_log::{Entry, Head, Header, MAX_LINE, read_exact_line};
use super::{Damage, Refusal, Verified};

/// Longest header, in bytes: its fields have fixed lengths.
const MAX_HEADER: usize = 4096;

/// A log that is sound up to where it has been read.
#[derive(Debug)]
pub struct LogReader<R> {
    input: R,
    line: Vec<u8>,
    header: Header,
    stream: Uuid,
    checkpoint: Option<Head>,
    last: Head,
    last_at: Timestamp,
}

enum Line {
    /// Without its end.
    Whole,
    End,
    TooLong,
    Unended,
}

impl<R: BufRead> LogReader<R> {
    /// Reads the header. Anything that is no run log at all is [`Refusal::Unusable`].
    pub fn open(mut input: R, checkpoint: Option<Head>) -> Result<Self, Refusal> {
        let unusable = |reason: &str| Err(Refusal::Unusable(reason.to_owned()));
        let mut line = Vec::new();
        match read_line(&mut input, &mut line, MAX_HEADER)? {
            Line::Whole => {}
            Line::End => return unusable("the file is empty"),
            Line::TooLong | Line::Unended => return unusable("the file is not a run log"),
        }
        let Some(header) = read_exact_line::<Header>(&line) else {
            return unusable("the first line is not the header of a run log in its exact spelling");
        };
        if !header.is_known() {
            return unusable(
                "the log has a format or an algorithm that this program does not know",
            );
        }
        let stream = header.stream().ok_or(Refusal::broken(0, Damage::Stream))?;
        let last = Head {
            seq: 0,
            hash: Hash::ZERO,
        };
        let last_at = Timestamp::default();
        Ok(Self {
            input,
            line,
            header,
            stream,
            checkpoint,
            last,
            last_at,
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next verified entry; `None` at a sound end.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, Refusal> {
        let at = self.last.seq.saturating_add(1);
        let broken = |damage| Err(Refusal::broken(at, damage));
        match read_line(&mut self.input, &mut self.line, MAX_LINE)? {
            Line::Whole => {}
            Line::End => return self.end().map(|()| None),
            Line::TooLong => return broken(Damage::Oversize),
            Line::Unended => return broken(Damage::CutLine),
        }
        let Some(entry) = read_exact_line::<Entry>(&self.line) else {
            return broken(Damage::Spelling);
        };
        self.check(&entry)
            .map_err(|damage| Refusal::broken(at, damage))?;
        self.last = Head {
            seq: entry.seq,
            hash: entry.hash,
        };
        self.last_at = entry.at;
        Ok(Some(entry))
    }

    fn check(&self, entry: &Entry) -> Result<(), Damage> {
        let expected = self.last.seq.saturating_add(1);
        if entry.seq > expected {
            return Err(Damage::Missing);
        }
        if entry.seq < expected {
            return Err(Damage::Order);
        }
        if entry.prev != self.last.hash {
            return Err(Damage::Predecessor);
        }
        if entry.computed_hash(self.stream) != entry.hash {
            return Err(Damage::Altered);
        }
        if entry.at < self.last_at {
            return Err(Damage::Time);
        }
        let kept = self
            .checkpoint
            .filter(|checkpoint| checkpoint.seq == entry.seq);
        if kept.is_some_and(|checkpoint| checkpoint.hash != entry.hash) {
            return Err(Damage::Checkpoint);
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Refusal> {
        let at = self.last.seq;
        if self.last.seq == 0 || self.last != self.header.head {
            return Err(Refusal::broken(at, Damage::Head));
        }
        if self.header.exported_at < self.last_at {
            return Err(Refusal::broken(0, Damage::ExportTime));
        }
        match self.checkpoint {
            Some(kept) if kept.seq > at => Err(Refusal::Unchecked(format!(
                "the log ends at {at}, before the given head {}",
                kept.seq
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// What was read; meaningful after [`Self::next_entry`] has answered `None`.
    pub fn verified(&self) -> Result<Verified, Refusal> {
        self.end()?;
        Ok(Verified {
            run_id: self.header.run_id.to_string(),
            entries: self.last.seq,
            head: self.last,
        })
    }
}

/// Reads up to and without the next `\n`, never more than `most` bytes.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> Result<Line, Refusal> {
    line.clear();
    // One large line must not keep its memory for the rest of a long log.
    line.shrink_to(64 << 10);
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = input.take(limit).read_until(b'\n', line);
    read.map_err(|error| Refusal::Unusable(format!("the file cannot be read: {error}")))?;
    Ok(match line.pop() {
        None => Line::End,
        Some(b'\n') => Line::Whole,
        Some(_) if line.len() >= most => Line::TooLong,
        Some(_) => Line::Unended,
    })
}
