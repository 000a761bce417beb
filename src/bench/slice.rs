//! The arithmetic of a measurement: short slices, ratios within a pass, medians over the passes.
//!
//! A machine's speed drifts by more than what is measured. Two slices of one pass lie next to each
//! other, so they share its weather; figures of different passes are never divided by each other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::BenchError;

/// What some hands did in one span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// Something that can be done over and over by many hands at once.
pub trait Work: Send + Sync + 'static {
    type Hand: Send;
    /// The state of hand number `number`.
    fn hand(&self, number: usize) -> Self::Hand;
    /// Does the work once. A failure ends the whole run: a broken contender has no speed.
    fn once(&self, hand: &mut Self::Hand) -> impl Future<Output = Result<(), BenchError>> + Send;
}

impl Slice {
    /// Sums `times` of single works up, done by all hands within `span`.
    pub fn of(mut times: Vec<Duration>, span: Duration) -> Result<Self, BenchError> {
        times.sort_unstable();
        match (percentile(&times, 50), percentile(&times, 99)) {
            (Some(p50), Some(p99)) if !span.is_zero() => Ok(Self {
                per_second: count(times.len()) / span.as_secs_f64(),
                p50_ms: p50.as_secs_f64() * 1e3,
                p99_ms: p99.as_secs_f64() * 1e3,
            }),
            _ => Err(BenchError::NothingDone),
        }
    }
}

/// Lets `hands` hands work side by side for `span`.
pub async fn drive<W: Work>(
    work: &Arc<W>,
    hands: usize,
    span: Duration,
) -> Result<Slice, BenchError> {
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for number in 0..hands {
        let work = Arc::clone(work);
        tasks.spawn(async move {
            let mut hand = work.hand(number);
            let mut times = Vec::with_capacity(1_024);
            while begun.elapsed() < span {
                let started = Instant::now();
                work.once(&mut hand).await?;
                times.push(started.elapsed());
            }
            Ok::<_, BenchError>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(done) = tasks.join_next().await {
        times.extend(done.map_err(|_| BenchError::Stopped)??);
    }
    Slice::of(times, begun.elapsed())
}

/// The smallest value that `percent` of the sorted values do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// The middle value; of an even number, the mean of the two in the middle.
pub fn median(values: impl IntoIterator<Item = f64>) -> Result<f64, BenchError> {
    let mut values: Vec<f64> = values
        .into_iter()
        .filter(|value| value.is_finite())
        .collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (Some(value), 1) => Ok(*value),
        (Some(value), _) => Ok(f64::midpoint(*value, values[middle - 1])),
        (None, _) => Err(BenchError::NothingDone),
    }
}

/// The median of `ours / theirs`, each pair from one pass.
pub fn ratio(ours: &[f64], theirs: &[f64]) -> Result<f64, BenchError> {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs))
}

/// Counts in a benchmark stay far below 2^52.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
pub fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_ratio_is_taken_within_a_pass_and_never_across() {
        // The machine is ten times slower in the second pass, and both contenders with it.
        let value = ratio(&[300.0, 30.0, 310.0], &[100.0, 10.0, 100.0]).unwrap();
        assert!(close(value, 3.0), "{value}");
    }

    #[test]
    fn the_median_ignores_one_bad_pass_and_needs_one_good_one() {
        assert!(close(median([3.0, 900.0, 2.0]).unwrap(), 3.0));
        assert!(close(median([1.0, 4.0, 2.0, 3.0]).unwrap(), 2.5));
        assert!(close(median([f64::INFINITY, 2.0]).unwrap(), 2.0));
        assert!(matches!(median([f64::NAN]), Err(BenchError::NothingDone)));
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let times = (1..=200).rev().map(Duration::from_millis).collect();
        let slice = Slice::of(times, Duration::from_secs(2)).unwrap();
        assert!(close(slice.per_second, 100.0));
        assert!(close(slice.p50_ms, 100.0) && close(slice.p99_ms, 198.0));
        let one = Slice::of(vec![Duration::from_millis(7)], Duration::from_secs(1)).unwrap();
        assert!(close(one.p50_ms, 7.0) && close(one.p99_ms, 7.0));
        assert!(Slice::of(Vec::new(), Duration::from_secs(1)).is_err());
    }
}
