//! What is left of a server's work when ten times as many clients come as it can serve.
//!
//! Every client sends its next request as soon as the last is answered, and does so after a refusal
//! too: nobody is polite enough to help. Meanwhile one more client starts a run and cancels it, over
//! and over; only its cancels are timed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::ground::Ground;
use super::pace::Pace;
use super::progress::Progress;
use super::report::{Absolute, Judged};
use super::service::{Outcome, Service};
use super::slice::{Slice, count, median, ratio};
use super::targets::Ratio;
use super::{BenchError, Findings};

/// Numbers of clients among which the one that saturates is looked for.
const STEPS: [usize; 5] = [4, 8, 16, 32, 64];
/// So much of the best rate counts as saturated.
const SATURATED: f64 = 0.95;
const TIMES: usize = 10;
/// A crowd may keep every start of a span waiting; the span is then as long as its first cancel takes,
/// and no longer than this.
const PATIENCE: Duration = Duration::from_secs(60);

/// One span under load.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Starts that were acknowledged.
    good: f64,
    /// Starts that were refused with 429 or 503.
    shed: f64,
    cancel: Slice,
}

pub async fn run(
    asked: &[Ratio],
    ground: &Ground,
    pace: &Pace,
    progress: &Progress,
    found: &mut Findings,
) -> Result<(), BenchError> {
    let service = ground.service().await?;
    progress.say("looking for the number of clients that saturates");
    let clients = saturating(&service, pace.slice).await?;
    let (mut full, mut over, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for pass in 0..pace.passes {
        let passes = pace.passes;
        progress.say(&format!("overload, pass {} of {passes}", pass + 1));
        idle.push(load(&service, 0, pace.slice).await?);
        full.push(load(&service, clients, pace.slice).await?);
        over.push(load(&service, clients * TIMES, pace.slice).await?);
    }
    let of = |loads: &[Load], figure: fn(&Load) -> f64| -> Vec<f64> {
        loads.iter().map(figure).collect()
    };
    let (good, p99) = (|load: &Load| load.good, |load: &Load| load.cancel.p99_ms);
    for (name, value) in [
        (
            Ratio::OverloadGoodput,
            ratio(&of(&over, good), &of(&full, good))?,
        ),
        (Ratio::CancelP99, ratio(&of(&over, p99), &of(&idle, p99))?),
    ] {
        if asked.contains(&name) {
            found.ratios.push(Judged::new(name, value));
        }
    }
    let shed = |load: &Load| load.shed;
    found.absolute.extend([
        Absolute::new("clients that saturate", count(clients), "clients"),
        Absolute::new(
            "starts, saturated",
            median(of(&full, good))?,
            "acknowledged/s",
        ),
        Absolute::new(
            "starts, ten times as many",
            median(of(&over, good))?,
            "acknowledged/s",
        ),
        Absolute::new(
            "refusals, ten times as many",
            median(of(&over, shed))?,
            "refused/s",
        ),
        Absolute::new("cancel alone, p99", median(of(&idle, p99))?, "ms"),
        Absolute::new("cancel, saturated, p99", median(of(&full, p99))?, "ms"),
        Absolute::new(
            "cancel, ten times as many, p99",
            median(of(&over, p99))?,
            "ms",
        ),
    ]);
    Ok(())
}

/// The fewest clients that get nearly all there is to get.
async fn saturating(service: &Arc<Service>, span: Duration) -> Result<usize, BenchError> {
    let mut rates = Vec::new();
    for clients in STEPS {
        rates.push((clients, load(service, clients, span).await?.good));
    }
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let enough = rates.iter().find(|(_, rate)| *rate >= best * SATURATED);
    enough
        .map(|(clients, _)| *clients)
        .ok_or(BenchError::NothingDone)
}

async fn load(service: &Arc<Service>, clients: usize, span: Duration) -> Result<Load, BenchError> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let (service, stop) = (Arc::clone(service), Arc::clone(&stop));
        tasks.spawn(async move {
            let (mut good, mut shed) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                match service.start_unless_shed().await? {
                    Outcome::Done => good += 1,
                    Outcome::Shed => shed += 1,
                }
            }
            Ok::<_, BenchError>((good, shed))
        });
    }
    let begun = Instant::now();
    let times = cancels(Arc::clone(service), span).await;
    stop.store(true, Ordering::Relaxed);
    let elapsed = begun.elapsed();
    let times = times?;
    let (mut good, mut shed) = (0, 0);
    while let Some(done) = tasks.join_next().await {
        let (one_good, one_shed) = done.map_err(|_| BenchError::Stopped)??;
        good += one_good;
        shed += one_shed;
    }
    Ok(Load {
        good: count(good) / elapsed.as_secs_f64(),
        shed: count(shed) / elapsed.as_secs_f64(),
        cancel: Slice::of(times, elapsed)?,
    })
}

/// Times of cancels, by a client with a thread of its own: what is measured is how long the server
/// takes, not how long the crowd in this process keeps a client from being heard.
async fn cancels(service: Arc<Service>, span: Duration) -> Result<Vec<Duration>, BenchError> {
    let alone = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let client = Service::client()?;
            let begun = Instant::now();
            let mut times = Vec::new();
            while begun.elapsed() < span || (times.is_empty() && begun.elapsed() < PATIENCE) {
                times.extend(service.timed_cancel(&client).await?);
            }
            Ok(times)
        })
    };
    tokio::task::spawn_blocking(alone)
        .await
        .map_err(|_| BenchError::Stopped)?
}
