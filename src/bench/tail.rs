//! Whether a reader that follows the lanes misses an event.
//!
//! The writers are as unkind as the rules allow: two processes share the lanes, commands are
//! refused and their flushes split, and transactions stay open for long before they commit or are
//! undone. The reader polls the lanes' positions and asks for nothing older than what it has.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection, Row};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::BenchError;
use super::contenders::{meta, tick};
use super::ground::{self, Ground};
use super::pace::Pace;
use super::tally::Tally;
use crate::store::append::Append;
use crate::store::flush::{self, Form};
use crate::store::log::{ExecuteError, Loaded, Log, Stream};
use crate::store::{Core, StoreError};

const POLL: Duration = Duration::from_millis(5);
/// Owners who write, over so many lanes; the first few of them slowly.
const WRITERS: usize = 16;
const SLOW_WRITERS: usize = 2;
const LANES: u8 = 4;
/// The longest that a slow transaction stays open.
const LONGEST_MS: u64 = 60;

/// An event by its place.
type Place = (Uuid, i64);

/// What the reader made of its writers.
#[derive(Debug, Clone, Copy)]
pub struct Tail {
    pub committed: usize,
    pub missed: usize,
}

/// Follows the writers for as long as `pace` says, then compares.
pub async fn run(ground: &Arc<Ground>, pace: &Pace) -> Result<Tail, BenchError> {
    let second = ground.second_process(LANES).await?;
    let owners = ground::owners(&second, WRITERS).await?;
    let mut reader = Reader::at_the_end(ground.connect().await?).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for (index, owner) in owners.iter().enumerate() {
        let (ground, stop) = (Arc::clone(ground), Arc::clone(&stop));
        if index < SLOW_WRITERS {
            writers.spawn(linger(ground, owner.clone(), stop));
        } else if index % 2 == 0 {
            writers.spawn(append(ground, owner.clone(), stop));
        } else {
            for core in [Arc::clone(&ground.core), Arc::clone(&second)] {
                writers.spawn(contend(core, owner.clone(), Arc::clone(&stop)));
            }
        }
    }
    let begun = Instant::now();
    while begun.elapsed() < pace.tail {
        reader.poll().await?;
        tokio::time::sleep(POLL).await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut committed = Vec::new();
    while let Some(done) = writers.join_next().await {
        committed.extend(done.map_err(|_| BenchError::Stopped)??);
        reader.poll().await?;
    }
    reader.poll().await?;
    if committed.is_empty() {
        return Err(BenchError::NothingDone);
    }
    let missed = committed
        .iter()
        .filter(|place| !reader.seen.contains(*place))
        .count();
    Ok(Tail {
        committed: committed.len(),
        missed,
    })
}

/// Follows every lane by its position alone.
struct Reader {
    conn: PgConnection,
    lanes: BTreeMap<i16, i64>,
    seen: HashSet<Place>,
}

impl Reader {
    async fn at_the_end(mut conn: PgConnection) -> Result<Self, BenchError> {
        let lanes = positions(&mut conn).await?;
        Ok(Self {
            conn,
            lanes,
            seen: HashSet::new(),
        })
    }

    async fn poll(&mut self) -> Result<(), BenchError> {
        for (lane, until) in positions(&mut self.conn).await? {
            let after = self.lanes.insert(lane, until).unwrap_or(0);
            if after == until {
                continue;
            }
            let rows = sqlx::query(
                "select stream_id, seq from es.event where lane = $1 and pos > $2 and pos <= $3",
            )
            .bind(lane)
            .bind(after)
            .bind(until)
            .fetch_all(&mut self.conn)
            .await?;
            for row in &rows {
                self.seen
                    .insert((row.try_get("stream_id")?, row.try_get("seq")?));
            }
        }
        Ok(())
    }
}

async fn positions(conn: &mut PgConnection) -> Result<BTreeMap<i16, i64>, BenchError> {
    let rows = sqlx::query("select lane, pos from es.lane")
        .fetch_all(conn)
        .await?;
    let mut lanes = BTreeMap::new();
    for row in &rows {
        lanes.insert(row.try_get("lane")?, row.try_get("pos")?);
    }
    Ok(lanes)
}

/// A place in the log; sequences of a benchmark are far below 2^63.
fn place(stream: Uuid, seq: u64) -> Place {
    (stream, i64::try_from(seq).unwrap_or(i64::MAX))
}

/// Appends to one fresh stream after the other.
async fn append(
    ground: Arc<Ground>,
    owner: Stream,
    stop: Arc<AtomicBool>,
) -> Result<Vec<Place>, BenchError> {
    let mut committed = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let stream = ground.fresh(&owner);
        let stamp = ground.core.clock.stamp();
        ground
            .log
            .execute(&stream, &tick(2), stamp, &meta())
            .await
            .map_err(BenchError::command)?;
        committed.extend((1..=2).map(|seq| place(stream.id, seq)));
    }
    Ok(committed)
}

/// Fights over one stream with the same writer of the other process: many commands are refused.
async fn contend(
    core: Arc<Core>,
    stream: Stream,
    stop: Arc<AtomicBool>,
) -> Result<Vec<Place>, BenchError> {
    let log = Log::<Tally>::new(Arc::clone(&core));
    let mut committed = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match log
            .execute(&stream, &tick(1), core.clock.stamp(), &meta())
            .await
        {
            Ok(prepared) => committed.push(place(stream.id, prepared.next.version)),
            Err(ExecuteError::Store(StoreError::HeadMoved)) => {}
            Err(error) => return Err(BenchError::command(error)),
        }
    }
    Ok(committed)
}

/// Holds its lane for a while in a transaction of its own, and takes every third one back.
async fn linger(
    ground: Arc<Ground>,
    owner: Stream,
    stop: Arc<AtomicBool>,
) -> Result<Vec<Place>, BenchError> {
    let mut conn = ground.connect().await?;
    let mut committed = Vec::new();
    for round in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let stream = ground.fresh(&owner);
        let stamp = ground.core.clock.stamp();
        let prepared = ground
            .log
            .prepare(&stream, &Loaded::default(), &tick(3), stamp, &meta())
            .map_err(BenchError::command)?;
        let append = Append::of(stream.lane, vec![prepared.append]);
        let mut transaction = conn.begin().await?;
        flush::write(&mut transaction, Form::Fast, stream.lane, &[&append]).await?;
        tokio::time::sleep(Duration::from_millis(round * 7 % LONGEST_MS)).await;
        if round % 3 == 2 {
            transaction.rollback().await?;
        } else {
            transaction.commit().await?;
            committed.extend((1..=3).map(|seq| place(stream.id, seq)));
        }
    }
    Ok(committed)
}
