//! One aggregate's streams: load them, judge commands, build the append that records the outcome.

mod decode;

use std::collections::BTreeMap;
use std::sync::Arc;

use helix_aggregates::canonical;
use helix_aggregates::chain::{Hash, Link};
use helix_aggregates::decider::{Decider, WireEvent};
use helix_aggregates::time::{Stamp, Timestamp};
use helix_projections::inline::Inline;
use quick_cache::sync::Cache;
use serde_json::Value;
use sqlx::PgPool;
use uuid::Uuid;

use super::append::{Append, InlineRow, NewEvent, StreamAppend};
use super::owner::{Lane, OwnerKey};
use super::read::{self, PAGE, StoredEvent, StreamHead};
use super::sealing::{self, DataKey};
use super::{Core, StoreError};

pub use decode::decode;

/// Aggregates kept folded in memory. A stale one is harmless: the append compares heads.
const CACHED: usize = 2_000;
/// How often a command is judged again after another writer moved the stream.
const ATTEMPTS: usize = 3;

/// A stream and the key its texts are sealed under.
#[derive(Debug, Clone)]
pub struct Stream {
    pub id: Uuid,
    pub lane: Lane,
    pub owner: OwnerKey,
    pub key: Arc<DataKey>,
}

/// A folded stream.
#[derive(Debug, Clone)]
pub struct Loaded<D> {
    pub version: u64,
    pub head: Hash,
    pub at: Timestamp,
    pub state: D,
}

impl<D: Decider> Default for Loaded<D> {
    fn default() -> Self {
        Self {
            version: 0,
            head: Hash::ZERO,
            at: Timestamp::default(),
            state: D::default(),
        }
    }
}

/// Events judged and made ready for the log, and the state after them.
#[derive(Debug, Clone)]
pub struct Prepared<D: Decider> {
    pub append: StreamAppend,
    pub events: Vec<D::Event>,
    pub next: Loaded<D>,
}

/// Why a command had no effect.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError<E> {
    #[error(transparent)]
    Refused(E),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is recorded beside each event: who caused it, by ledger row.
pub type Meta = BTreeMap<String, String>;

#[derive(Debug)]
pub struct Log<D: Decider> {
    core: Arc<Core>,
    cache: Cache<Uuid, Arc<Loaded<D>>>,
}

impl<D: Inline> Log<D> {
    pub fn new(core: Arc<Core>) -> Self {
        Self {
            core,
            cache: Cache::new(CACHED),
        }
    }

    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The state at exactly `head`, from memory when it is there.
    pub async fn at(
        &self,
        stream: &Stream,
        head: &StreamHead,
    ) -> Result<Arc<Loaded<D>>, StoreError> {
        if let Some(loaded) = self.cache.get(&stream.id)
            && loaded.version <= head.version
        {
            if (loaded.version, loaded.head) == (head.version, head.head) {
                return Ok(loaded);
            }
            return self.catch_up(stream, &loaded).await;
        }
        self.load(stream).await
    }

    /// The state in memory, whether it is the newest or not.
    pub fn known(&self, stream: &Stream) -> Option<Arc<Loaded<D>>> {
        self.cache.get(&stream.id)
    }

