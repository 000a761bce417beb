//! Parsing on a thread of this process.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::{CORRUPT, TOO_SLOW, guard};
use crate::solver::corpora::CorpusFault;

const TIME: Duration = Duration::from_secs(20);
/// The parser recurses over nested objects.
const STACK_BYTES: usize = 32 << 20;

/// The text of a PDF file. A thread that takes too long is left behind.
pub(super) fn parse(bytes: Vec<u8>) -> Result<String, CorpusFault> {
    quiet::install();
    let (answer, answered) = mpsc::channel();
    let worker = thread::Builder::new()
        .name("pdf".into())
        .stack_size(STACK_BYTES);
    let started = worker.spawn(move || {
        quiet::this_thread();
        let text = guard::check(&bytes)
            .and_then(|()| pdf_extract::extract_text_from_mem(&bytes).map_err(|_| CORRUPT));
        // A receiver that has given up needs no answer.
        drop(answer.send(text));
    });
    if started.is_err() {
        return Err(CorpusFault::Unreadable);
    }
    match answered.recv_timeout(TIME) {
        Ok(text) => text,
        // A panicking thread drops its sender.
        Err(RecvTimeoutError::Disconnected) => Err(CORRUPT),
        Err(RecvTimeoutError::Timeout) => Err(TOO_SLOW),
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
