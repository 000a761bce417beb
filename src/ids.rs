//! Fresh ids and the only source of their randomness.

use helix_aggregates::ids::{AccountId, OperationId, RunId, TraceId, TurnId, WorkerTokenId};
use uuid::Uuid;

use crate::store::owner::Lane;

/// Makes ids; the one place that may draw them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ids;

impl Ids {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the injected source of ids"
    )]
    pub fn uuid(self) -> Uuid {
        Uuid::now_v7()
    }

    /// A stream id that names its lane, so no look-up needs the owner to find it.
    pub fn stream(self, lane: Lane) -> Uuid {
        lane.mark(self.uuid())
    }

    pub fn run(self, lane: Lane) -> RunId {
        RunId::new(self.stream(lane))
    }

    pub fn account(self) -> AccountId {
        AccountId::new(self.uuid())
    }

    pub fn worker_token(self, lane: Lane) -> WorkerTokenId {
        WorkerTokenId::new(self.stream(lane))
    }

    pub fn operation(self) -> OperationId {
        OperationId::new(self.uuid())
    }

    pub fn turn(self) -> TurnId {
        TurnId::new(self.uuid())
    }

    pub fn trace(self) -> TraceId {
        TraceId::new(self.uuid())
    }
}
