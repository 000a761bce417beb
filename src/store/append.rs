//! What one command asks the log to hold, all of it or nothing.

use helix_aggregates::chain::Hash;
use uuid::Uuid;

use super::ledger::LedgerChange;
use super::owner::{Lane, OwnerKey};
use super::receipt::ReceiptWrite;

/// An event whose bytes are final: sealed, canonical, linked.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub at: String,
    pub kind: &'static str,
    pub ver: u16,
    pub key_id: Option<Uuid>,
    pub payload: Vec<u8>,
    pub meta: Vec<u8>,
    pub hash: Hash,
}

/// The inline summary that reads are answered from, moved by the same flush as the events.
#[derive(Debug, Clone, Default)]
pub struct InlineRow {
    pub status: String,
    /// When a background worker has to look at the stream next, in database milliseconds.
    pub due_ms: Option<i64>,
    pub key_id: Option<Uuid>,
    pub body: Option<Vec<u8>>,
}

/// One stream's share of an append: at least one event, after a known head.
#[derive(Debug, Clone)]
pub struct StreamAppend {
    pub stream: Uuid,
    pub kind: &'static str,
    pub owner: OwnerKey,
    pub was: u64,
    pub prev: Hash,
    pub at_ms: i64,
    pub events: Vec<NewEvent>,
    pub row: InlineRow,
}

impl StreamAppend {
    pub fn version(&self) -> u64 {
        self.was + self.events.len() as u64
    }

    pub fn head(&self) -> Hash {
        self.events.last().map_or(self.prev, |event| event.hash)
    }
}

/// Which queue an append waits in. Withdrawals overtake everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    #[default]
    Ordinary,
    /// Revoke, cancel, delete and leave.
    Withdrawal,
}

/// Everything one command changes, in one transaction on one lane.
#[derive(Debug, Clone)]
pub struct Append {
    pub lane: Lane,
    pub streams: Vec<StreamAppend>,
    pub receipt: Option<ReceiptWrite>,
    /// Ledger rows this command depends on: a dead one refuses this command alone.
    pub guards: Vec<Uuid>,
    pub ledger: Vec<LedgerChange>,
    pub priority: Priority,
}

impl Append {
    pub fn of(lane: Lane, streams: Vec<StreamAppend>) -> Self {
        Self {
            lane,
            streams,
            receipt: None,
            guards: Vec::new(),
            ledger: Vec::new(),
            priority: Priority::Ordinary,
        }
    }

    /// Bytes that count towards the size of a flush.
    pub fn weight(&self) -> usize {
        let events = self.streams.iter().flat_map(|stream| &stream.events);
        let events: usize = events
            .map(|event| event.payload.len() + event.meta.len())
            .sum();
        let rows = self
            .streams
            .iter()
            .filter_map(|stream| stream.row.body.as_ref());
        let rows: usize = rows.map(Vec::len).sum();
        events + rows + self.receipt.as_ref().map_or(0, ReceiptWrite::weight)
    }
}
