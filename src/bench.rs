//! `helix bench`: ratios measured in one run, in interleaved slices (ADR 0006).
//!
//! Why: whether the store is fast can only be said against something else on the same machine at the
//! same moment. What must stay true: commits are durable for every contender; ours does its full
//! work; ratios are taken within a pass. Deliberately absent: baselines of other runs, and any
//! figure that is not printed with the run it belongs to.

pub mod tally;
pub mod targets;

mod contenders;
mod crash;
mod ground;
mod links;
mod machine;
mod overload;
mod pace;
mod pages;
mod progress;
mod races;
mod replay;
mod report;
mod service;
mod slice;
mod tail;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use helix_postgres::{PostgresError, Search};

use crate::store::keyring::KeyringError;
use crate::store::log::ExecuteError;
use crate::store::{StoreError, database};
use ground::Ground;
use tally::NothingToCount;

pub use pace::Pace;
pub use progress::Progress;
pub use report::{Absolute, Judged, Report};
pub use targets::{Ratio, Target};

/// What is to be measured, and with what.
#[derive(Debug, Clone)]
pub struct Order {
    pub ratios: Vec<Ratio>,
    pub pace: Pace,
    pub search: Search,
    /// The working directory, which may be the working tree of the commit.
    pub folder: PathBuf,
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    #[error("the schema cannot be made: {0}")]
    Migrate(#[from] database::MigrateError),
    #[error("our store failed: {0}")]
    Store(#[from] StoreError),
    #[error("our store cannot be opened: {0}")]
    Keyring(#[from] KeyringError),
    #[error("a contender failed: {0}")]
    Peer(String),
    #[error("the database failed: {0}")]
    Sql(#[from] sqlx::Error),
    #[error("the throw-away folder failed: {0}")]
    Folder(#[from] std::io::Error),
    #[error("metrics cannot be registered: {0}")]
    Metrics(String),
    #[error("a contender did nothing in its slice")]
    NothingDone,
    #[error("a task or the server of the run stopped")]
    Stopped,
}

impl BenchError {
    fn peer(error: impl std::fmt::Display) -> Self {
        Self::Peer(error.to_string())
    }

    fn command(error: ExecuteError<NothingToCount>) -> Self {
        match error {
            ExecuteError::Store(error) => Self::Store(error),
            ExecuteError::Refused(refusal) => Self::peer(refusal),
        }
    }
}

/// Figures as they come in.
#[derive(Debug, Default)]
struct Findings {
    ratios: Vec<Judged>,
    absolute: Vec<Absolute>,
}

/// Measures what was ordered. The cluster it needs is made, used and removed here.
pub async fn run(order: &Order, progress: &Progress) -> Result<Report, BenchError> {
    progress.say("starting a throw-away Postgres");
    let search = order.search.clone();
    let programs = tokio::task::spawn_blocking(move || search.find());
    let programs = programs.await.map_err(|_| BenchError::Stopped)??;
    let machine = machine::machine(&programs);
    let ground = Arc::new(Ground::prepare(programs).await?);
    let measured = measure(order, &ground, progress).await;
    progress.say("clearing away");
    if let Some(ground) = Arc::into_inner(ground) {
        ground.clear_away().await?;
    }
    let mut found = measured?;
    let place = |judged: &Judged| {
        order
            .ratios
            .iter()
            .position(|ratio| ratio.name() == judged.name)
    };
    found.ratios.sort_by_key(place);
    Ok(Report {
        commit: machine::commit(&order.folder),
        machine,
        ratios: found.ratios,
        absolute: found.absolute,
    })
}

async fn measure(
    order: &Order,
    ground: &Arc<Ground>,
    progress: &Progress,
) -> Result<Findings, BenchError> {
    let mut found = Findings::default();
    let asked = |ratio| order.ratios.contains(&ratio);
    races::run(&order.ratios, ground, &order.pace, progress, &mut found).await?;
    if asked(Ratio::Page1m) {
        pages::run(ground, &order.pace, progress, &mut found).await?;
    }
    if asked(Ratio::Replay) {
        replay::run(ground, &order.pace, progress, &mut found).await?;
    }
    if asked(Ratio::OverloadGoodput) || asked(Ratio::CancelP99) {
        overload::run(&order.ratios, ground, &order.pace, progress, &mut found).await?;
    }
    // Links are only worth counting after writers have fought over them.
    if asked(Ratio::MissedEvents) || asked(Ratio::BrokenLinks) {
        progress.say("following unkind writers");
        let tail = tail::run(ground, &order.pace).await?;
        found.tally(
            order,
            Ratio::MissedEvents,
            tail.missed,
            "events followed",
            tail.committed,
        );
    }
    if asked(Ratio::LostAcks) {
        progress.say("killing Postgres under load");
        let crash = crash::run(ground, &order.pace).await?;
        found.tally(
            order,
            Ratio::LostAcks,
            crash.lost,
            "appends around the kill",
            crash.acknowledged,
        );
        let recovery = crash.recovery.as_secs_f64();
        found
            .absolute
            .push(Absolute::new("recovery after the kill", recovery, "s"));
    }
    if asked(Ratio::BrokenLinks) {
        progress.say("checking every link");
        let walk = links::walk(&mut ground.connect().await?).await?;
        let (broken, events) = (whole(walk.broken), whole(walk.events));
        found.tally(order, Ratio::BrokenLinks, broken, "links checked", events);
    }
    Ok(found)
}

impl Findings {
    /// A count that must be nothing, out of so many.
    fn tally(&mut self, order: &Order, ratio: Ratio, bad: usize, label: &str, of: usize) {
        if order.ratios.contains(&ratio) {
            self.ratios.push(Judged::new(ratio, slice::count(bad)));
            self.absolute
                .push(Absolute::new(label, slice::count(of), "events"));
        }
    }
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
