//! What ours is held against. Each peer has as many connections as it can use.

use std::sync::Arc;

use cqrs_es::persist::{PersistedEventRepository, PersistedEventStore, SerializedEvent};
use helix_aggregates::decider::{Decider, WireEvent};
use helix_aggregates::sourced::Sourced;
use postgres_es::PostgresEventRepository;
use sqlx::PgPool;
use uuid::Uuid;

use super::super::BenchError;
use super::super::ground::Ground;
use super::super::slice::Work;
use super::super::tally::Tally;
use super::{CqrsHand, NOTE, PER_STREAM, meta, tick};
use crate::ids::Ids;

/// The cqrs-es framework on postgres-es, same aggregate, same commands.
pub struct PeerExecutes(Arc<Ground>);

impl PeerExecutes {
    pub fn new(ground: &Arc<Ground>) -> Self {
        Self(Arc::clone(ground))
    }
}

impl Work for PeerExecutes {
    type Hand = CqrsHand<PersistedEventStore<PostgresEventRepository, Sourced<Tally>>>;

    fn hand(&self, number: usize) -> Self::Hand {
        let repository = PostgresEventRepository::new(self.0.peer.clone());
        let store = PersistedEventStore::new_event_store(repository);
        CqrsHand::new(store, self.0.stream(number))
    }

    async fn once(&self, hand: &mut Self::Hand) -> Result<(), BenchError> {
        hand.execute(&self.0).await
    }
}

/// postgres-es's repository alone: no load, no command, one event.
pub struct PeerPersists {
    repository: PostgresEventRepository,
    ids: Ids,
}

impl PeerPersists {
    pub fn new(ground: &Arc<Ground>) -> Self {
        Self {
            repository: PostgresEventRepository::new(ground.peer.clone()),
            ids: ground.core.ids,
        }
    }
}

impl Work for PeerPersists {
    type Hand = (Uuid, u32);

    fn hand(&self, _number: usize) -> Self::Hand {
        (self.ids.uuid(), 0)
    }

    async fn once(&self, (stream, used): &mut Self::Hand) -> Result<(), BenchError> {
        if *used == PER_STREAM {
            (*stream, *used) = (self.ids.uuid(), 0);
        }
        *used += 1;
        let state = Tally {
            count: u64::from(*used - 1),
        };
        let stamp = helix_aggregates::time::Stamp {
            at: helix_aggregates::time::Timestamp::default(),
        };
        let mut events = Vec::new();
        for event in state.decide(&tick(1), stamp).map_err(BenchError::peer)? {
            events.push(SerializedEvent::new(
                stream.to_string(),
                usize::try_from(*used).map_err(BenchError::peer)?,
                Tally::KIND.to_owned(),
                event.name().to_owned(),
                event.version().to_string(),
                serde_json::to_value(&event).map_err(BenchError::peer)?,
                serde_json::to_value(meta()).map_err(BenchError::peer)?,
            ));
        }
        self.repository
            .persist::<Sourced<Tally>>(&events, None)
            .await
            .map_err(BenchError::peer)
    }
}

/// The least that a durable write can be: one row, one statement, one commit.
pub struct RawInserts(pub PgPool);

impl Work for RawInserts {
    type Hand = ();

    fn hand(&self, _number: usize) {}

    async fn once(&self, (): &mut ()) -> Result<(), BenchError> {
        sqlx::query("insert into raw_row (payload) values ($1)")
            .bind(NOTE.as_bytes())
            .execute(&self.0)
            .await?;
        Ok(())
    }
}
