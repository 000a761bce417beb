//! Those who race: our store, postgres-es, and a bare INSERT as the limit of the disk.
//!
//! Ours does its full work in every append: decide, seal, canonical JSON, chain, idempotency receipt
//! with a sealed answer, inline row. The peers store the event and nothing else.

mod ours;
mod peers;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use cqrs_es::CqrsFramework;
use helix_aggregates::sourced::{Sourced, Stamped};

use super::BenchError;
use super::ground::Ground;
use super::slice::{Slice, drive};
use super::tally::{Tally, Tick};
use crate::store::log::{Meta, Stream};

pub use ours::Writer;
use ours::{Appends, Executes};
use peers::{PeerExecutes, PeerPersists, RawInserts};
pub use turns::RAW_TABLES;
use turns::{HttpTurns, McpTurns, RawTurns, RestTurns};

/// Commands a stream gets before its writer takes a fresh one.
const PER_STREAM: u32 = 10;
/// What each event says: as long as a short objective.
const NOTE: &str = "Compare the timetable of the ferry with the notice on the quay and say which of the two \
    is out of date, with the line that shows it.";

/// Who can be given a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Append,
    Execute,
    PeerPersist,
    PeerExecute,
    RawInsert,
    HttpTurn,
    RawTurn,
    RestTurn,
    McpTurn,
}

impl Contender {
    pub fn label(self) -> &'static str {
        match self {
            Self::Append => "helix append",
            Self::Execute => "helix execute",
            Self::PeerPersist => "postgres-es persist",
            Self::PeerExecute => "cqrs-es on postgres-es execute",
            Self::RawInsert => "raw INSERT commit",
            Self::HttpTurn => "helix run over HTTP",
            Self::RawTurn => "raw SQL of a run",
            Self::RestTurn => "start and continue over REST",
            Self::McpTurn => "start and continue by MCP tool",
        }
    }

    /// Lets `hands` hands of this contender work for `span`.
    pub async fn slice(
        self,
        ground: &Arc<Ground>,
        hands: usize,
        span: Duration,
    ) -> Result<Slice, BenchError> {
        match self {
            Self::Append => drive(&Arc::new(Appends(Arc::clone(ground))), hands, span).await,
            Self::Execute => drive(&Arc::new(Executes(Arc::clone(ground))), hands, span).await,
            Self::PeerPersist => drive(&Arc::new(PeerPersists::new(ground)), hands, span).await,
            Self::PeerExecute => drive(&Arc::new(PeerExecutes::new(ground)), hands, span).await,
            Self::RawInsert => drive(&Arc::new(RawInserts(ground.raw.clone())), hands, span).await,
            Self::HttpTurn => {
                let service = ground.service().await?;
                drive(&Arc::new(HttpTurns(service)), hands, span).await
            }
            Self::RestTurn => {
                let service = ground.service().await?;
                drive(&Arc::new(RestTurns(service)), hands, span).await
            }
            Self::McpTurn => {
                let service = ground.service().await?;
                drive(&Arc::new(McpTurns(service)), hands, span).await
            }
            Self::RawTurn => drive(&Arc::new(RawTurns::new(ground)), hands, span).await,
        }
    }
}

/// One tick of the tally.
pub fn tick(times: u32) -> Tick {
    Tick {
        times,
        note: NOTE.to_owned(),
    }
}

/// What is recorded beside each event: who caused it.
pub fn meta() -> Meta {
    let caller = "0197e4c2-7b1a-7f00-8000-00000000c0de";
    Meta::from([("row".to_owned(), caller.to_owned())])
}

/// A stream as cqrs-es knows it, on whichever store.
pub struct CqrsHand<S: cqrs_es::EventStore<Sourced<Tally>>> {
    framework: CqrsFramework<Sourced<Tally>, S>,
    stream: Stream,
    used: u32,
}

impl<S: cqrs_es::EventStore<Sourced<Tally>>> CqrsHand<S> {
    fn new(store: S, stream: Stream) -> Self {
        Self {
            framework: CqrsFramework::new(store, Vec::new(), ()),
            stream,
            used: 0,
        }
    }

    async fn execute(&mut self, ground: &Ground) -> Result<(), BenchError> {
        if self.used == PER_STREAM {
            self.used = 0;
            self.stream.id = ground.core.ids.stream(self.stream.lane);
        }
        self.used += 1;
        let command = Stamped {
            command: tick(1),
            stamp: ground.core.clock.stamp(),
        };
        let id = self.stream.id.to_string();
        self.framework
            .execute_with_metadata(&id, command, meta().into_iter().collect())
            .await
            .map_err(BenchError::peer)
    }
}
