//! How fast a stream is folded again: every link checked, every text opened, one reader.

use std::sync::Arc;
use std::time::Instant;

use super::contenders::{Contender, meta, tick};
use super::ground::Ground;
use super::pace::Pace;
use super::progress::Progress;
use super::report::{Absolute, Judged};
use super::slice::{median, ratio};
use super::targets::Ratio;
use super::{BenchError, Findings};
use crate::store::log::Stream;

/// Events written by one command while the stream is made.
const AT_ONCE: u32 = 500;
/// Writers of the raw inserts that replay is held against: the disk at its busiest.
const RAW_WRITERS: usize = 32;

pub async fn run(
    ground: &Arc<Ground>,
    pace: &Pace,
    progress: &Progress,
    found: &mut Findings,
) -> Result<(), BenchError> {
    progress.say("writing a stream to replay");
    let stream = long_stream(ground, pace.replayed).await?;
    Contender::RawInsert
        .slice(ground, RAW_WRITERS, pace.warm_up)
        .await?;
    let (mut replayed, mut raw) = (Vec::new(), Vec::new());
    for pass in 0..pace.passes {
        progress.say(&format!("replay, pass {} of {}", pass + 1, pace.passes));
        let begun = Instant::now();
        let loaded = ground.log.load(&stream).await?;
        if loaded.state.count != u64::from(pace.replayed) {
            return Err(BenchError::NothingDone);
        }
        replayed.push(f64::from(pace.replayed) / begun.elapsed().as_secs_f64());
        let slice = Contender::RawInsert
            .slice(ground, RAW_WRITERS, pace.slice)
            .await?;
        raw.push(slice.per_second);
    }
    found
        .ratios
        .push(Judged::new(Ratio::Replay, ratio(&replayed, &raw)?));
    found.absolute.extend([
        Absolute::new("helix replay", median(replayed)?, "events/s"),
        Absolute::new("raw INSERT commit beside replay", median(raw)?, "commits/s"),
    ]);
    Ok(())
}

async fn long_stream(ground: &Ground, events: u32) -> Result<Stream, BenchError> {
    let stream = ground.stream(0);
    let mut written = 0;
    while written < events {
        let times = AT_ONCE.min(events - written);
        let stamp = ground.core.clock.stamp();
        ground
            .log
            .execute(&stream, &tick(times), stamp, &meta())
            .await
            .map_err(BenchError::command)?;
        written += times;
    }
    Ok(stream)
}
