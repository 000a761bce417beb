//! How a turn comes to a worker (settled question 87).
//!
//! What must stay true: a turn is in the hands of a worker only when the answer that tells of it is
//! on its way to a client that is still there. A claim whose client hangs up, however early or late,
//! leaves the turn as it found it, its attempt number included.

use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use secrecy::SecretString;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::request::ClaimRequest;
use super::{GivenTurn, Workers, fence, fresh_token, input, standing};
use crate::app::access::worker_tokens::WorkerCaller;
use crate::app::problem::Problem;
use crate::store::offers::{self, Claim, Fence};
use crate::store::uses::Used;
use crate::store::watch::BELL;
use crate::store::{Core, Line, StoreError};

/// A claim waits on notices; it looks by itself less often.
const CLAIM_LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a worker waits for those before it to have looked; with a database that answers, a look
/// takes a millisecond.
const TURNSTILE: Duration = Duration::from_secs(8);
/// Offers that one look may find to be no turn any more.
const LOOKS: usize = 4;

/// Whether whoever asked is there to hear the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Here,
    Gone,
}

/// A turn that was taken for a worker who has not heard of it. Dropped, it is offered again.
struct Untold {
    core: Arc<Core>,
    /// `None` once its worker is told.
    fence: Option<Fence>,
}

impl Untold {
    fn told(mut self) {
        self.fence = None;
    }
}

impl Drop for Untold {
    fn drop(&mut self) {
        let Some(fence) = self.fence else { return };
        let core = Arc::clone(&self.core);
        self.core.spawn(async move {
            match offers::give_back(&core.pool, &fence).await {
                Ok(Some(back)) => {
                    core.hub.publish(back.offer, back.moved);
                    core.hub.publish(BELL, back.rung);
                }
                Ok(None) => {}
                // The lease says the same, later.
                Err(error) => tracing::debug!(%error, "a turn was not given back"),
            }
        });
    }
}

impl Workers {
    /// Gives a worker the oldest turn that fits, waiting for one at most as long as it says.
    pub async fn claim(
        &self,
        worker: WorkerCaller,
        request: &ClaimRequest,
        presence: impl Fn() -> Presence,
    ) -> Result<Option<GivenTurn>, Problem> {
        let place = Arc::clone(&self.waiting).try_acquire_owned();
        let _place = place.map_err(|_| StoreError::Overloaded)?;
        self.note_use(worker);
        let until = Instant::now() + request.wait;
        let hub = &self.core().hub;
        let (mut bell, mut credential) = (hub.watch(BELL), hub.watch(worker.row_id));
        while presence() == Presence::Here {
            let heard = (bell.seen(), credential.seen());
            let taken = self.try_claim(worker, &request.capabilities, &presence);
            if let Some((given, untold)) = taken.await? {
                if presence() == Presence::Gone {
                    return Ok(None);
                }
                untold.told();
                let attempt = given.attempt;
                tracing::info!(run.id = %given.run_id, attempt, "a worker took a turn");
                return Ok(Some(given));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            tokio::select! {
                () = bell.past(heard.0) => {}
                () = credential.past(heard.1) => {}
                () = tokio::time::sleep_until(until.min(Instant::now() + CLAIM_LOOK_EVERY)) => {}
            }
        }
        Ok(None)
    }

    /// For the list of tokens; no request waits for it.
    fn note_use(&self, worker: WorkerCaller) {
        let core = Arc::clone(self.core());
        self.core().spawn(async move {
            if let Err(error) = core
                .note_use(Used::WorkerToken, worker.row_id, Line::Ordinary)
                .await
            {
                tracing::debug!(%error, "the use of a worker token was not noted");
            }
        });
    }

    async fn try_claim(
        &self,
        worker: WorkerCaller,
        capabilities: &[String],
        presence: impl Fn() -> Presence,
    ) -> Result<Option<(GivenTurn, Untold)>, Problem> {
        let turn = tokio::time::timeout(TURNSTILE, self.turnstile.lock()).await;
        let _turn = turn.map_err(|_| Problem::from(StoreError::TimedOut))?;
        for _ in 0..LOOKS {
            if presence() == Presence::Gone {
                return Ok(None);
            }
            // Each attempt has a bearer of its own, also one that turns out to be of nothing.
            let token = fresh_token()?;
            let found = self.take(fence(worker, &token), capabilities).await?;
            let Some((claim, untold)) = found else {
                return Ok(None);
            };
            if let Some(given) = self.given(&token, &claim).await? {
                return Ok(Some((given, untold)));
            }
            // A run that was erased or has moved on in this moment leaves nothing to work on; its
            // holder finds out by itself, and the next offer may be had.
            untold.told();
        }
        Ok(None)
    }

    /// Takes an offer in a task of its own: the statement runs to its end although nobody waits for
    /// it any more, and only then can be taken back what it did.
    async fn take(
        &self,
        fence: Fence,
        capabilities: &[String],
    ) -> Result<Option<(Claim, Untold)>, StoreError> {
        let core = Arc::clone(self.core());
        let capabilities = capabilities.to_vec();
        let (told, outcome) = oneshot::channel();
        self.core().spawn(async move {
            let untold = Untold {
                core: Arc::clone(&core),
                fence: Some(fence),
            };
            let claimed = offers::claim(&core.pool, &fence, &capabilities).await;
            let unheard = told.send(match claimed {
                Ok(Some(claim)) => Ok(Some((claim, untold))),
                Ok(None) => {
                    untold.told();
                    Ok(None)
                }
                // What a statement without an answer did is not known.
                Err(error) => Err(error),
            });
            drop(unheard);
        });
        outcome.await.unwrap_or(Err(StoreError::TimedOut))
    }

    async fn given(
        &self,
        token: &SecretString,
        claim: &Claim,
    ) -> Result<Option<GivenTurn>, Problem> {
        let offer = &claim.offer;
        let run_id = RunId::new(offer.run);
        let Some((_, loaded)) = standing(&self.runs, offer.lane, offer.run).await? else {
            return Ok(None);
        };
        if loaded.version != offer.stream_version {
            return Ok(None);
        }
        let Some(input) = input::of(run_id, &loaded.state, claim) else {
            return Ok(None);
        };
        Ok(Some(GivenTurn {
            turn_token: token.clone(),
            run_id,
            run_version: offer.run_version,
            attempt: offer.attempt,
            input,
            lease_expires_at: Timestamp::from_millis(claim.lease_until_ms),
        }))
    }
}
