//! Our store, through its appender and through the cqrs-es seam.

use std::sync::Arc;

use super::super::BenchError;
use super::super::ground::Ground;
use super::super::slice::Work;
use super::super::tally::Tally;
use super::{CqrsHand, NOTE, PER_STREAM, meta, tick};
use crate::ids::Ids;
use crate::store::append::Append;
use crate::store::event_store::OwnerStore;
use crate::store::log::{Loaded, Stream};
use crate::store::receipt::{ReceiptKey, ReceiptOutcome, ReceiptWrite};

/// `Core::append` with everything a keyed command brings along.
pub struct Appends(pub Arc<Ground>);

/// A writer in the middle of a stream.
pub struct Writer {
    number: usize,
    used: u32,
    pub stream: Stream,
    pub loaded: Loaded<Tally>,
}

impl Writer {
    pub fn new(ground: &Ground, number: usize) -> Self {
        Self {
            number,
            used: 0,
            stream: ground.stream(number),
            loaded: Loaded::default(),
        }
    }

    /// Takes a fresh stream; what became of the old one no longer matters.
    pub fn renew(&mut self, ground: &Ground) {
        *self = Self::new(ground, self.number);
    }

    /// One command with its receipt, committed. On success `loaded` is the state after it.
    pub async fn append(&mut self, ground: &Ground) -> Result<(), BenchError> {
        if self.used == PER_STREAM {
            self.renew(ground);
        }
        self.used += 1;
        let stamp = ground.core.clock.stamp();
        let prepared = ground
            .log
            .prepare(&self.stream, &self.loaded, &tick(1), stamp, &meta())
            .map_err(BenchError::command)?;
        let append = Append {
            receipt: Some(receipt(&self.stream, ground.core.ids)?),
            ..Append::of(self.stream.lane, vec![prepared.append])
        };
        ground.core.append(append).await?;
        self.loaded = prepared.next;
        Ok(())
    }
}

fn receipt(stream: &Stream, ids: Ids) -> Result<ReceiptWrite, BenchError> {
    let mut key_hash = [0; 32];
    key_hash[..16].copy_from_slice(ids.uuid().as_bytes());
    Ok(ReceiptWrite {
        key: ReceiptKey {
            owner: stream.owner,
            operation: "start".to_owned(),
            key_hash,
        },
        request_mac: [1; 32],
        subject: stream.id.to_string(),
        outcome: ReceiptOutcome::Completed {
            claim: None,
            status: 201,
            key_id: stream.key.id(),
            body: stream.key.seal("receipt", NOTE.as_bytes())?,
        },
    })
}

impl Work for Appends {
    type Hand = Writer;

    fn hand(&self, number: usize) -> Writer {
        Writer::new(&self.0, number)
    }

    async fn once(&self, hand: &mut Writer) -> Result<(), BenchError> {
        hand.append(&self.0).await
    }
}

/// The cqrs-es framework on our `EventStore`.
pub struct Executes(pub Arc<Ground>);

impl Work for Executes {
    type Hand = CqrsHand<OwnerStore<Tally>>;

    fn hand(&self, number: usize) -> Self::Hand {
        let stream = self.0.stream(number);
        let log = Arc::clone(&self.0.log);
        let store = OwnerStore::new(log, stream.owner, stream.lane, Arc::clone(&stream.key));
        CqrsHand::new(store, stream)
    }

    async fn once(&self, hand: &mut Self::Hand) -> Result<(), BenchError> {
        hand.execute(&self.0).await
    }
}
