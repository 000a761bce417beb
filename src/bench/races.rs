//! The ratios that are races: two contenders, the same number of hands, slice by slice.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::contenders::Contender;
use super::ground::Ground;
use super::pace::Pace;
use super::progress::Progress;
use super::report::{Absolute, Judged};
use super::slice::{Slice, median, ratio};
use super::targets::Ratio;
use super::{BenchError, Findings};

/// What of a slice is compared.
#[derive(Debug, Clone, Copy)]
enum Figure {
    Rate,
    P50,
    P99,
}

#[derive(Debug, Clone, Copy)]
struct Race {
    ratio: Ratio,
    hands: usize,
    ours: Contender,
    theirs: Contender,
    figure: Figure,
}

const fn race(ratio: Ratio, hands: usize, ours: Contender, theirs: Contender) -> Race {
    Race {
        ratio,
        hands,
        ours,
        theirs,
        figure: Figure::Rate,
    }
}

const RACES: &[Race] = &[
    race(Ratio::Append1, 1, Contender::Append, Contender::PeerPersist),
    race(Ratio::Append8, 8, Contender::Append, Contender::PeerPersist),
    race(
        Ratio::Append32,
        32,
        Contender::Append,
        Contender::PeerPersist,
    ),
    race(
        Ratio::Append128,
        128,
        Contender::Append,
        Contender::PeerPersist,
    ),
    race(Ratio::Raw32, 32, Contender::Append, Contender::RawInsert),
    race(Ratio::Raw128, 128, Contender::Append, Contender::RawInsert),
    race(
        Ratio::Execute32,
        32,
        Contender::Execute,
        Contender::PeerExecute,
    ),
    race(
        Ratio::HttpUnit16,
        16,
        Contender::HttpTurn,
        Contender::RawTurn,
    ),
    Race {
        figure: Figure::P50,
        ..race(Ratio::McpVsRest, 8, Contender::McpTurn, Contender::RestTurn)
    },
    Race {
        figure: Figure::P99,
        ..race(
            Ratio::P99At32,
            32,
            Contender::Append,
            Contender::PeerPersist,
        )
    },
];

/// Slices of one contender, in the order of the passes.
type Lap = (Contender, Vec<Slice>);

/// Runs the asked races. Contenders of several races with as many hands are measured once.
pub async fn run(
    asked: &[Ratio],
    ground: &Arc<Ground>,
    pace: &Pace,
    progress: &Progress,
    found: &mut Findings,
) -> Result<(), BenchError> {
    let mut by_hands: BTreeMap<usize, Vec<Race>> = BTreeMap::new();
    for race in RACES.iter().filter(|race| asked.contains(&race.ratio)) {
        by_hands.entry(race.hands).or_default().push(*race);
    }
    for (hands, races) in by_hands {
        let laps = laps(hands, &races, ground, pace, progress).await?;
        for race in &races {
            let value = race
                .figure
                .ratio(slices(&laps, race.ours), slices(&laps, race.theirs))?;
            found.ratios.push(Judged::new(race.ratio, value));
        }
        for (contender, slices) in &laps {
            found.absolute.extend(absolute(*contender, hands, slices)?);
        }
    }
    Ok(())
}

async fn laps(
    hands: usize,
    races: &[Race],
    ground: &Arc<Ground>,
    pace: &Pace,
    progress: &Progress,
) -> Result<Vec<Lap>, BenchError> {
    let mut laps: Vec<Lap> = Vec::new();
    for contender in races.iter().flat_map(|race| [race.ours, race.theirs]) {
        if laps.iter().all(|(known, _)| *known != contender) {
            contender.slice(ground, hands, pace.warm_up).await?;
            laps.push((contender, Vec::new()));
        }
    }
    for pass in 0..pace.passes {
        progress.say(&format!(
            "{hands} writers, pass {} of {}",
            pass + 1,
            pace.passes
        ));
        let order: Vec<usize> = match pass % 2 {
            0 => (0..laps.len()).collect(),
            // Nobody always runs after the same neighbour.
            _ => (0..laps.len()).rev().collect(),
        };
        for index in order {
            let (contender, slices) = &mut laps[index];
            slices.push(contender.slice(ground, hands, pace.slice).await?);
        }
    }
    Ok(laps)
}

fn slices(laps: &[Lap], contender: Contender) -> &[Slice] {
    let lap = laps.iter().find(|(known, _)| *known == contender);
    lap.map_or(&[], |(_, slices)| slices)
}

impl Figure {
    fn ratio(self, ours: &[Slice], theirs: &[Slice]) -> Result<f64, BenchError> {
        let of = |slices: &[Slice]| -> Vec<f64> {
            let figures = slices.iter().map(|slice| match self {
                Self::Rate => slice.per_second,
                Self::P50 => slice.p50_ms,
                Self::P99 => slice.p99_ms,
            });
            figures.collect()
        };
        ratio(&of(ours), &of(theirs))
    }
}

fn absolute(
    contender: Contender,
    hands: usize,
    slices: &[Slice],
) -> Result<[Absolute; 3], BenchError> {
    let label = contender.label();
    let figure = |of: fn(&Slice) -> f64| median(slices.iter().map(of));
    Ok([
        Absolute::new(
            format!("{label}, {hands} writers"),
            figure(|slice| slice.per_second)?,
            "commands/s",
        ),
        Absolute::new(
            format!("{label}, {hands} writers, p50"),
            figure(|slice| slice.p50_ms)?,
            "ms",
        ),
        Absolute::new(
            format!("{label}, {hands} writers, p99"),
            figure(|slice| slice.p99_ms)?,
            "ms",
        ),
    ])
}
