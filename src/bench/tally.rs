//! The smallest aggregate that does everything the log does: what is measured is the store.

use helix_aggregates::decider::{Decider, WireEvent};
use helix_aggregates::sealed::Sealed;
use helix_aggregates::time::Stamp;
use helix_projections::inline::{Inline, Summary};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TallyEvent {
    #[serde(rename = "ticked")]
    Ticked { count: u64, note: Sealed<String> },
}

impl WireEvent for TallyEvent {
    fn name(&self) -> &'static str {
        "ticked"
    }

    fn version(&self) -> u16 {
        1
    }
}

/// Counts so many ticks, each with a note.
#[derive(Debug, Clone)]
pub struct Tick {
    pub times: u32,
    pub note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing to count")]
pub struct NothingToCount;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub count: u64,
}

impl Decider for Tally {
    const KIND: &'static str = "tally";
    type Command = Tick;
    type Event = TallyEvent;
    type Error = NothingToCount;

    fn decide(&self, tick: &Tick, _stamp: Stamp) -> Result<Vec<TallyEvent>, NothingToCount> {
        if tick.times == 0 {
            return Err(NothingToCount);
        }
        let ticked = |n| TallyEvent::Ticked {
            count: self.count + u64::from(n),
            note: Sealed::Open(tick.note.clone()),
        };
        Ok((1..=tick.times).map(ticked).collect())
    }

    fn evolve(&mut self, event: &TallyEvent) {
        let TallyEvent::Ticked { count, .. } = event;
        self.count = *count;
    }
}

impl Inline for Tally {
    fn summary(&self, _stream: Uuid) -> Summary {
        Summary {
            status: "counting".to_owned(),
            due: None,
            body: Some(self.count.to_string().into_bytes()),
        }
    }
}
