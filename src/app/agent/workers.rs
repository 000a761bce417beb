//! Turns solved by external workers: claim, heartbeat, tool, complete (settled questions 87 to 90,
//! ADR 0011).
//!
//! What must stay true: a worker is told what the sealed log says of its turn and nothing of whose
//! it is; whatever it sends is judged by the statement that acts on it; a product is acknowledged
//! when, and only when, the result made of it is committed. Any process serves any worker: tool
//! calls and the product go to the process that executes the turn, also when that is this one.

mod completion;
mod input;
pub mod mailbox;
pub mod product;
mod receipt;
pub mod request;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helix_aggregates::agent::run::Run;
use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::runs::Runs;
use crate::app::access::worker_tokens::WorkerCaller;
use crate::app::problem::{Code, Problem};
use crate::store::log::{Loaded, Stream};
use crate::store::offers::{self, Beat, Claim, Fence, Found, Posted, Reply};
use crate::store::owner::Lane;
use crate::store::watch::BELL;
use crate::store::{Core, StoreError, read, worker_tokens};
use mailbox::{ToolAsk, ToolReply};
use request::{ClaimRequest, ToolRequest};

/// Workers that may wait for a turn at a time; beyond them a claim answers 503.
const WAITING: usize = 256;
/// How often a wait looks by itself: whether the holder lives is told by no notice.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A claim waits on notices; it looks by itself less often.
const CLAIM_LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a worker waits for those before it to have looked; with a database that answers, a look
/// takes a millisecond.
const TURNSTILE: Duration = Duration::from_secs(8);
/// Offers that one look may find to be no turn any more.
const LOOKS: usize = 4;
/// Longest wait for the answer of a call, and for the commit behind a product. A product may be
/// handed in again.
const PATIENCE: Duration = Duration::from_secs(60);

/// The use cases of workers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workers {
    runs: Runs,
    waiting: Arc<Semaphore>,
    /// One waiting worker looks at a time, in the order they came.
    turnstile: Arc<Mutex<()>>,
}

/// A turn as its worker receives it.
pub struct GivenTurn {
    pub turn_token: SecretString,
    pub run_id: RunId,
    pub run_version: u64,
    pub attempt: u32,
    pub input: Value,
    pub lease_expires_at: Timestamp,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    pub lease_expires_at: Timestamp,
    pub orders: Orders,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orders {
    GoOn,
    /// The turn is over: cancelled, expired, or without its credential.
    Stop,
}

impl Workers {
    pub fn new(runs: Runs) -> Self {
        Self {
            runs,
            waiting: Arc::new(Semaphore::new(WAITING)),
            turnstile: Arc::default(),
        }
    }

    fn core(&self) -> &Arc<Core> {
        self.runs.core()
    }

