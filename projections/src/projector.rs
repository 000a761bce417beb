//! The engine of asynchronous projections: pages of a lane folded into rows.
//!
//! What must stay true: rows and cursor move in one transaction, under the lock of the cursor, so
//! projectors that run at once fold every event once; an event read again changes nothing; an
//! event that cannot be folded parks its stream and no other. Deliberately absent: leases,
//! wake-ups and metrics, which belong to the worker that runs this.

mod check;
mod page;
mod rebuild;
pub(crate) mod state;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::feed::{self, FeedError, FeedEvent, Poison, Upcast};

pub use check::{Checked, Difference};
pub use rebuild::Switched;
pub use state::{Lag, lag, parked_streams};

/// A projection with one row a stream.
pub trait Projection: Send + Sync + 'static {
    /// Permanent: cursors are kept under it.
    const NAME: &'static str;
    /// The kinds of stream it folds; all others only move the cursor.
    const KINDS: &'static [&'static str];
    type Row: Clone + PartialEq + fmt::Debug + Send + Sync;

    /// The row after `event`; `None` is the row of a stream not seen before.
    fn fold(
        row: Option<&Self::Row>,
        event: &FeedEvent,
        upcast: Upcast,
    ) -> Result<Self::Row, Poison>;

    /// Where two rows of one stream differ: field, stored value, folded value.
    fn difference(stored: &Self::Row, folded: &Self::Row)
    -> Option<(&'static str, String, String)>;

    fn load(
        conn: &mut PgConnection,
        scope: Scope,
        streams: &[Uuid],
    ) -> impl Future<Output = Result<Rows<Self::Row>, sqlx::Error>> + Send;

    fn save(
        conn: &mut PgConnection,
        scope: Scope,
        rows: &Rows<Self::Row>,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Drops every row of a version.
    fn clear(
        conn: &mut PgConnection,
        version: i32,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// At most `limit` streams that have a row and no event at or before position `until`.
    fn strays(
        conn: &mut PgConnection,
        scope: Scope,
        until: u64,
        limit: i64,
    ) -> impl Future<Output = Result<Vec<Uuid>, sqlx::Error>> + Send;
}

/// Which rows: one version of a projection in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    pub version: i32,
    pub lane: i16,
}

/// A row and the last event of its stream that it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded<R> {
    pub seq: u64,
    pub row: R,
}

/// Rows by stream.
pub type Rows<R> = HashMap<Uuid, Folded<R>>;

/// Which version is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The one that reads are served from, whatever its number at that moment.
    Live,
    Version(i32),
}

/// A stream set aside, and the event that nobody could fold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parked {
    pub stream: Uuid,
    pub seq: u64,
    pub reason: String,
}

/// What one transaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// The position folded now.
    pub pos: u64,
    /// The lane's position when the page was read.
    pub head: u64,
    /// Events read.
    pub read: u64,
    /// Streams set aside by this page.
    pub parked: Vec<Parked>,
}

impl Advance {
    /// Whether the lane held nothing more.
    pub fn is_caught_up(&self) -> bool {
        self.pos >= self.head
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error(transparent)]
    Feed(#[from] FeedError),
    #[error("the projection {0} has no version that reads are served from")]
    NoVersion(&'static str),
    #[error("the projection {0} was switched to another version meanwhile")]
    Switched(&'static str),
}

impl From<sqlx::Error> for ProjectError {
    fn from(error: sqlx::Error) -> Self {
        Self::Feed(FeedError::Unavailable(error))
    }
}

/// Folds the log into the rows of one projection.
#[derive(Debug, Clone)]
pub struct Projector<P> {
    pool: PgPool,
    upcast: Upcast,
    projection: PhantomData<P>,
}

impl<P: Projection> Projector<P> {
    pub fn new(pool: PgPool, upcast: Upcast) -> Self {
        Self {
            pool,
            upcast,
            projection: PhantomData,
        }
    }

    /// Folds the next page of a lane in one transaction.
    pub async fn advance(&self, target: Target, lane: i16) -> Result<Advance, ProjectError> {
        let mut transaction = self.pool.begin().await?;
        let conn = &mut *transaction;
        let version = match target {
            Target::Live => state::live_version(conn, P::NAME, state::Lock::Share).await?,
            Target::Version(version) => version,
        };
        let scope = Scope { version, lane };
        // Whoever else folds this lane waits here, and then sees this page done.
        let pos = state::lock_cursor(conn, P::NAME, scope).await?;
        let head = feed::head(conn, lane).await?;
        let page = feed::page(conn, lane, pos, head, P::KINDS).await?;
        if page.read == 0 {
            return Ok(Advance {
                pos,
                head,
                read: 0,
                parked: Vec::new(),
            });
        }
        let streams: Vec<Uuid> = page.events.iter().map(|event| event.stream).collect();
        let aside = state::parked_of(conn, P::NAME, scope, &streams).await?;
        let known = P::load(conn, scope, &streams).await?;
        let folded = page::fold::<P>(self.upcast, &page.events, &known, aside);
        P::save(conn, scope, &folded.changed).await?;
        state::park(conn, P::NAME, scope, &folded.parked).await?;
        state::move_cursor(conn, P::NAME, scope, page.pos).await?;
        transaction.commit().await?;
        Ok(Advance {
            pos: page.pos,
            head,
            read: page.read,
            parked: folded.parked,
        })
    }
}
