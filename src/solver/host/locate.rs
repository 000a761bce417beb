//! Where a quote stands, for solvers that name a passage by its words.
//!
//! Only what was handed over in this turn is looked through, so a passage that was never read has no
//! place. What is found here is still compared with its source before it is evidence.

use helix_aggregates::agent::evidence::item::Span;

use super::{Refusal, ToolHost, slice};
use crate::solver::seam::SourceHandle;

impl ToolHost {
    /// The first place, in the order of reading, at which a source's text holds exactly these bytes.
    pub(in crate::solver) fn locate(
        &self,
        source: SourceHandle,
        quote: &str,
    ) -> Result<Span, Refusal> {
        if quote.is_empty() {
            return Err(Refusal::BadSpan);
        }
        let (document, windows) = {
            let ledger = self.ledger();
            let known = ledger.sources.get(source.0 as usize);
            let known = known.ok_or(Refusal::UnknownSource)?;
            let windows: Vec<Span> = known.read.iter().map(|(window, _)| *window).collect();
            (known.document.clone(), windows)
        };
        if windows.is_empty() {
            return Err(Refusal::NotRead);
        }
        let place = windows.into_iter().find_map(|window| {
            let at = slice(&document.text, window)?.find(quote)? as u64;
            let start = window.start + at;
            Some(Span {
                start,
                end: start + quote.len() as u64,
            })
        });
        place.ok_or(Refusal::Different)
    }
}
