//! Postgres is killed without warning while 32 writers append: what was acknowledged must be there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use helix_aggregates::chain::Hash;
use helix_postgres::Health;
use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::BenchError;
use super::contenders::Writer;
use super::ground::Ground;
use super::pace::Pace;
use crate::store::StoreError;

const WRITERS: usize = 32;
/// The longest that recovery may take here.
const RECOVERY: Duration = Duration::from_secs(60);

/// An append that its caller was told is durable.
#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    stream: Uuid,
    seq: u64,
    hash: Hash,
}

/// What a kill cost.
#[derive(Debug, Clone, Copy)]
pub struct Crash {
    pub acknowledged: usize,
    pub lost: usize,
    pub recovery: Duration,
}

/// Kills the postmaster under load and counts acknowledged appends that are gone.
pub async fn run(ground: &Arc<Ground>, pace: &Pace) -> Result<Crash, BenchError> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        writers.spawn(write(Arc::clone(ground), number, Arc::clone(&stop)));
    }
    tokio::time::sleep(pace.around_kill).await;
    let recovery = kill(ground).await?;
    tokio::time::sleep(pace.around_kill).await;
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    while let Some(done) = writers.join_next().await {
        acknowledged.extend(done.map_err(|_| BenchError::Stopped)??);
    }
    let kept = kept(ground, &acknowledged).await?;
    Ok(Crash {
        acknowledged: acknowledged.len(),
        lost: acknowledged.len() - kept,
        recovery,
    })
}

/// Ends the postmaster, and waits until its supervisor has a new one ready.
async fn kill(ground: &Ground) -> Result<Duration, BenchError> {
    let mut health = ground.cluster.health();
    let old = ground.cluster.pid().ok_or(BenchError::Stopped)?;
    let pid = i32::try_from(old)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(BenchError::Stopped)?;
    let begun = Instant::now();
    kill_process(pid, Signal::KILL).map_err(std::io::Error::from)?;
    let renewed = health.wait_for(|now| matches!(now, Health::Ready { pid } if *pid != old));
    match tokio::time::timeout(RECOVERY, renewed).await {
        Ok(Ok(_)) => Ok(begun.elapsed()),
        Ok(Err(_)) | Err(_) => Err(BenchError::Stopped),
    }
}

async fn write(
    ground: Arc<Ground>,
    number: usize,
    stop: Arc<AtomicBool>,
) -> Result<Vec<Acknowledged>, BenchError> {
    let mut writer = Writer::new(&ground, number);
    let mut acknowledged = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match writer.append(&ground).await {
            Ok(()) => acknowledged.push(Acknowledged {
                stream: writer.stream.id,
                seq: writer.loaded.version,
                hash: writer.loaded.head,
            }),
            // Told that it may not have happened: nothing was promised.
            Err(BenchError::Store(StoreError::TimedOut | StoreError::Unavailable(_))) => {
                writer.renew(&ground);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(acknowledged)
}

/// How many of the acknowledged appends are in the log, hash for hash.
async fn kept(ground: &Ground, acknowledged: &[Acknowledged]) -> Result<usize, BenchError> {
    // The pools still hold connections of the server that was killed.
    let mut conn = ground.connect().await?;
    let mut kept = 0;
    for part in acknowledged.chunks(5_000) {
        let lanes: Vec<i16> = part
            .iter()
            .map(|one| i16::from(one.stream.as_bytes()[15]))
            .collect();
        let streams: Vec<Uuid> = part.iter().map(|one| one.stream).collect();
        let seqs = part
            .iter()
            .map(|one| i64::try_from(one.seq).unwrap_or(i64::MAX));
        let seqs: Vec<i64> = seqs.collect();
        let hashes: Vec<&[u8]> = part.iter().map(|one| &one.hash.as_bytes()[..]).collect();
        let found: i64 = sqlx::query_scalar(
            "select count(*)
               from unnest($1::smallint[], $2::uuid[], $3::bigint[], $4::bytea[]) as a(lane, stream_id, seq, hash)
               join es.event e using (lane, stream_id, seq)
              where e.hash = a.hash",
        )
        .bind(lanes)
        .bind(streams)
        .bind(seqs)
        .bind(hashes)
        .fetch_one(&mut conn)
        .await?;
        kept += usize::try_from(found).unwrap_or(0);
    }
    Ok(kept)
}
