//! The end of a worker's turn: its product goes in once, and is acknowledged by the log.

use serde_json::Value;
use tokio::time::Instant;

use super::request::CompleteRequest;
use super::{LOOK_EVERY, PATIENCE, Workers, fence, fenced, mailbox, receipt};
use crate::app::access::worker_tokens::WorkerCaller;
use crate::app::problem::{Code, Problem};
use crate::store::offers::{self, Beat, Fence, Found, Handed};

impl Workers {
    /// Hands in the turn's product, and answers with the turn's receipt once it is committed.
    pub async fn complete(
        &self,
        worker: WorkerCaller,
        request: &CompleteRequest,
    ) -> Result<Value, Problem> {
        let core = self.core();
        let fence = fence(worker, &request.turn_token);
        let found = self.found(&fence).await?;
        let spelled = helix_aggregates::canonical::to_vec(&request.product);
        let mac = core.keyring.mac("worker-product", &[&spelled]);
        if found.product_mac.is_none() {
            self.hand_in(&fence, &found, request, &mac).await?;
        }
        // What stands there may be an earlier product of the same attempt.
        let found = self.found(&fence).await?;
        if found.product_mac.as_deref() != Some(&mac[..]) {
            return Err(fenced());
        }
        self.receipt_of(&fence, &found).await
    }

    async fn hand_in(
        &self,
        fence: &Fence,
        found: &Found,
        request: &CompleteRequest,
        mac: &[u8; 32],
    ) -> Result<(), Problem> {
        let core = self.core();
        let key = core.key(Some(found.offer.key_id)).await?;
        let key = key.ok_or_else(fenced)?;
        let message = core.ids.uuid();
        let sealed = mailbox::seal(&key, &mailbox::request_place(message), &request.product)?;
        let handed = offers::hand_in(&core.pool, fence, message, &sealed, mac).await;
        if let Handed::In(moved) = handed.map_err(Problem::from)? {
            core.hub.publish(found.offer.id, moved);
        }
        Ok(())
    }

    /// Waits for the step that ends the turn. It is read from the log, so that the same product has
    /// the same receipt for as long as the attempt is known.
    async fn receipt_of(&self, fence: &Fence, found: &Found) -> Result<Value, Problem> {
        let core = self.core();
        let offer = &found.offer;
        let until = Instant::now() + PATIENCE;
        let mut steps = core.hub.watch(offer.run);
        loop {
            if let Some(ended) = receipt::of(core, offer).await? {
                return ended.ok_or_else(fenced);
            }
            let beat = offers::beat(&core.pool, fence)
                .await
                .map_err(Problem::from)?;
            if beat == Beat::Fenced {
                // The process that had the product is gone, or has just ended the turn.
                let ended = receipt::of(core, offer).await?;
                return ended.flatten().ok_or_else(fenced);
            }
            if Instant::now() >= until {
                return Err(Problem::new(Code::Unavailable).because("a product waits to be judged"));
            }
            tokio::select! {
                () = steps.past(offer.stream_version) => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }
}
