//! What may be asked of a run's evidence.

use super::item::{EvidenceItem, ToolReceipt};
use crate::ids::OperationId;

#[derive(Debug, Clone)]
pub enum EvidenceCommand {
    /// Records what one turn read.
    Record(TurnEvidence),
}

/// What the tool host hands over with a turn's result.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEvidence {
    /// 1 for the run's first turn.
    pub turn_seq: u32,
    pub operation: OperationId,
    /// At most [`super::TURN_LIMIT`].
    pub receipts: Vec<ToolReceipt>,
    /// At most [`super::TURN_LIMIT`].
    pub items: Vec<EvidenceItem>,
}
