//! Connections for short reads, kept between uses.
//!
//! The pool proves each connection that comes back to it with a round trip, which costs as much as
//! the read did. One whose query was answered in full needs no proof, so it is kept here for the
//! next read. What stays true: one that failed, or whose query was given up half-way, goes back to
//! the pool, which looks at it; and some connections are never kept, for work that needs a
//! transaction.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgPool, Postgres};
use tokio::sync::Semaphore;

use super::StoreError;
use super::appender::FailureKind;
use super::patience::in_time;

/// Connections of the pool that reads leave to others.
const LEFT: usize = 4;
/// A connection unused for so long goes back to the pool at the next read, and is closed there in time.
const KEEP: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct ReadPool {
    pool: PgPool,
    turns: Semaphore,
    /// How many are kept.
    most: usize,
    idle: Mutex<Vec<Kept>>,
}

#[derive(Debug)]
struct Kept {
    connection: PoolConnection<Postgres>,
    since: Instant,
}

impl ReadPool {
    /// Reads over a pool that others use too. One too small to share keeps nothing.
    pub fn sharing(pool: PgPool) -> Self {
        let all = connections(&pool);
        let most = all.saturating_sub(LEFT);
        Self::of(pool, if most == 0 { all } else { most }, most)
    }

    /// Reads over a pool that nobody else uses.
    pub fn alone(pool: PgPool) -> Self {
        let all = connections(&pool);
        Self::of(pool, all, all)
    }

    fn of(pool: PgPool, turns: usize, most: usize) -> Self {
        Self {
            turns: Semaphore::new(turns),
            most,
            idle: Mutex::default(),
            pool,
        }
    }

    /// All rows of `query`, or [`StoreError::TimedOut`]: the wait for a connection included.
    ///
    /// `query` is made a second time when the connection it went over turns out to be dead, so it has to be
    /// one that may be repeated.
    pub async fn all<'q>(
        &self,
        query: impl Fn() -> Query<'q, Postgres, PgArguments>,
    ) -> Result<Vec<PgRow>, StoreError> {
        in_time(self.ask(&query)).await
    }

    /// The first row of `query`, if there is one.
    pub async fn optional<'q>(
        &self,
        query: impl Fn() -> Query<'q, Postgres, PgArguments>,
    ) -> Result<Option<PgRow>, StoreError> {
        Ok(self.all(query).await?.into_iter().next())
    }

    /// The first row of a query that always has one.
    pub async fn one<'q>(
        &self,
        query: impl Fn() -> Query<'q, Postgres, PgArguments>,
    ) -> Result<PgRow, StoreError> {
        let row = self.optional(query).await?;
        row.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    async fn ask<'q>(
        &self,
        query: &impl Fn() -> Query<'q, Postgres, PgArguments>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let _turn = self
            .turns
            .acquire()
            .await
            .map_err(|_| sqlx::Error::PoolClosed)?;
        let kept = self.idle().pop();
        if let Some(kept) = kept {
            match self.ask_over(kept.connection, query).await {
                // What ended one may have ended them all.
                Err(error) if FailureKind::of(&error) == FailureKind::Away => self.idle().clear(),
                answered => return answered,
            }
        }
        self.ask_over(self.pool.acquire().await?, query).await
    }

    async fn ask_over<'q>(
        &self,
        mut connection: PoolConnection<Postgres>,
        query: &impl Fn() -> Query<'q, Postgres, PgArguments>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let rows = query().fetch_all(&mut *connection).await?;
        let mut idle = self.idle();
        idle.retain(|kept| kept.since.elapsed() < KEEP);
        if idle.len() < self.most && !self.turns.is_closed() {
            let since = Instant::now();
            idle.push(Kept { connection, since });
        }
        Ok(rows)
    }

    /// Connections that wait for a read.
    pub fn waiting(&self) -> usize {
        self.idle().len()
    }

    /// Closes every connection; reads are refused from now on.
    pub async fn close(&self) {
        self.turns.close();
        self.idle().clear();
        self.pool.close().await;
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn connections(pool: &PgPool) -> usize {
    usize::try_from(pool.options().get_max_connections()).unwrap_or(0)
}
