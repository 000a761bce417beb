//! A rebuild: version n+1 beside version n, switched in one transaction.

use super::state::{self, Lock};
use super::{Parked, ProjectError, Projection, Projector, Target};
use crate::feed;

/// Parked streams that a report names; all of them are counted in the database.
const NAMED: usize = 20;

/// What a rebuild ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switched {
    pub from: i32,
    pub to: i32,
    pub events: u64,
    /// Streams that could not be folded this time either; the first of them.
    pub parked: Vec<Parked>,
}

impl<P: Projection> Projector<P> {
    /// Folds the whole log into a new version and lets reads see it. `tell` hears how many events
    /// were folded. Only one rebuild at a time may run; the caller holds the lease.
    pub async fn rebuild(
        &self,
        mut tell: impl FnMut(u64) + Send,
    ) -> Result<Switched, ProjectError> {
        let mut conn = self.pool.acquire().await?;
        let from = state::live_version(&mut conn, P::NAME, Lock::None).await?;
        let to = from + 1;
        drop(conn);
        self.discard(to).await?;
        let mut switched = Switched {
            from,
            to,
            events: 0,
            parked: Vec::new(),
        };
        loop {
            self.catch_up(&mut switched, &mut tell).await?;
            if self.switch(from, to).await? {
                return Ok(switched);
            }
        }
    }

    /// Removes what an interrupted rebuild left.
    async fn discard(&self, version: i32) -> Result<(), ProjectError> {
        let mut transaction = self.pool.begin().await?;
        state::forget(&mut transaction, P::NAME, version).await?;
        P::clear(&mut transaction, version).await?;
        Ok(transaction.commit().await?)
    }

    async fn catch_up(
        &self,
        switched: &mut Switched,
        tell: &mut (impl FnMut(u64) + Send),
    ) -> Result<(), ProjectError> {
        let mut conn = self.pool.acquire().await?;
        let heads = feed::heads(&mut conn).await?;
        drop(conn);
        for (lane, head) in heads {
            loop {
                let advance = self.advance(Target::Version(switched.to), lane).await?;
                switched.events += advance.read;
                let room = NAMED - switched.parked.len();
                switched
                    .parked
                    .extend(advance.parked.into_iter().take(room));
                tell(advance.read);
                if advance.pos >= head {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Makes `to` live unless a lane of it is behind `from`: a read never goes back.
    async fn switch(&self, from: i32, to: i32) -> Result<bool, ProjectError> {
        let mut transaction = self.pool.begin().await?;
        let conn = &mut *transaction;
        // Pages of the live version hold it shared, so from here on it stands still.
        if state::live_version(conn, P::NAME, Lock::Update).await? != from {
            return Err(ProjectError::Switched(P::NAME));
        }
        let old = state::cursors(conn, P::NAME, from).await?;
        let new = state::cursors(conn, P::NAME, to).await?;
        if old
            .iter()
            .any(|(lane, pos)| new.get(lane).copied().unwrap_or(0) < *pos)
        {
            return Ok(false);
        }
        sqlx::query("update es.projection_live set version = $2 where name = $1")
            .bind(P::NAME)
            .bind(to)
            .execute(&mut *conn)
            .await?;
        state::forget(conn, P::NAME, from).await?;
        P::clear(conn, from).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
