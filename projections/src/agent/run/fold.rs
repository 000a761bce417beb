//! A run's inline row: what `GET` answers and when the sweeper looks.

use std::time::Duration;

use helix_aggregates::agent::run::Run;
use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use uuid::Uuid;

use super::view::RunView;
use crate::inline::{Inline, Summary};

/// An expired run is ended this long after its expiry, so that a client's own continue comes first.
pub const LAPSE_AFTER: Duration = Duration::from_secs(15);
/// No claim can be recovered earlier: the shortest turn time-out, the grace of a take-over, and the
/// sweeper's own wait (`agent-api` 1.7, 2.7).
pub const EARLIEST_RECOVERY: Duration = Duration::from_secs(1 + 60 + 30);

impl Inline for Run {
    fn summary(&self, stream: Uuid) -> Summary {
        let status = self.lifecycle().map_or("", |lifecycle| lifecycle.as_str());
        let view = RunView::of(self, RunId::new(stream));
        Summary {
            status: status.to_owned(),
            due: due(self),
            body: view.and_then(|view| serde_json::to_vec(&view).ok()),
        }
    }
}

fn due(run: &Run) -> Option<Timestamp> {
    match run {
        Run::Absent | Run::Ended { .. } => None,
        Run::Running { claim, .. } => Some(claim.started_at.plus(EARLIEST_RECOVERY)),
        Run::Waiting { body, .. } if body.steps_used >= body.max_steps => Some(body.updated_at),
        Run::Waiting { body, .. } => Some(body.expires_at.plus(LAPSE_AFTER)),
    }
}
