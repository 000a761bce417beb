//! One evidence reference, read back: `helix.agent_run.evidence_item.v1`.

use helix_aggregates::agent::evidence::AdmittedItem;
use helix_aggregates::agent::evidence::item::Span;
use helix_aggregates::ids::RunId;
use helix_aggregates::sealed::Sealed;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::agent::{ERASED, Flags};

/// Where a quotation stands, and the proof that it stands there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceItemView {
    pub schema: &'static str,
    pub run_id: RunId,
    #[serde(rename = "ref")]
    pub item_ref: String,
    pub kind: String,
    pub source: SourceView,
    pub span: Span,
    /// At most 2,000 characters.
    pub quote: String,
    pub quote_sha256: String,
    pub receipt_ref: String,
    pub turn_seq: u32,
    #[serde(flatten)]
    pub flags: Flags,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceView {
    pub scope: String,
    pub title: String,
    pub locator: String,
    pub snapshot_sha256: String,
}

impl EvidenceItemView {
    pub fn of(run_id: RunId, admitted: &AdmittedItem) -> Self {
        let item = &admitted.item;
        Self {
            schema: "helix.agent_run.evidence_item.v1",
            run_id,
            item_ref: item.item_ref.clone(),
            kind: item.kind.clone(),
            source: SourceView {
                scope: item.scope.clone(),
                title: text(&item.title),
                locator: text(&item.locator),
                snapshot_sha256: item.snapshot_sha256.clone(),
            },
            span: item.span,
            quote: text(&item.quote),
            quote_sha256: item.quote.open().map_or_else(
                || ERASED.to_owned(),
                |quote| hex::encode(Sha256::digest(quote)),
            ),
            receipt_ref: item.receipt_ref.clone(),
            turn_seq: admitted.turn_seq,
            flags: Flags::default(),
        }
    }
}

fn text(sealed: &Sealed<String>) -> String {
    sealed.open().map_or(ERASED, String::as_str).to_owned()
}
