//! A keyed operation on a run: its receipt, and the answer a receipt stores.

use helix_aggregates::ids::RunId;
use serde::Deserialize;
use uuid::Uuid;

use crate::app::caller::Caller;
use crate::app::idempotency::{IdempotencyKey, KeyedRequest};
use crate::app::problem::Problem;
use crate::store::guarded;
use crate::store::receipt::{self, FoundReceipt, ReceiptKey, ReceiptOutcome, ReceiptWrite};
use crate::store::sealing::DataKey;
use crate::store::{Core, StoreError};

/// The answer of a run operation: a run as JSON, fresh or stored.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub run_id: String,
    /// The run's version in the body, which a replay may have left behind.
    pub version: u64,
    pub body: Vec<u8>,
    pub replayed: bool,
}

impl Reply {
    /// Reads id and version back from a stored or fresh body.
    pub fn of(status: u16, body: Vec<u8>, replayed: bool) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Named {
            run_id: String,
            version: u64,
        }
        let named: Named = serde_json::from_slice(&body)
            .map_err(|_| StoreError::Damaged("a stored answer is not a run".to_owned()))?;
        Ok(Self {
            status,
            run_id: named.run_id,
            version: named.version,
            body,
            replayed,
        })
    }
}

/// One keyed request on a run.
#[derive(Debug, Clone)]
pub struct Keyed(KeyedRequest);

impl Keyed {
    /// `spelled` is the canonical form of the validated request.
    pub fn new(
        core: &Core,
        caller: &Caller,
        operation: String,
        key: &IdempotencyKey,
        spelled: &[u8],
    ) -> Self {
        Self(KeyedRequest {
            key: ReceiptKey {
                owner: caller.owner_key,
                operation,
                key_hash: key.hash(),
            },
            request_mac: core.keyring.mac("request", &[spelled]),
        })
    }

    /// What names this request's receipt.
    pub fn key(&self) -> &ReceiptKey {
        &self.0.key
    }

    /// The stored answer of an earlier identical request, `None` for a fresh key.
    pub async fn replay(&self, core: &Core, caller: &Caller) -> Result<Option<Reply>, Problem> {
        let found =
            guarded::receipt(&core.reads, &caller.reader(), caller.lane, &self.0.key).await?;
        self.answer(core, found).await
    }

    /// The answer that `found` stores, `None` for a fresh key.
    pub async fn answer(
        &self,
        core: &Core,
        found: Option<FoundReceipt>,
    ) -> Result<Option<Reply>, Problem> {
        let stored = self.0.stored(core, found).await?;
        stored
            .map(|stored| Reply::of(stored.status, stored.body, true))
            .transpose()
    }

    /// The receipt that stores `body` as the answer.
    pub fn completed(
        &self,
        key: &DataKey,
        run: RunId,
        status: u16,
        body: &[u8],
        claim: Option<Uuid>,
    ) -> Result<ReceiptWrite, StoreError> {
        let outcome = self.0.completed(key, status, body, claim)?;
        Ok(self.0.write(run.to_string(), outcome))
    }

    /// The receipt that reserves the key for a claimed turn.
    pub fn processing(
        &self,
        run: RunId,
        claim: Uuid,
        claimed_version: u64,
        lease_ms: i64,
    ) -> ReceiptWrite {
        let outcome = ReceiptOutcome::Processing {
            claim,
            claimed_version,
            lease_ms,
        };
        self.0.write(run.to_string(), outcome)
    }

    /// Records that the outcome of `claim`'s reservation will never be known.
    pub async fn give_up(
        &self,
        core: &Core,
        caller: &Caller,
        claim: Uuid,
    ) -> Result<(), StoreError> {
        receipt::mark_unknown(&core.pool, caller.lane, &self.0.key, claim).await
    }
}