    /// Gives a worker the oldest turn that fits, waiting for one at most as long as it says.
    pub async fn claim(
        &self,
        worker: WorkerCaller,
        request: &ClaimRequest,
    ) -> Result<Option<GivenTurn>, Problem> {
        let place = Arc::clone(&self.waiting).try_acquire_owned();
        let _place = place.map_err(|_| StoreError::Overloaded)?;
        self.note_use(worker);
        let until = Instant::now() + request.wait;
        let hub = &self.core().hub;
        let (mut bell, mut credential) = (hub.watch(BELL), hub.watch(worker.row_id));
        loop {
            let heard = (bell.seen(), credential.seen());
            if let Some(given) = self.try_claim(worker, &request.capabilities).await? {
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
    }

    /// For the list of tokens; no request waits for it.
    fn note_use(&self, worker: WorkerCaller) {
        let core = Arc::clone(self.core());
        self.core().spawn(async move {
            if let Err(error) = worker_tokens::note_use(&core.pool, worker.row_id).await {
                tracing::debug!(%error, "the use of a worker token was not noted");
            }
        });
    }

    async fn try_claim(
        &self,
        worker: WorkerCaller,
        capabilities: &[String],
    ) -> Result<Option<GivenTurn>, Problem> {
        let turn = tokio::time::timeout(TURNSTILE, self.turnstile.lock()).await;
        let _turn = turn.map_err(|_| Problem::from(StoreError::TimedOut))?;
        for _ in 0..LOOKS {
            // Each attempt has a bearer of its own, also one that turns out to be of nothing.
            let token = fresh_token()?;
            let fence = fence(worker, &token);
            let claimed = offers::claim(&self.core().pool, &fence, capabilities).await;
            let Some(claim) = claimed.map_err(Problem::from)? else {
                return Ok(None);
            };
            // A run that was erased or has moved on in this moment leaves nothing to work on; its
            // holder finds out by itself, and the next offer may be had.
            if let Some(given) = self.given(&token, &claim).await? {
                return Ok(Some(given));
            }
        }
        Ok(None)
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
        tracing::info!(run.id = %run_id, attempt = offer.attempt, "a worker took a turn");
        Ok(Some(GivenTurn {
            turn_token: token.clone(),
            run_id,
            run_version: offer.run_version,
            attempt: offer.attempt,
            input,
            lease_expires_at: Timestamp::from_millis(claim.lease_until_ms),
        }))
    }

    /// Keeps a turn, and learns whether it is still wanted.
    pub async fn heartbeat(
        &self,
        worker: WorkerCaller,
        turn_token: &SecretString,
    ) -> Result<Heard, Problem> {
        let fence = fence(worker, turn_token);
        let beat = offers::beat(&self.core().pool, &fence).await;
        let heard = |until_ms, orders| Heard {
            lease_expires_at: Timestamp::from_millis(until_ms),
            orders,
        };
        match beat.map_err(Problem::from)? {
            Beat::Held { until_ms } => Ok(heard(until_ms, Orders::GoOn)),
            Beat::Stopped { until_ms } => Ok(heard(until_ms, Orders::Stop)),
            Beat::Fenced => Err(fenced()),
        }
    }

    /// Lets the process that executes the turn call one of its capabilities.
    pub async fn tool(
        &self,
        worker: WorkerCaller,
        request: &ToolRequest,
    ) -> Result<ToolReply, Problem> {
        let core = self.core();
        let fence = fence(worker, &request.turn_token);
        let found = self.found(&fence).await?;
        let key = core.key(Some(found.offer.key_id)).await?;
        let key = key.ok_or_else(fenced)?;
        let message = core.ids.uuid();
        let ask = ToolAsk {
            capability: request.capability.clone(),
            arguments: request.arguments.clone(),
        };
        let sealed = mailbox::seal(&key, &mailbox::request_place(message), &ask)?;
        match offers::post(&core.pool, &fence, message, &sealed)
            .await
            .map_err(Problem::from)?
        {
            Posted::At(moved) => core.hub.publish(found.offer.id, moved),
            Posted::TooMany => return Err(Problem::new(Code::Unavailable)),
            Posted::Fenced => return Err(fenced()),
        }
        let answer = self.answer_of(&fence, found.offer.id, message).await?;
        let reply = mailbox::open(&key, &mailbox::answer_place(message), &answer)?;
        Ok(reply)
    }

    async fn answer_of(
        &self,
        fence: &Fence,
        offer: Uuid,
        message: Uuid,
    ) -> Result<Vec<u8>, Problem> {
        let core = self.core();
        let until = Instant::now() + PATIENCE;
        let mut changes = core.hub.watch(offer);
        loop {
            let heard = changes.seen();
            let found = offers::reply(&core.pool, fence, offer, message).await;
            let seen = match found.map_err(Problem::from)? {
                Reply::Answered(answer) => return Ok(answer),
                Reply::Waiting(moved) => moved.max(heard),
                Reply::Fenced => return Err(fenced()),
            };
            if Instant::now() >= until {
                return Err(Problem::new(Code::Unavailable).because("a call was not answered"));
            }
            tokio::select! {
                () = changes.past(seen) => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn found(&self, fence: &Fence) -> Result<Found, Problem> {
        let found = offers::find(&self.core().pool, fence).await;
        found.map_err(Problem::from)?.ok_or_else(fenced)
    }
}

/// A run as its stream stands now, with the key its owner's texts are sealed under; `None` when it
/// is erased.
pub async fn standing(
    runs: &Runs,
    lane: Lane,
    run: Uuid,
) -> Result<Option<(Stream, Arc<Loaded<Run>>)>, StoreError> {
    let core = runs.core();
    let Some(head) = read::head(&core.pool, lane, run).await? else {
        return Ok(None);
    };
    let Some(key) = core.key(head.key_id).await? else {
        return Ok(None);
    };
    let stream = Stream {
        id: run,
        lane,
        owner: head.owner,
        key,
    };
    let loaded = runs.log().at(&stream, &head).await?;
    Ok(Some((stream, loaded)))
}

/// The bearer of one attempt: 256 random bits, known to its worker and, hashed, to the database.
fn fresh_token() -> Result<SecretString, StoreError> {
    let mut random = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *random).map_err(|_| StoreError::Damaged("no randomness".to_owned()))?;
    Ok(SecretString::from(
        URL_SAFE_NO_PAD.encode(random.as_slice()),
    ))
}

fn fence(worker: WorkerCaller, turn_token: &SecretString) -> Fence {
    Fence {
        worker: worker.row_id,
        turn_hash: Sha256::digest(turn_token.expose_secret().as_bytes()).into(),
    }
}

fn fenced() -> Problem {
    Problem::new(Code::AttemptFenced)
}

/// The input is a person's words.
impl std::fmt::Debug for GivenTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GivenTurn")
            .field("run_id", &self.run_id)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl GivenTurn {
    /// The answer of a claim (settled question 87). Holds the bearer.
    pub fn to_value(&self) -> Value {
        json!({
            "turn_token": self.turn_token.expose_secret(),
            "run_id": self.run_id,
            "run_version": self.run_version,
            "attempt": self.attempt,
            "input": self.input,
            "lease_expires_at": self.lease_expires_at,
        })
    }
}

impl Heard {
    pub fn to_value(&self) -> Value {
        json!({
            "lease_expires_at": self.lease_expires_at,
            "cancel_requested": self.orders == Orders::Stop,
        })
    }
}
