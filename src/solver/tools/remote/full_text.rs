//! The full text of a paper, from a configured server or a host on the operator's list.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::fetch::{Page, Request, off_thread};
use super::{Paper, RemoteError, Remotes, Upstream, clean};
use crate::app::redaction::{redact_text, text_is_protected};
use crate::solver::corpora::{CorpusFault, Document, Origin, Stamp};
use crate::solver::tools::extract::{self, Extracted, Format, LARGEST, PdfReading};

impl Remotes {
    /// Fetches and extracts a paper's text. The document keeps the bytes it was made from.
    pub async fn full_text(
        &self,
        paper: &Paper,
        patience: Duration,
    ) -> Result<Document, RemoteError> {
        let url = paper.full_text.clone().ok_or(RemoteError::NotAdmitted)?;
        let request = Request {
            upstream: Upstream::FullText,
            url,
            accept: "application/pdf, text/html;q=0.9, text/plain;q=0.8",
            bytes: usize::try_from(LARGEST).unwrap_or(usize::MAX),
            patience,
        };
        let page = self.fetcher.get(request).await?;
        let (title, reading) = (paper.title.clone(), self.pdf_reading.clone());
        off_thread(move || document(title, page, &reading)).await
    }
}

fn document(title: String, page: Page, reading: &PdfReading) -> Result<Document, RemoteError> {
    let format = match page.media_type.as_str() {
        "application/pdf" => Format::Pdf,
        "text/html" | "application/xhtml+xml" => Format::Html,
        "text/plain" => Format::Text,
        _ => return Err(RemoteError::WrongType),
    };
    let locator = clean::locator(page.url.as_str()).ok_or(RemoteError::NotAdmitted)?;
    let bytes = page.body;
    if bytes.len() as u64 > format.byte_limit() {
        return Err(RemoteError::TooLong);
    }
    let extracted = extract::extract(format, bytes.clone(), reading).map_err(fault)?;
    let extracted = without_secrets(extracted);
    if extracted.blocks.is_empty() {
        return Err(RemoteError::Malformed);
    }
    Ok(Document {
        locator,
        title,
        text: extracted.text,
        blocks: extracted.blocks,
        source_sha256: hex::encode(Sha256::digest(&bytes)),
        stamp: Stamp {
            bytes: bytes.len() as u64,
            modified: None,
        },
        origin: Origin::Retained(bytes.into()),
    })
}

/// A text that shows a credential is read with the credential replaced; still a function of the
/// bytes alone.
fn without_secrets(extracted: Extracted) -> Extracted {
    if text_is_protected(&extracted.text) {
        extract::plain(redact_text(&extracted.text).into_owned())
    } else {
        extracted
    }
}

fn fault(fault: CorpusFault) -> RemoteError {
    if matches!(fault, CorpusFault::TooSlow { .. }) {
        RemoteError::Slow
    } else if matches!(fault, CorpusFault::TooLarge { .. }) {
        RemoteError::TooLong
    } else {
        RemoteError::Malformed
    }
}
