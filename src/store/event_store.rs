//! The public seam: cqrs-es's `EventStore`, served by our log (ADR 0001).
//!
//! Any cqrs-es framework runs on it unchanged. The context carries what cqrs-es does not know:
//! version, head hash and the stream's key.

use std::collections::HashMap;
use std::sync::Arc;

use cqrs_es::{AggregateContext, AggregateError, EventEnvelope, EventStore};
use helix_aggregates::sourced::{Recorded, Sourced};
use helix_projections::inline::Inline;
use uuid::Uuid;

use super::append::Append;
use super::log::{Loaded, Log, Stream, record, step};
use super::owner::{Lane, OwnerKey};
use super::read::{self, PAGE};
use super::sealing::DataKey;
use super::{Core, StoreError};

/// The streams of one owner, as cqrs-es sees them. Aggregate ids are stream UUIDs.
#[derive(Debug, Clone)]
pub struct OwnerStore<D: Inline> {
    log: Arc<Log<D>>,
    owner: OwnerKey,
    lane: Lane,
    key: Arc<DataKey>,
}

/// A loaded aggregate and where its stream stands.
#[derive(Debug)]
pub struct Context<D: Inline> {
    aggregate: Sourced<D>,
    stream: Stream,
    before: Arc<Loaded<D>>,
}

impl<D: Inline> AggregateContext<Sourced<D>> for Context<D> {
    fn aggregate(&mut self) -> &mut Sourced<D> {
        &mut self.aggregate
    }
}

impl<D: Inline> OwnerStore<D> {
    pub fn new(log: Arc<Log<D>>, owner: OwnerKey, lane: Lane, key: Arc<DataKey>) -> Self {
        Self {
            log,
            owner,
            lane,
            key,
        }
    }

    fn stream(&self, aggregate_id: &str) -> Result<Stream, StoreError> {
        let id = Uuid::try_parse(aggregate_id)
            .map_err(|_| StoreError::Damaged("an aggregate id is a UUID".to_owned()))?;
        Ok(Stream {
            id,
            lane: self.lane,
            owner: self.owner,
            key: Arc::clone(&self.key),
        })
    }

    fn core(&self) -> &Arc<Core> {
        self.log.core()
    }
}

fn failed<E: std::error::Error>(error: StoreError) -> AggregateError<E> {
    match error {
        StoreError::HeadMoved => AggregateError::AggregateConflict,
        StoreError::Unavailable(_) | StoreError::TimedOut | StoreError::Overloaded => {
            AggregateError::DatabaseConnectionError(Box::new(error))
        }
        StoreError::ReceiptTaken
        | StoreError::Revoked
        | StoreError::Spent
        | StoreError::PassphraseChanged
        | StoreError::Full
        | StoreError::Duplicate(_)
        | StoreError::KeyRetired
        | StoreError::Damaged(_)
        | StoreError::KeyMissing(_) => AggregateError::UnexpectedError(Box::new(error)),
    }
}

impl<D: Inline> EventStore<Sourced<D>> for OwnerStore<D> {
    type AC = Context<D>;

    async fn load_events(
        &self,
        aggregate_id: &str,
    ) -> Result<Vec<EventEnvelope<Sourced<D>>>, AggregateError<D::Error>> {
        let stream = self.stream(aggregate_id).map_err(failed)?;
        let mut loaded = Loaded::<D>::default();
        let mut envelopes = Vec::new();
        loop {
            let page = read::events(
                &self.core().pool,
                stream.lane,
                stream.id,
                loaded.version,
                PAGE,
            )
            .await
            .map_err(failed)?;
            for stored in &page {
                let event =
                    step(&mut loaded, stream.id, Some(&stream.key), stored).map_err(failed)?;
                envelopes.push(EventEnvelope {
                    aggregate_id: aggregate_id.to_owned(),
                    sequence: usize::try_from(stored.seq).unwrap_or(usize::MAX),
                    payload: Recorded(event),
                    metadata: serde_json::from_slice(&stored.meta).unwrap_or_default(),
                });
            }
            if page.is_empty() {
                return Ok(envelopes);
            }
        }
    }

    async fn load_aggregate(
        &self,
        aggregate_id: &str,
    ) -> Result<Context<D>, AggregateError<D::Error>> {
        let stream = self.stream(aggregate_id).map_err(failed)?;
        let before = self.log.remembered(&stream).await.map_err(failed)?.0;
        Ok(Context {
            aggregate: Sourced(before.state.clone()),
            stream,
            before,
        })
    }

    async fn commit(
        &self,
        events: Vec<Recorded<D::Event>>,
        context: Context<D>,
        metadata: HashMap<String, String>,
    ) -> Result<Vec<EventEnvelope<Sourced<D>>>, AggregateError<D::Error>> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let Context { stream, before, .. } = context;
        let events = events.into_iter().map(|recorded| recorded.0).collect();
        let at = self.core().clock.now().max(before.at);
        let meta = metadata.clone().into_iter().collect();
        let prepared = record(&stream, &before, events, at, &meta).map_err(failed)?;
        let append = Append::of(stream.lane, vec![prepared.append]);
        if let Err(error) = self.core().append(append).await {
            self.log.forget(&stream);
            return Err(failed(error));
        }
        self.log.remember(&stream, prepared.next);
        let first = usize::try_from(before.version).unwrap_or(usize::MAX) + 1;
        let envelope = |(index, event)| EventEnvelope {
            aggregate_id: stream.id.to_string(),
            sequence: first + index,
            payload: Recorded(event),
            metadata: metadata.clone(),
        };
        Ok(prepared
            .events
            .into_iter()
            .enumerate()
            .map(envelope)
            .collect())
    }
}
