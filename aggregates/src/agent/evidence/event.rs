//! The events of a run's evidence, in the permanent shape they are stored in.
//!
//! References, counts, spans and hashes stay readable without a key; arguments, titles, locators
//! and quotations are sealed.

use serde::{Deserialize, Serialize};

use super::item::{EvidenceItem, ToolReceipt};
use crate::decider::WireEvent;
use crate::ids::OperationId;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum EvidenceEvent {
    #[serde(rename = "tool_receipt_recorded")]
    ToolReceiptRecorded(Box<ToolReceiptRecorded>),
    #[serde(rename = "evidence_admitted")]
    EvidenceAdmitted(Box<EvidenceAdmitted>),
}

impl WireEvent for EvidenceEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::ToolReceiptRecorded(_) => "tool_receipt_recorded",
            Self::EvidenceAdmitted(_) => "evidence_admitted",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolReceiptRecorded {
    pub at: Timestamp,
    pub turn_seq: u32,
    pub operation: OperationId,
    pub receipt: ToolReceipt,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceAdmitted {
    pub at: Timestamp,
    pub turn_seq: u32,
    pub operation: OperationId,
    pub item: EvidenceItem,
}
