//! What a run's turns read and may cite.
//!
//! Its stream lies beside the run's: receipts and spans can be many and large, and a client that
//! polls a run's events must not page through them. What must stay true: a reference names one
//! thing for ever, and every item names the receipt of the read that produced it.

pub mod command;
pub mod error;
pub mod event;
pub mod item;

mod decide;
pub use decide::TURN_LIMIT;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decider::Decider;
use crate::time::{Stamp, Timestamp};

use command::EvidenceCommand;
use error::EvidenceError;
use event::EvidenceEvent;
use item::{EvidenceItem, ToolReceipt};

/// Everything one run has gathered. It has one phase: a run without evidence is an empty one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    items: BTreeMap<String, AdmittedItem>,
    receipts: BTreeMap<String, RecordedReceipt>,
}

/// An item with the turn that admitted it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdmittedItem {
    /// 1 for the run's first turn.
    pub turn_seq: u32,
    pub at: Timestamp,
    pub item: EvidenceItem,
}

/// A receipt with the turn that made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedReceipt {
    pub turn_seq: u32,
    pub at: Timestamp,
    pub receipt: ToolReceipt,
}

impl Decider for Evidence {
    const KIND: &'static str = "run_evidence";
    type Command = EvidenceCommand;
    type Event = EvidenceEvent;
    type Error = EvidenceError;

    fn decide(
        &self,
        command: &EvidenceCommand,
        stamp: Stamp,
    ) -> Result<Vec<EvidenceEvent>, EvidenceError> {
        match command {
            EvidenceCommand::Record(turn) => decide::record(self, turn, stamp),
        }
    }

    fn evolve(&mut self, event: &EvidenceEvent) {
        match event {
            EvidenceEvent::ToolReceiptRecorded(recorded) => {
                let kept = RecordedReceipt {
                    turn_seq: recorded.turn_seq,
                    at: recorded.at,
                    receipt: recorded.receipt.clone(),
                };
                self.receipts.insert(kept.receipt.receipt_ref.clone(), kept);
            }
            EvidenceEvent::EvidenceAdmitted(admitted) => {
                let kept = AdmittedItem {
                    turn_seq: admitted.turn_seq,
                    at: admitted.at,
                    item: admitted.item.clone(),
                };
                self.items.insert(kept.item.item_ref.clone(), kept);
            }
        }
    }
}

impl Evidence {
    pub fn item(&self, item_ref: &str) -> Option<&AdmittedItem> {
        self.items.get(item_ref)
    }

    pub fn receipt(&self, receipt_ref: &str) -> Option<&RecordedReceipt> {
        self.receipts.get(receipt_ref)
    }

    /// In the order of their references.
    pub fn items(&self) -> impl Iterator<Item = &AdmittedItem> {
        self.items.values()
    }

    /// In the order of their references.
    pub fn receipts(&self) -> impl Iterator<Item = &RecordedReceipt> {
        self.receipts.values()
    }
}
