//! Reading an evidence ref back (settled question 82).

use helix_aggregates::ids::RunId;
use helix_projections::agent::evidence::view::EvidenceItemView;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::runs::{Runs, named};
use crate::app::caller::{Caller, SCOPE_READ};
use crate::app::problem::{Code, Problem};
use crate::store::log::Stream;
use crate::store::owner::Lane;

/// The stream beside a run's that holds its receipts and spans.
pub fn evidence_stream(run: RunId, lane: Lane) -> Uuid {
    let mut hasher = Sha256::new();
    hasher.update(b"run evidence");
    hasher.update(run.uuid().as_bytes());
    let digest = hasher.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    lane.mark(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

impl Runs {
    /// The item a ref of this run names. The present data-scope policy is checked again, so a
    /// revoked scope closes its texts.
    pub async fn evidence_item(
        &self,
        caller: &Caller,
        run_id: &str,
        item_ref: &str,
    ) -> Result<EvidenceItemView, Problem> {
        let item = self.item(caller, run_id, item_ref).await;
        item.map_err(|problem| {
            // A ref that is not there is answered as a run that is somebody else's.
            if problem.code == Code::NotFound {
                return Problem::new(Code::NoSuchRef);
            }
            problem
        })
    }

    async fn item(
        &self,
        caller: &Caller,
        run_id: &str,
        item_ref: &str,
    ) -> Result<EvidenceItemView, Problem> {
        caller.require(SCOPE_READ)?;
        let run = named(caller, run_id)?;
        let found = self.find(caller, run).await?;
        let stream = Stream {
            id: evidence_stream(run, found.stream.lane),
            ..found.stream
        };
        let loaded = self.evidence.fold(&stream).await?;
        let item = loaded
            .state
            .item(item_ref)
            .ok_or_else(|| Problem::new(Code::NotFound))?;
        let scope = std::slice::from_ref(&item.item.scope);
        caller.admit(&self.settings.policy, scope, SCOPE_READ)?;
        // The texts were read after the first look: a revocation in between still counts.
        self.find(caller, run).await?;
        Ok(EvidenceItemView::of(run, item))
    }
}
