//! One page folded in memory.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Folded, Parked, Projection, Rows};
use crate::feed::{FeedEvent, Poison, Upcast};

/// What a page changes.
pub(super) struct FoldedPage<R> {
    pub changed: Rows<R>,
    pub parked: Vec<Parked>,
}

/// What one event does to its stream's row.
pub(super) enum Step<R> {
    Changed(Folded<R>),
    /// The row knows the event already.
    Known,
    Poisoned(Poison),
}

pub(super) fn step<P: Projection>(
    upcast: Upcast,
    row: Option<&Folded<P::Row>>,
    event: &FeedEvent,
) -> Step<P::Row> {
    let after = row.map_or(0, |row| row.seq);
    if event.seq <= after {
        return Step::Known;
    }
    if event.seq != after + 1 {
        return Step::Poisoned(Poison::OutOfOrder { after });
    }
    match P::fold(row.map(|row| &row.row), event, upcast) {
        Ok(row) => Step::Changed(Folded {
            seq: event.seq,
            row,
        }),
        Err(poison) => Step::Poisoned(poison),
    }
}

/// Folds `events` onto the `known` rows; streams in `aside` are passed over.
pub(super) fn fold<P: Projection>(
    upcast: Upcast,
    events: &[FeedEvent],
    known: &Rows<P::Row>,
    mut aside: HashSet<Uuid>,
) -> FoldedPage<P::Row> {
    let mut page = FoldedPage {
        changed: Rows::new(),
        parked: Vec::new(),
    };
    for event in events {
        if aside.contains(&event.stream) {
            continue;
        }
        let row = page
            .changed
            .get(&event.stream)
            .or_else(|| known.get(&event.stream));
        match step::<P>(upcast, row, event) {
            Step::Changed(row) => {
                page.changed.insert(event.stream, row);
            }
            Step::Known => {}
            Step::Poisoned(poison) => {
                aside.insert(event.stream);
                page.parked.push(Parked {
                    stream: event.stream,
                    seq: event.seq,
                    reason: poison.to_string(),
                });
            }
        }
    }
    page
}
