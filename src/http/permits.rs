//! How many requests work at a time, and how many may wait for that (`access` 12).
//!
//! What must stay true: whoever is turned away has reserved nothing; the queue is bounded in length
//! and in time; withdrawals have places of their own, so that stopping something works while
//! everything else is full. Deliberately absent: connections, rates and running turns, which have
//! bounds of their own.

use std::sync::Arc;
use std::time::Duration;

use prometheus::{IntCounterVec, IntGauge};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::app::problem::{Code, Problem};
use crate::metrics::Metrics;
use crate::store::{ADMISSION_CONNECTIONS, Line, WITHDRAWAL_CONNECTIONS};

/// How long a request may wait for its place.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long it may wait to be recognised, which is quick unless the database is not.
const ENTRANCE_PATIENCE: Duration = Duration::from_secs(1);
/// Waiting requests for each place.
const QUEUE: usize = 2;
/// Requests that wait to be recognised. Being recognised is quick, so that most of so many get their
/// turn before they lose patience; a shorter queue would answer a crowd that comes back at once so
/// often that the answers themselves would be the load.
const ENTRANCE_QUEUE: usize = 1_024;
/// One place in so many is a withdrawal's.
const RESERVED: usize = 10;
/// Withdrawals always have this many.
const LEAST_RESERVED: usize = 2;
/// `Retry-After` is from 1 to so many seconds, so that those turned away together do not come back
/// together.
const LATEST_RETRY: u8 = 3;

/// What a request asks of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Answered in one go.
    Ordinary,
    /// Takes back what was asked for before.
    Withdrawal,
    /// A turn, a poll or a stream: it enters like any other and then gives its place back, because
    /// what it waits for has a bound of its own.
    Waiting,
}

#[derive(Debug)]
pub struct Permits {
    ordinary: Places,
    withdrawals: Places,
    /// As many as there are connections to look a caller up; the wait for one is bounded like any.
    entrance: Places,
    withdrawals_entrance: Places,
}

#[derive(Debug)]
struct Places {
    name: &'static str,
    free: Arc<Semaphore>,
    queue: Semaphore,
    patience: Duration,
    waiting: IntGauge,
    shed: IntCounterVec,
}

impl Demand {
    /// Among whom the caller waits to be recognised.
    pub fn line(self) -> Line {
        match self {
            Self::Ordinary | Self::Waiting => Line::Ordinary,
            Self::Withdrawal => Line::Withdrawal,
        }
    }
}

impl Permits {
    /// `most` requests at a time, those of withdrawals included.
    pub fn new(most: usize, metrics: &Metrics) -> Self {
        let reserved = (most / RESERVED).max(LEAST_RESERVED);
        let ordinary = most.saturating_sub(reserved).max(1);
        let work = |name, places| Places::new(name, places, places * QUEUE, PATIENCE, metrics);
        let door =
            |name, places| Places::new(name, places, ENTRANCE_QUEUE, ENTRANCE_PATIENCE, metrics);
        Self {
            ordinary: work("ordinary", ordinary),
            withdrawals: work("withdrawal", reserved),
            entrance: door("entrance", ADMISSION_CONNECTIONS),
            withdrawals_entrance: door("withdrawal_entrance", WITHDRAWAL_CONNECTIONS),
        }
    }

    /// A turn at being recognised, or 503 with `Retry-After`.
    pub async fn come_in(&self, demand: Demand) -> Result<OwnedSemaphorePermit, Problem> {
        match demand {
            Demand::Ordinary | Demand::Waiting => self.entrance.enter().await,
            Demand::Withdrawal => self.withdrawals_entrance.enter().await,
        }
    }

    /// A place for a request, free again when dropped, or 503 with `Retry-After`. `None` for what
    /// keeps no place.
    pub async fn enter(&self, demand: Demand) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        match demand {
            Demand::Ordinary => self.ordinary.enter().await.map(Some),
            Demand::Withdrawal => self.withdrawals.enter().await.map(Some),
            Demand::Waiting => self.ordinary.enter().await.map(|_place| None),
        }
    }
}

