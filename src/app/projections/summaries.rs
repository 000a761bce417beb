//! The inline rows of streams of one kind, folded again.

use std::time::Duration;

use helix_projections::feed;
use helix_projections::inline::Inline;
use helix_projections::projector::{Checked, Difference};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Change, RebuildError, Rebuilt};
use crate::app::replay::compare;
use crate::app::replay::fold::{Fold, Keep, fold};
use crate::store::inline::{self, Span, StoredRow};
use crate::store::log::{self, Stream};
use crate::store::owner::Lane;
use crate::store::{Core, StoreError};

/// Streams listed at once.
const PAGE: i64 = 200;
/// How often a stream is folded again that moved meanwhile.
const ATTEMPTS: usize = 5;

/// Compares every stream in the snapshot of `conn`.
pub(super) async fn check<D: Inline>(
    core: &Core,
    conn: &mut PgConnection,
    mut tell: impl FnMut(u64) + Send,
) -> Result<Checked, RebuildError> {
    let mut checked = Checked::default();
    for lane in lanes(conn).await? {
        let mut after = Uuid::nil();
        while let Some(page) = judge_page::<D>(core, conn, lane, after, &mut checked).await? {
            after = page.last;
            tell(page.events);
            page.differing
                .into_iter()
                .for_each(|(_, found)| checked.differ(found));
        }
    }
    Ok(checked)
}

/// Writes every summary that differs. A head that differs is left alone and told: it is what shows
/// that a log was cut or changed.
pub(super) async fn rebuild<D: Inline>(
    core: &Core,
    mut tell: impl FnMut(u64) + Send,
) -> Result<Rebuilt, RebuildError> {
    let mut told = Checked::default();
    let mut written = 0;
    let mut conn = core.pool.acquire().await?;
    let lanes = lanes(&mut conn).await?;
    drop(conn);
    for lane in lanes {
        let mut after = Uuid::nil();
        loop {
            let mut snapshot = inline::snapshot(&core.pool).await?;
            let page = judge_page::<D>(core, &mut snapshot, lane, after, &mut told).await?;
            snapshot.rollback().await?;
            let Some(page) = page else { break };
            after = page.last;
            tell(page.events);
            for (stream, _) in page.differing {
                written += u64::from(renew::<D>(core, lane, stream, &mut told).await?);
            }
        }
    }
    Ok(Rebuilt {
        events: told.events,
        took: Duration::ZERO,
        change: Change::Written { rows: written },
        unresolved: told,
        parked: Vec::new(),
    })
}

async fn lanes(conn: &mut PgConnection) -> Result<Vec<Lane>, sqlx::Error> {
    let heads = feed::heads(conn).await?;
    Ok(heads
        .into_iter()
        .filter_map(|(lane, _)| u8::try_from(lane).ok().and_then(Lane::new))
        .collect())
}

/// Some streams of a lane, judged.
struct Judged {
    last: Uuid,
    events: u64,
    differing: Vec<(Uuid, Vec<Difference>)>,
}

/// Judges the next streams of a lane; `None` after the last.
async fn judge_page<D: Inline>(
    core: &Core,
    conn: &mut PgConnection,
    lane: Lane,
    after: Uuid,
    counts: &mut Checked,
) -> Result<Option<Judged>, StoreError> {
    let rows = inline::rows(conn, D::KIND, lane, after, PAGE).await?;
    let Some(last) = rows.last() else {
        return Ok(None);
    };
    let mut page = Judged {
        last: last.stream,
        events: 0,
        differing: Vec::new(),
    };
    for stored in &rows {
        let (fold, found) = judge::<D>(core, conn, stored).await?;
        page.events += fold.loaded.version;
        if !found.is_empty() {
            page.differing.push((stored.stream, found));
        }
    }
    counts.streams += rows.len() as u64;
    counts.events += page.events;
    Ok(Some(page))
}

async fn judge<D: Inline>(
    core: &Core,
    conn: &mut PgConnection,
    stored: &StoredRow,
) -> Result<(Fold<D>, Vec<Difference>), StoreError> {
    let key = core.key(stored.last_key).await?;
    let fold = fold(conn, stored, key.as_deref(), None, Keep::Nothing).await?;
    let mut found = compare::head(stored, &fold);
    if found.is_empty() {
        found = compare::summary(stored, key.as_deref(), &fold);
    }
    Ok((fold, found))
}

/// Makes one summary right. `true` when it had to be written.
async fn renew<D: Inline>(
    core: &Core,
    lane: Lane,
    stream: Uuid,
    told: &mut Checked,
) -> Result<bool, RebuildError> {
    for _ in 0..ATTEMPTS {
        let mut snapshot = inline::snapshot(&core.pool).await?;
        let Some(stored) = inline::row(&mut snapshot, D::KIND, lane, stream).await? else {
            return Ok(false);
        };
        let (fold, found) = judge::<D>(core, &mut snapshot, &stored).await?;
        snapshot.rollback().await?;
        if found.is_empty() {
            return Ok(false);
        }
        let Some(key) = core.key(stored.last_key).await? else {
            told.differ(found);
            return Ok(false);
        };
        if !compare::head(&stored, &fold).is_empty() {
            told.differ(found);
            return Ok(false);
        }
        let sealed_for = Stream {
            id: stream,
            lane,
            owner: stored.head.owner,
            key,
        };
        let row = log::row(&sealed_for, &fold.loaded)?;
        let span = Span {
            created_ms: fold.created.millis(),
            updated_ms: fold.loaded.at.millis(),
        };
        if inline::replace(&core.pool, &stored, &row, span).await? {
            return Ok(true);
        }
    }
    // Its own appends write the summary each time; nothing is left to do.
    Ok(false)
}