    /// The state at `version`, for aggregates whose last event alone says it, and keeps it in memory.
    pub async fn tail(&self, stream: &Stream, version: u64) -> Result<Arc<Loaded<D>>, StoreError> {
        let after = version.saturating_sub(2);
        let events = read::events(&self.core.pool, stream.lane, stream.id, after, 2).await?;
        let mut loaded = Loaded::default();
        let [before @ .., last] = events.as_slice() else {
            return Err(StoreError::Damaged(format!(
                "stream {} ends early",
                stream.id
            )));
        };
        if let Some(before) = before.last() {
            (loaded.version, loaded.head) = (before.seq, before.hash);
        }
        step(&mut loaded, stream.id, Some(&stream.key), last)?;
        let loaded = Arc::new(loaded);
        self.cache.insert(stream.id, Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Folds the stream and keeps it in memory.
    pub async fn load(&self, stream: &Stream) -> Result<Arc<Loaded<D>>, StoreError> {
        let loaded = Arc::new(self.fold(stream).await?);
        self.cache.insert(stream.id, Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Folds the stream from its first event, checking every link.
    pub async fn fold(&self, stream: &Stream) -> Result<Loaded<D>, StoreError> {
        self.fold_on(stream, Loaded::default()).await
    }

    /// Folds what was appended after `known`, and keeps it in memory. Every link is checked from
    /// `known` on, so a state that is not of this log's past is found out and folded anew.
    async fn catch_up(
        &self,
        stream: &Stream,
        known: &Loaded<D>,
    ) -> Result<Arc<Loaded<D>>, StoreError> {
        match self.fold_on(stream, known.clone()).await {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                self.cache.insert(stream.id, Arc::clone(&loaded));
                Ok(loaded)
            }
            Err(StoreError::Damaged(_)) => self.load(stream).await,
            Err(error) => Err(error),
        }
    }

    async fn fold_on(
        &self,
        stream: &Stream,
        mut loaded: Loaded<D>,
    ) -> Result<Loaded<D>, StoreError> {
        let after = loaded.version;
        let mut page = page(self.core.pool.clone(), stream.lane, stream.id, after).await?;
        loop {
            let full = page.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX);
            // The next page is on its way while this one is folded.
            let ahead = page.last().filter(|_| full).map(|last| {
                let pool = self.core.pool.clone();
                tokio::spawn(self::page(pool, stream.lane, stream.id, last.seq))
            });
            for stored in &page {
                step(&mut loaded, stream.id, Some(&stream.key), stored)?;
            }
            match ahead {
                Some(ahead) => page = ahead.await.map_err(|_| StoreError::TimedOut)??,
                None => return Ok(loaded),
            }
        }
    }

    pub(super) async fn remembered(
        &self,
        stream: &Stream,
    ) -> Result<(Arc<Loaded<D>>, bool), StoreError> {
        match self.cache.get(&stream.id) {
            Some(loaded) => Ok((loaded, false)),
            None => self.load(stream).await.map(|loaded| (loaded, true)),
        }
    }

    /// Judges `command` on `loaded` and builds the append that records the outcome.
    pub fn prepare(
        &self,
        stream: &Stream,
        loaded: &Loaded<D>,
        command: &D::Command,
        stamp: Stamp,
        meta: &Meta,
    ) -> Result<Prepared<D>, ExecuteError<D::Error>> {
        self.prepare_all(stream, loaded, std::slice::from_ref(command), stamp, meta)
    }

    /// Judges several commands, each on the state after the one before, as one append.
    pub fn prepare_all(
        &self,
        stream: &Stream,
        loaded: &Loaded<D>,
        commands: &[D::Command],
        stamp: Stamp,
        meta: &Meta,
    ) -> Result<Prepared<D>, ExecuteError<D::Error>> {
        // Time never runs backwards within a stream.
        let stamp = Stamp {
            at: stamp.at.max(loaded.at),
        };
        let events = match commands {
            [command] => loaded.state.decide(command, stamp),
            _ => decide_all(loaded.state.clone(), commands, stamp),
        };
        let events = events.map_err(ExecuteError::Refused)?;
        Ok(record(stream, loaded, events, stamp.at, meta)?)
    }

    /// Drops the state in memory, so that the next load reads the log.
    pub fn forget(&self, stream: &Stream) {
        self.cache.remove(&stream.id);
    }

    /// Keeps the state after a committed append.
    pub fn remember(&self, stream: &Stream, next: Loaded<D>) {
        self.cache.insert(stream.id, Arc::new(next));
    }

    /// Load → decide → append, judged again on fresh state when another writer was faster.
    pub async fn execute(
        &self,
        stream: &Stream,
        command: &D::Command,
        stamp: Stamp,
        meta: &Meta,
    ) -> Result<Prepared<D>, ExecuteError<D::Error>> {
        self.execute_with(stream, command, stamp, meta, |append| append)
            .await
    }

    /// As [`Self::execute`]; `complete` adds what shall share the transaction.
    pub async fn execute_with(
        &self,
        stream: &Stream,
        command: &D::Command,
        stamp: Stamp,
        meta: &Meta,
        complete: impl Fn(Append) -> Append + Send,
    ) -> Result<Prepared<D>, ExecuteError<D::Error>> {
        let commands = std::slice::from_ref(command);
        self.execute_all(stream, commands, stamp, meta, move |_, append| {
            complete(append)
        })
        .await
    }

    /// As [`Self::execute_with`], for commands that belong together: all of them or none. `complete`
    /// sees what happened.
    pub async fn execute_all(
        &self,
        stream: &Stream,
        commands: &[D::Command],
        stamp: Stamp,
        meta: &Meta,
        complete: impl Fn(&[D::Event], Append) -> Append + Send,
    ) -> Result<Prepared<D>, ExecuteError<D::Error>> {
        let (mut loaded, mut fresh) = self.remembered(stream).await?;
        let mut attempt = 1;
        loop {
            let prepared = match self.prepare_all(stream, &loaded, commands, stamp, meta) {
                Ok(prepared) => prepared,
                // A refusal must not rest on a state that another process may have moved.
                Err(ExecuteError::Refused(_)) if !fresh => {
                    (loaded, fresh) = (self.catch_up(stream, &loaded).await?, true);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if prepared.events.is_empty() {
                return Ok(prepared);
            }
            let append = Append::of(stream.lane, vec![prepared.append.clone()]);
            let append = complete(&prepared.events, append);
            match self.core.append(append).await {
                Ok(()) => {
                    self.remember(stream, prepared.next.clone());
                    return Ok(prepared);
                }
                Err(StoreError::HeadMoved) if attempt < ATTEMPTS => {
                    attempt += 1;
                    (loaded, fresh) = (self.catch_up(stream, &loaded).await?, true);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn decide_all<D: Decider>(
    mut state: D,
    commands: &[D::Command],
    stamp: Stamp,
) -> Result<Vec<D::Event>, D::Error> {
    let mut all = Vec::new();
    for command in commands {
        let events = state.decide(command, stamp)?;
        for event in &events {
            state.evolve(event);
        }
        all.extend(events);
    }
    Ok(all)
}

async fn page(
    pool: PgPool,
    lane: Lane,
    stream: Uuid,
    after: u64,
) -> Result<Vec<StoredEvent>, StoreError> {
    read::events(&pool, lane, stream, after, PAGE).await
}

/// Seals, spells and links events, and folds the state after them.
pub fn record<D: Inline>(
    stream: &Stream,
    loaded: &Loaded<D>,
    events: Vec<D::Event>,
    at: Timestamp,
    meta: &Meta,
) -> Result<Prepared<D>, StoreError> {
    let meta = if meta.is_empty() {
        b"{}".to_vec()
    } else {
        canonical::of(meta).map_err(|error| damaged(&error))?
    };
    let at_text = at.to_string();
    let mut next = loaded.clone();
    let mut stored = Vec::with_capacity(events.len());
    for event in &events {
        let seq = next.version + 1;
        let mut payload = untagged(event)?;
        sealing::seal_marks(&mut payload, &stream.key, stream.id, seq)?;
        let payload = canonical::to_vec(&payload);
        let (kind, ver) = (event.name(), event.version());
        let link = Link {
            stream: stream.id,
            seq,
            kind,
            ver,
            at: &at_text,
            payload: &payload,
            meta: &meta,
        };
        let hash = link.after(&next.head);
        stored.push(NewEvent {
            at: at_text.clone(),
            kind,
            ver,
            key_id: Some(stream.key.id()),
            payload,
            meta: meta.clone(),
            hash,
        });
        next.state.evolve(event);
        (next.version, next.head, next.at) = (seq, hash, at);
    }
    let append = StreamAppend {
        stream: stream.id,
        kind: D::KIND,
        owner: stream.owner,
        was: loaded.version,
        prev: loaded.head,
        at_ms: at.millis(),
        events: stored,
        row: row(stream, &next)?,
    };
    Ok(Prepared {
        append,
        events,
        next,
    })
}

/// The sealed inline row of a folded stream.
pub fn row<D: Inline>(stream: &Stream, loaded: &Loaded<D>) -> Result<InlineRow, StoreError> {
    let summary = loaded.state.summary(stream.id);
    let body = summary
        .body
        .map(|body| {
            stream
                .key
                .seal(&row_place(stream.id, loaded.version), &body)
        })
        .transpose()?;
    Ok(InlineRow {
        status: summary.status,
        due_ms: summary.due.map(Timestamp::millis),
        key_id: Some(stream.key.id()),
        body,
    })
}

/// Opens an inline row; `None` when the row has no body or its key was dropped.
pub fn open_row(
    key: Option<&DataKey>,
    stream: Uuid,
    head: &StreamHead,
) -> Result<Option<Vec<u8>>, StoreError> {
    match (key, &head.body) {
        (Some(key), Some(body)) => key.open(&row_place(stream, head.version), body).map(Some),
        _ => Ok(None),
    }
}

fn row_place(stream: Uuid, version: u64) -> String {
    format!("{stream}/row/{version}")
}

/// Folds one stored event after checking that it is the next link.
pub fn step<D: Decider>(
    loaded: &mut Loaded<D>,
    stream: Uuid,
    key: Option<&DataKey>,
    stored: &StoredEvent,
) -> Result<D::Event, StoreError> {
    let link = Link {
        stream,
        seq: stored.seq,
        kind: &stored.kind,
        ver: stored.ver,
        at: &stored.at,
        payload: &stored.payload,
        meta: &stored.meta,
    };
    if stored.seq != loaded.version + 1 || link.after(&loaded.head) != stored.hash {
        return Err(StoreError::Damaged(format!(
            "stream {stream} breaks at event {}",
            stored.seq
        )));
    }
    let event = decode::<D::Event>(stream, key, stored)?;
    loaded.state.evolve(&event);
    loaded.version = stored.seq;
    loaded.head = stored.hash;
    loaded.at = Timestamp::parse(&stored.at).ok_or_else(|| {
        StoreError::Damaged(format!("event {} of {stream} has no time", stored.seq))
    })?;
    Ok(event)
}

/// The payload without its wire name, which is stored beside it.
fn untagged<E: WireEvent>(event: &E) -> Result<Value, StoreError> {
    let value = serde_json::to_value(event).map_err(|error| damaged(&error))?;
    let Value::Object(tagged) = value else {
        return Err(untagged_fault(event));
    };
    match tagged.into_iter().next() {
        Some((name, payload)) if name == event.name() => Ok(payload),
        _ => Err(untagged_fault(event)),
    }
}

fn untagged_fault<E: WireEvent>(event: &E) -> StoreError {
    StoreError::Damaged(format!(
        "event {} is not tagged with its name",
        event.name()
    ))
}

fn damaged(error: &serde_json::Error) -> StoreError {
    // serde_json quotes the offending value in some messages; its category says enough.
    StoreError::Damaged(format!("stored JSON does not fit ({:?})", error.classify()))
}
