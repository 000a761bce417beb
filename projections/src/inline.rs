//! The inline projection: the summary of a stream, written by the flush that writes its events.

use helix_aggregates::access::review::Body;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::{BriefId, ReviewId};
use helix_aggregates::time::Timestamp;
use uuid::Uuid;

use crate::access::brief::BriefRow;
use crate::access::review::ReviewRow;

/// What reads of a stream are answered from. The store seals `body` before it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Clear, for queries.
    pub status: String,
    /// When a background worker has to look at the stream next.
    pub due: Option<Timestamp>,
    /// The view as JSON, or nothing when reads never need it.
    pub body: Option<Vec<u8>>,
}

/// An aggregate whose summary is a pure function of its state.
pub trait Inline: Decider {
    /// Nothing, for aggregates that are looked up in the ledger rows written beside their events, or in
    /// their folded streams.
    fn summary(&self, _stream: Uuid) -> Summary {
        Summary::default()
    }
}

impl Inline for helix_aggregates::access::brief::Brief {
    fn summary(&self, stream: Uuid) -> Summary {
        let row = BriefRow::of(self, BriefId::new(stream));
        Summary {
            body: row.and_then(|row| serde_json::to_vec(&row).ok()),
            ..Summary::default()
        }
    }
}

impl Inline for helix_aggregates::access::review::Review {
    fn summary(&self, stream: Uuid) -> Summary {
        let row = ReviewRow::of(self, ReviewId::new(stream));
        Summary {
            status: self
                .body()
                .map_or_else(String::new, |body| body.state().as_str().to_owned()),
            due: self.body().and_then(Body::due),
            body: row.and_then(|row| serde_json::to_vec(&row).ok()),
        }
    }
}

impl Inline for helix_aggregates::agent::evidence::Evidence {}
impl Inline for helix_aggregates::access::account::Account {}
impl Inline for helix_aggregates::access::agent_account::AgentAccount {}
impl Inline for helix_aggregates::access::audit::Audit {}
impl Inline for helix_aggregates::access::grant::Grant {}
impl Inline for helix_aggregates::access::token::Token {}
impl Inline for helix_aggregates::access::workspace::Workspace {}
impl Inline for helix_aggregates::access::webhook::Webhook {}
impl Inline for helix_aggregates::access::worker_token::WorkerToken {}
