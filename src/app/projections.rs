//! Making projections again from the log, or proving that there is no need to.
//!
//! A check reads one snapshot in a transaction that can change nothing. A rebuild of `run`, `brief` or
//! `review` writes summaries that differ and leaves every head alone; one of an asynchronous projection makes a new
//! version beside the live one.

mod summaries;

use std::time::{Duration, Instant};

use helix_aggregates::access::brief::Brief;
use helix_aggregates::access::review::Review;
use helix_aggregates::agent::run::Run;
use helix_aggregates::decider::Decider;
use helix_projections::access::account_activity::table::AccountActivity;
use helix_projections::projector::{
    Checked, Parked, ProjectError, Projection, Projector, Switched,
};

use crate::store::upcast::present_shape;
use crate::store::{Core, StoreError, inline, lease};

/// How long a rebuild that stopped reporting keeps others out.
const LEASE: Duration = Duration::from_secs(60);

/// What can be rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// The inline rows of runs.
    Run,
    /// Those of briefs.
    Brief,
    /// Those of reviews.
    Review,
    AccountActivity,
}

impl Name {
    pub const ALL: [Self; 4] = [Self::Run, Self::Brief, Self::Review, Self::AccountActivity];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => Run::KIND,
            Self::Brief => Brief::KIND,
            Self::Review => Review::KIND,
            Self::AccountActivity => AccountActivity::NAME,
        }
    }
}

/// What was done to one projection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    pub events: u64,
    pub took: Duration,
    /// Summaries written, or the version that is live now.
    pub change: Change,
    /// What stands in the way of calling it whole.
    pub unresolved: Checked,
    pub parked: Vec<Parked>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Written { rows: u64 },
    Switched { from: i32, to: i32 },
}

#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error("a rebuild of {0} is under way")]
    Busy(&'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Projection(#[from] ProjectError),
}

impl From<sqlx::Error> for RebuildError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(StoreError::Unavailable(error))
    }
}

/// Events in the log, an upper bound of what a check or rebuild folds.
pub async fn size(core: &Core) -> Result<u64, RebuildError> {
    let mut conn = core.pool.acquire().await?;
    Ok(inline::event_count(&mut conn).await?)
}

/// Folds everything again and compares with what is stored. `tell` hears of events folded.
pub async fn check(
    core: &Core,
    name: Name,
    tell: impl FnMut(u64) + Send,
) -> Result<(Checked, Duration), RebuildError> {
    let started = Instant::now();
    let mut snapshot = inline::snapshot(&core.pool).await?;
    let checked = match name {
        Name::Run => summaries::check::<Run>(core, &mut snapshot, tell).await?,
        Name::Brief => summaries::check::<Brief>(core, &mut snapshot, tell).await?,
        Name::Review => summaries::check::<Review>(core, &mut snapshot, tell).await?,
        Name::AccountActivity => activity(core).check(&mut snapshot, tell).await?,
    };
    snapshot.rollback().await?;
    Ok((checked, started.elapsed()))
}

/// Folds everything again and lets reads see the outcome. `tell` hears of events folded.
pub async fn rebuild(
    core: &Core,
    name: Name,
    tell: impl FnMut(u64) + Send,
) -> Result<Rebuilt, RebuildError> {
    let task = format!("rebuild/{}", name.as_str());
    let holder = core.ids.uuid();
    if !lease::hold(&core.pool, &task, holder, LEASE).await? {
        return Err(RebuildError::Busy(name.as_str()));
    }
    let started = Instant::now();
    let mut work = std::pin::pin!(work(core, name, tell));
    let mut renew = tokio::time::interval(LEASE / 4);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            _ = renew.tick() => {
                if !lease::hold(&core.pool, &task, holder, LEASE).await? {
                    return Err(RebuildError::Busy(name.as_str()));
                }
            }
        }
    };
    lease::release(&core.pool, &task, holder).await?;
    done.map(|rebuilt| Rebuilt {
        took: started.elapsed(),
        ..rebuilt
    })
}

async fn work(
    core: &Core,
    name: Name,
    tell: impl FnMut(u64) + Send,
) -> Result<Rebuilt, RebuildError> {
    match name {
        Name::Run => summaries::rebuild::<Run>(core, tell).await,
        Name::Brief => summaries::rebuild::<Brief>(core, tell).await,
        Name::Review => summaries::rebuild::<Review>(core, tell).await,
        Name::AccountActivity => {
            let Switched {
                from,
                to,
                events,
                parked,
            } = activity(core).rebuild(tell).await?;
            Ok(Rebuilt {
                events,
                took: Duration::ZERO,
                change: Change::Switched { from, to },
                unresolved: Checked::default(),
                parked,
            })
        }
    }
}

fn activity(core: &Core) -> Projector<AccountActivity> {
    Projector::new(core.pool.clone(), present_shape)
}