impl Places {
    fn new(
        name: &'static str,
        places: usize,
        queue: usize,
        patience: Duration,
        metrics: &Metrics,
    ) -> Self {
        Self {
            name,
            free: Arc::new(Semaphore::new(places)),
            queue: Semaphore::new(queue),
            patience,
            waiting: metrics.requests_waiting.with_label_values(&[name]),
            shed: metrics.requests_shed.clone(),
        }
    }

    async fn enter(&self) -> Result<OwnedSemaphorePermit, Problem> {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(place) => return Ok(place),
            Err(TryAcquireError::Closed) => return Err(self.turn_away("stopping")),
            Err(TryAcquireError::NoPermits) => {}
        }
        let Ok(_queued) = self.queue.try_acquire() else {
            return Err(self.turn_away("queue_full"));
        };
        let _counted = Counted::new(&self.waiting);
        let place = tokio::time::timeout(self.patience, Arc::clone(&self.free).acquire_owned());
        match place.await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(self.turn_away("stopping")),
            Err(_) => Err(self.turn_away("waited_too_long")),
        }
    }

    fn turn_away(&self, reason: &str) -> Problem {
        self.shed.with_label_values(&[self.name, reason]).inc();
        let mut dice = [0];
        // Without randomness everybody comes back after one second, which is no reason to fail.
        let thrown = getrandom::fill(&mut dice).map_or(0, |()| dice[0]);
        Problem {
            retry_after: Some(u32::from(1 + thrown % LATEST_RETRY)),
            ..Problem::new(Code::Unavailable).because(format!("no place: {reason}"))
        }
    }
}

/// One who waits, counted until it goes, also by hanging up.
struct Counted<'a>(&'a IntGauge);

impl<'a> Counted<'a> {
    fn new(gauge: &'a IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn permits(most: usize) -> Permits {
        Permits::new(most, &Metrics::new().unwrap())
    }

    #[tokio::test]
    async fn beyond_places_and_queue_a_request_is_turned_away_at_once() {
        let permits = permits(4);
        let held = [
            permits.enter(Demand::Ordinary).await.unwrap(),
            permits.enter(Demand::Ordinary).await.unwrap(),
        ];
        let waiting =
            futures_util::future::join_all((0..4).map(|_| permits.enter(Demand::Ordinary)));
        let late = async { permits.enter(Demand::Ordinary).now_or_never() };
        let (waited, refused) = tokio::join!(waiting, late);
        let refused = refused.expect("not queued").unwrap_err();
        assert_eq!(refused.code, Code::Unavailable);
        assert!((1..=3).contains(&refused.retry_after.unwrap()));
        assert!(waited.iter().all(Result::is_err));
        drop(held);
        assert!(permits.enter(Demand::Ordinary).await.is_ok());
    }

    #[tokio::test]
    async fn a_place_given_back_goes_to_who_waits() {
        let permits = permits(3);
        let held = permits.enter(Demand::Ordinary).await.unwrap();
        let (next, ()) = tokio::join!(permits.enter(Demand::Ordinary), async { drop(held) });
        assert!(next.is_ok());
    }

    #[tokio::test]
    async fn who_hangs_up_while_waiting_is_counted_no_longer() {
        let permits = permits(3);
        let _held = permits.enter(Demand::Ordinary).await.unwrap();
        let mut waiting = Box::pin(permits.enter(Demand::Ordinary));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        assert_eq!(permits.ordinary.waiting.get(), 1);
        drop(waiting);
        assert_eq!(permits.ordinary.waiting.get(), 0);
    }

    #[tokio::test]
    async fn a_withdrawal_finds_its_place_while_all_others_are_taken() {
        let permits = permits(3);
        let _held = permits.enter(Demand::Ordinary).await.unwrap();
        assert!(permits.enter(Demand::Ordinary).await.is_err());
        let first = permits.enter(Demand::Withdrawal).await;
        let second = permits.enter(Demand::Withdrawal).await;
        assert!(first.is_ok() && second.is_ok());
    }

    #[tokio::test]
    async fn whoever_waits_for_something_else_keeps_no_place() {
        let permits = permits(3);
        let _turn = permits.enter(Demand::Waiting).await.unwrap();
        let held = permits.enter(Demand::Ordinary).await.unwrap();
        assert!(permits.enter(Demand::Waiting).await.is_err());
        drop(held);
        assert!(permits.enter(Demand::Waiting).await.is_ok());
    }
}
