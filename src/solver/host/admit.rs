//! Admission of a quoted span: the second reading, before an evidence ref exists.

use std::sync::Arc;

use helix_aggregates::agent::evidence::item::Span;
use helix_aggregates::text::utf16_len;
use sha2::{Digest, Sha256};

use super::{ToolHost, slice};
use crate::solver::corpora::{Document, Origin};
use crate::solver::seam::{QuotedSpan, SourceHandle};
use crate::solver::tools::{extract, open_file};

/// The longest quote, in UTF-16 code units (`EvidenceItem::quote`).
const QUOTE_LIMIT: usize = 2000;

/// A quote of fewer letters and digits stands in any text by chance.
const QUOTE_LETTERS: usize = 3;

/// Whether a quote says too little to be evidence of anything.
pub fn is_too_short(quote: &str) -> bool {
    let letters = quote.chars().filter(|c| c.is_alphanumeric());
    letters.take(QUOTE_LETTERS).count() < QUOTE_LETTERS
}

/// A span whose quote the host has found in the source itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    pub scope: &'static str,
    pub title: String,
    pub locator: String,
    pub snapshot_sha256: String,
    pub span: Span,
    pub quote: String,
    /// The receipt of the read that handed the span over.
    pub receipt_ref: String,
}

/// Why a span is no evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the host never named this source")]
    UnknownSource,
    #[error("the span was not read in this turn")]
    NotRead,
    #[error("the span is empty, too long, or cuts a character")]
    BadSpan,
    #[error("the quote is too short")]
    TooShort,
    #[error("the quote differs from the source")]
    Different,
    #[error("the source changed since it was indexed")]
    SourceChanged,
}

impl ToolHost {
    /// Re-reads a quoted span from its source and compares every byte. Blocking.
    pub fn admit(&self, quoted: &QuotedSpan) -> Result<Admitted, Refusal> {
        let (document, scope, receipt_ref) = self.reading_of(quoted)?;
        let span = quoted.span;
        if span.start >= span.end || utf16_len(&quoted.quote) > QUOTE_LIMIT {
            return Err(Refusal::BadSpan);
        }
        if is_too_short(&quoted.quote) {
            return Err(Refusal::TooShort);
        }
        let retained = slice(&document.text, span).ok_or(Refusal::BadSpan)?;
        if retained.as_bytes() != quoted.quote.as_bytes() {
            return Err(Refusal::Different);
        }
        if !self.is_unchanged(quoted.source, &document) {
            return Err(Refusal::SourceChanged);
        }
        Ok(Admitted {
            scope,
            title: document.title.clone(),
            locator: document.locator.clone(),
            snapshot_sha256: document.source_sha256.clone(),
            span,
            quote: retained.to_owned(),
            receipt_ref,
        })
    }

    fn reading_of(
        &self,
        quoted: &QuotedSpan,
    ) -> Result<(Arc<Document>, &'static str, String), Refusal> {
        let ledger = self.ledger();
        let source = ledger
            .sources
            .get(quoted.source.0 as usize)
            .ok_or(Refusal::UnknownSource)?;
        let holds =
            |window: &Span| window.start <= quoted.span.start && quoted.span.end <= window.end;
        let read = source
            .read
            .iter()
            .find(|(window, _)| holds(window))
            .ok_or(Refusal::NotRead)?;
        Ok((Arc::clone(&source.document), source.scope, read.1.clone()))
    }

    /// Reads the file again, or looks at the bytes that were retained. Extraction is a pure function
    /// of the bytes, so equal bytes mean that the retained text is what the source says.
    fn is_unchanged(&self, source: SourceHandle, document: &Document) -> bool {
        if let Some(known) = self.ledger().unchanged.get(&source) {
            return *known;
        }
        let holds = |bytes: &[u8]| hex::encode(Sha256::digest(bytes)) == document.source_sha256;
        let unchanged = match &document.origin {
            Origin::File { path, root } => {
                open_file(root, path, extract::LARGEST).is_ok_and(|bytes| holds(&bytes))
            }
            Origin::Retained(bytes) => holds(bytes),
        };
        self.ledger().unchanged.insert(source, unchanged);
        unchanged
    }
}
