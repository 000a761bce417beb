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

#[cfg(test)]
mod tests {
    use helix_aggregates::agent::evidence::item::EvidenceItem;
    use helix_aggregates::time::Timestamp;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn admitted() -> AdmittedItem {
        AdmittedItem {
            turn_seq: 2,
            at: Timestamp::from_millis(0),
            item: EvidenceItem {
                item_ref: "evidence:1".to_owned(),
                kind: "research_library_artifact".to_owned(),
                scope: "research_library".to_owned(),
                title: Sealed::Open("Ferries".to_owned()),
                locator: Sealed::Open("ferries.md".to_owned()),
                snapshot_sha256: "11".repeat(32),
                span: Span { start: 3, end: 9 },
                quote: Sealed::Open("to Vik".to_owned()),
                receipt_ref: "receipt:1".to_owned(),
            },
        }
    }

    fn shown(admitted: &AdmittedItem) -> serde_json::Value {
        let run_id = RunId::new(Uuid::from_u128(42));
        serde_json::to_value(EvidenceItemView::of(run_id, admitted)).unwrap()
    }

    #[test]
    fn an_item_shows_every_key_of_the_contract() {
        assert_eq!(
            shown(&admitted()),
            json!({
                "schema": "helix.agent_run.evidence_item.v1",
                "run_id": "run_00000000-0000-0000-0000-00000000002a",
                "ref": "evidence:1",
                "kind": "research_library_artifact",
                "source": {
                    "scope": "research_library",
                    "title": "Ferries",
                    "locator": "ferries.md",
                    "snapshot_sha256": "11".repeat(32),
                },
                "span": { "start": 3, "end": 9 },
                "quote": "to Vik",
                "quote_sha256": "f77ebae57fb232961cad19599aca78529839b7fbc9b5f8bdf03006511327fcb6",
                "receipt_ref": "receipt:1",
                "turn_seq": 2,
                "answer_authority": false,
                "assistant_answer": false,
                "terminal_eligible": false,
                "raw_content_included": false,
            })
        );
    }

    #[test]
    fn an_erased_item_keeps_its_place_and_shows_no_text() {
        let mut erased = admitted();
        let closed = || Sealed::Closed("c2VhbGVk".to_owned());
        erased.item.title = closed();
        erased.item.locator = closed();
        erased.item.quote = closed();
        let shown = shown(&erased);
        for text in [
            &shown["quote"],
            &shown["quote_sha256"],
            &shown["source"]["title"],
            &shown["source"]["locator"],
        ] {
            assert_eq!(text, "[erased]");
        }
        assert_eq!(shown["span"], json!({ "start": 3, "end": 9 }));
    }
}
