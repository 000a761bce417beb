//! What a turn's host keeps: counts, receipts, and the sources it has named.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use helix_aggregates::agent::evidence::item::{Span, ToolReceipt};

use super::SourceCard;
use crate::solver::corpora::{Corpus, Document};
use crate::solver::seam::SourceHandle;
use crate::solver::tools::remote::{Paper, RemoteError, Unreached, Upstream};

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub calls: u32,
    pub bytes: u64,
    pub receipts: Vec<ToolReceipt>,
    pub sources: Vec<Source>,
    /// By scope, the documents that other servers gave in this turn.
    pub shelves: HashMap<&'static str, Arc<Corpus>>,
    /// Papers that were looked up, with the source each one's full text has become.
    pub papers: Vec<(Paper, Option<SourceHandle>)>,
    /// How a server answered when it was last asked; for full texts, paper by paper.
    pub heard: BTreeMap<(Upstream, usize), Result<(), RemoteError>>,
    by_document: HashMap<(&'static str, usize), SourceHandle>,
    /// Whether a source's file still holds the bytes that were indexed; asked once a turn.
    pub unchanged: HashMap<SourceHandle, bool>,
}

#[derive(Debug)]
pub(super) struct Source {
    pub scope: &'static str,
    pub document: Arc<Document>,
    /// The windows handed over, with the receipts that handed them.
    pub read: Vec<(Span, String)>,
}

impl Ledger {
    pub fn unreached(&self) -> Vec<Unreached> {
        let heard = self.heard.iter();
        heard
            .filter_map(|((upstream, _), heard)| {
                let error = heard.err()?;
                Some(Unreached {
                    upstream: *upstream,
                    error,
                })
            })
            .collect()
    }

    pub fn reached(&self) -> Vec<Upstream> {
        let failed = self.unreached();
        let mut asked: Vec<Upstream> = self.heard.keys().map(|(upstream, _)| *upstream).collect();
        asked.dedup();
        asked.retain(|upstream| failed.iter().all(|failure| failure.upstream != *upstream));
        asked
    }

    pub fn name(
        &mut self,
        scope: &'static str,
        ordinal: usize,
        document: &Arc<Document>,
    ) -> SourceHandle {
        let next = SourceHandle(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        let source = *self.by_document.entry((scope, ordinal)).or_insert(next);
        if source == next {
            self.sources.push(Source {
                scope,
                document: Arc::clone(document),
                read: Vec::new(),
            });
        }
        source
    }

    pub fn card(&self, source: SourceHandle) -> Option<SourceCard> {
        let known = self.sources.get(source.0 as usize)?;
        Some(SourceCard {
            source,
            scope: known.scope,
            title: known.document.title.clone(),
            locator: known.document.locator.clone(),
        })
    }

    /// The bytes of a listing: a line a passage, tab between its parts.
    pub fn listing(&self, found: &[(SourceHandle, Span)]) -> Vec<u8> {
        let mut lines = String::new();
        for (source, span) in found {
            if let Some(known) = self.sources.get(source.0 as usize) {
                let (start, end) = (span.start.to_string(), span.end.to_string());
                lines.push_str(&[known.document.locator.as_str(), &start, &end].join("\t"));
                lines.push('\n');
            }
        }
        lines.into_bytes()
    }
}
