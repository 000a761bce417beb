//! PDF: paragraphs of the extracted text.
//!
//! The parser panics on some corrupt files and can run very long on others, so it works on a thread
//! of its own: a panic there is a named fault, and a file that takes too long is given up.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::text::paragraphs;
use super::{Extracted, storable, title};
use crate::solver::corpora::{Block, CorpusFault};

const TIME: Duration = Duration::from_secs(20);
/// The parser recurses over nested objects.
const STACK_BYTES: usize = 32 << 20;
const TEXT_LIMIT: usize = 8 << 20;
const CORRUPT: CorpusFault = CorpusFault::Corrupt { format: "PDF" };

pub(super) fn extract(bytes: Vec<u8>) -> Result<Extracted, CorpusFault> {
    if !bytes.starts_with(b"%PDF-") {
        return Err(CORRUPT);
    }
    let raw = parse(bytes)?;
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

fn parse(bytes: Vec<u8>) -> Result<String, CorpusFault> {
    quiet::install();
    let (answer, answered) = mpsc::channel();
    let worker = thread::Builder::new()
        .name("pdf".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            quiet::this_thread();
            // A receiver that has given up needs no answer.
            drop(answer.send(pdf_extract::extract_text_from_mem(&bytes)));
        });
    if worker.is_err() {
        return Err(CorpusFault::Unreadable);
    }
    match answered.recv_timeout(TIME) {
        Ok(Ok(text)) => Ok(text),
        // A panicking thread drops its sender.
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(CORRUPT),
        Err(RecvTimeoutError::Timeout) => Err(CorpusFault::TooSlow { format: "PDF" }),
    }
}

/// Keeps the parser's panic messages, which may quote the document, off standard error.
mod quiet {
    use std::cell::Cell;
    use std::panic;
    use std::sync::Once;

    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static INSTALLED: Once = Once::new();

    pub fn install() {
        INSTALLED.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !QUIET.get() {
                    before(info);
                }
            }));
        });
    }

    pub fn this_thread() {
        QUIET.set(true);
    }
}
