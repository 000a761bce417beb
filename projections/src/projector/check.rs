//! The proof that a rebuild would give what is stored, made without changing anything.
//!
//! The connection given must stand in one repeatable-read transaction: rows, cursors and events
//! are then of one moment, also under a running server.

use std::collections::BTreeMap;

use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::page::{Step, step};
use super::state::{self, Lock};
use super::{Folded, ProjectError, Projection, Projector, Rows, Scope};
use crate::feed::{self, FeedEvent, Place, Poison};

/// Differences that are named; the others are counted.
const NAMED: usize = 20;
/// Streams compared with one look at the stored rows.
const BATCH: usize = 500;

/// One place where stored and folded rows differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// `None` when it is no matter of one stream.
    pub stream: Option<Uuid>,
    pub field: String,
    pub stored: String,
    pub folded: String,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    pub events: u64,
    /// Streams compared.
    pub streams: u64,
    /// Events after the stored cursor, which nobody has folded yet.
    pub behind: u64,
    /// Streams that both sides have parked.
    pub parked: u64,
    /// How many streams differ, and the first of them.
    pub differing: u64,
    pub differences: Vec<Difference>,
}

impl Checked {
    /// Counts a differing stream and keeps as much of it as there is room for.
    pub fn differ(&mut self, differences: impl IntoIterator<Item = Difference>) {
        self.differing += 1;
        let room = NAMED.saturating_sub(self.differences.len());
        self.differences.extend(differences.into_iter().take(room));
    }
}

/// One stream folded from its first event.
struct Alone<R> {
    stream: Uuid,
    row: Option<Folded<R>>,
    poisoned: Option<(u64, Poison)>,
}

impl<P: Projection> Projector<P> {
    /// Folds every stream again and compares with the live rows. `tell` hears of events folded.
    pub async fn check(
        &self,
        conn: &mut PgConnection,
        mut tell: impl FnMut(u64) + Send,
    ) -> Result<Checked, ProjectError> {
        let version = state::live_version(conn, P::NAME, Lock::None).await?;
        let cursors = state::cursors(conn, P::NAME, version).await?;
        let mut checked = Checked::default();
        for (lane, head) in feed::heads(conn).await? {
            let until = cursors.get(&lane).copied().unwrap_or(0);
            checked.behind += head.saturating_sub(until);
            if until > head {
                let (stored, folded) = (until.to_string(), head.to_string());
                let field = format!("cursor of lane {lane}");
                checked.differ([Difference {
                    stream: None,
                    field,
                    stored,
                    folded,
                }]);
            }
            let scope = Scope { version, lane };
            self.check_lane(conn, scope, until, &mut checked, &mut tell)
                .await?;
        }
        Ok(checked)
    }

    async fn check_lane(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        until: u64,
        checked: &mut Checked,
        tell: &mut (impl FnMut(u64) + Send),
    ) -> Result<(), ProjectError> {
        let mut parked = state::all_parked(conn, P::NAME, scope).await?;
        let mut after: Place = (Uuid::nil(), 0);
        let mut batch: Vec<Alone<P::Row>> = Vec::new();
        loop {
            let events = feed::by_stream(conn, scope.lane, after, until, P::KINDS).await?;
            let Some(last) = events.last() else { break };
            after = (last.stream, last.seq);
            checked.events += events.len() as u64;
            tell(events.len() as u64);
            for event in &events {
                self.take(&mut batch, event);
            }
            if batch.len() > BATCH {
                // The last stream may go on in the next page.
                let open = batch.pop();
                compare::<P>(conn, scope, &batch, &mut parked, checked).await?;
                batch = open.into_iter().collect();
            }
        }
        compare::<P>(conn, scope, &batch, &mut parked, checked).await?;
        for (stream, seq) in parked {
            checked.differ([aside(
                Some(stream),
                format!("parked at event {seq}"),
                "no such stream",
            )]);
        }
        let limit = i64::try_from(NAMED).unwrap_or(i64::MAX);
        for stream in P::strays(conn, scope, until, limit).await? {
            checked.differ([aside(Some(stream), "a row".to_owned(), "no such stream")]);
        }
        Ok(())
    }

    fn take(&self, batch: &mut Vec<Alone<P::Row>>, event: &FeedEvent) {
        if batch.last().is_none_or(|last| last.stream != event.stream) {
            batch.push(Alone {
                stream: event.stream,
                row: None,
                poisoned: None,
            });
        }
        let Some(alone) = batch.last_mut().filter(|alone| alone.poisoned.is_none()) else {
            return;
        };
        match step::<P>(self.upcast, alone.row.as_ref(), event) {
            Step::Changed(row) => alone.row = Some(row),
            Step::Known => {}
            Step::Poisoned(poison) => alone.poisoned = Some((event.seq, poison)),
        }
    }
}

/// Compares folded streams with their stored rows and takes them out of `parked`.
async fn compare<P: Projection>(
    conn: &mut PgConnection,
    scope: Scope,
    batch: &[Alone<P::Row>],
    parked: &mut BTreeMap<Uuid, u64>,
    checked: &mut Checked,
) -> Result<(), ProjectError> {
    let streams: Vec<Uuid> = batch.iter().map(|alone| alone.stream).collect();
    let stored: Rows<P::Row> = P::load(conn, scope, &streams).await?;
    for alone in batch {
        checked.streams += 1;
        let set_aside = parked.remove(&alone.stream);
        checked.parked += u64::from(set_aside.is_some());
        let found = judge::<P>(alone, stored.get(&alone.stream), set_aside);
        if !found.is_empty() {
            checked.differ(found);
        }
    }
    Ok(())
}

fn judge<P: Projection>(
    alone: &Alone<P::Row>,
    stored: Option<&Folded<P::Row>>,
    set_aside: Option<u64>,
) -> Vec<Difference> {
    let stream = Some(alone.stream);
    let mut found = Vec::new();
    if set_aside != alone.poisoned.map(|(seq, _)| seq) {
        let stored = set_aside.map_or_else(
            || "folded".to_owned(),
            |seq| format!("parked at event {seq}"),
        );
        let folded = alone.poisoned.map_or_else(
            || "can be folded".to_owned(),
            |(seq, poison)| format!("cannot be folded at event {seq}: {poison}"),
        );
        found.push(aside(stream, stored, &folded));
    }
    match (stored, &alone.row) {
        (None, None) => {}
        (Some(_), None) => found.push(aside(stream, "a row".to_owned(), "no row")),
        (None, Some(_)) => found.push(aside(stream, "no row".to_owned(), "a row")),
        (Some(stored), Some(folded)) => {
            if stored.seq != folded.seq {
                let (stored, folded) = (stored.seq.to_string(), folded.seq.to_string());
                found.push(Difference {
                    stream,
                    field: "seq".to_owned(),
                    stored,
                    folded,
                });
            }
            found.extend(
                P::difference(&stored.row, &folded.row).map(|(field, stored, folded)| Difference {
                    stream,
                    field: field.to_owned(),
                    stored,
                    folded,
                }),
            );
        }
    }
    found
}

fn aside(stream: Option<Uuid>, stored: String, folded: &str) -> Difference {
    Difference {
        stream,
        field: "row".to_owned(),
        stored,
        folded: folded.to_owned(),
    }
}
