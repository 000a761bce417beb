//! PDF: paragraphs of the extracted text.
//!
//! The parser panics on some corrupt files, runs very long on others, and can exhaust stack or
//! memory on hostile ones. A server therefore reads in a child process of its own program, whose
//! memory and time are limited; whatever happens there is a named fault here. Without a program to
//! start (in tests, in tools), the same reading runs on a thread, behind a check for the files that
//! would end the process.

use std::path::PathBuf;

use super::text::paragraphs;
use super::{Extracted, LARGEST, storable, title};
use crate::solver::corpora::{Block, CorpusFault};

mod child;
mod guard;
mod thread;

pub use child::answer as answer_as_child;

const TEXT_LIMIT: usize = 8 << 20;
const CORRUPT: CorpusFault = CorpusFault::Corrupt { format: "PDF" };
const TOO_SLOW: CorpusFault = CorpusFault::TooSlow { format: "PDF" };

/// Where PDF files are parsed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PdfReading {
    #[default]
    OnThread,
    /// A program that calls [`answer_as_child`] when it is started with these arguments.
    InChild {
        program: PathBuf,
        arguments: Vec<String>,
    },
}

pub(super) fn extract(bytes: Vec<u8>, reading: &PdfReading) -> Result<Extracted, CorpusFault> {
    if !bytes.starts_with(b"%PDF-") {
        return Err(CORRUPT);
    }
    let raw = match reading {
        PdfReading::OnThread => thread::parse(bytes)?,
        PdfReading::InChild { program, arguments } => {
            child::parse(program, arguments, bytes, child::TIME)?
        }
    };
    if raw.len() > TEXT_LIMIT {
        return Err(CorpusFault::TooLarge {
            limit: TEXT_LIMIT as u64,
        });
    }
    let text = storable(raw);
    let blocks: Vec<Block> = paragraphs(&text)
        .map(|range| Block {
            range,
            heading: None,
        })
        .collect();
    let first = blocks
        .first()
        .and_then(|block| text.get(block.range.clone()));
    let document_title = first.filter(|line| line.len() <= 120).and_then(title);
    if blocks.is_empty() {
        return Err(CorpusFault::NoText { format: "PDF" });
    }
    Ok(Extracted {
        title: document_title,
        text,
        blocks,
    })
}

#[cfg(test)]
mod tests;
