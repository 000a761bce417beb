//! Turns solved by external workers: claim, heartbeat, tool, complete (settled questions 87 to 90,
//! ADR 0011).
//!
//! What must stay true: a worker is told what the sealed log says of its turn and nothing of whose
//! it is; whatever it sends is judged by the statement that acts on it; a product is acknowledged
//! when, and only when, the result made of it is committed. Any process serves any worker: tool
//! calls and the product go to the process that executes the turn, also when that is this one.

pub mod claims;
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
use crate::store::offers::{self, Beat, Fence, Found, Posted, Reply};
use crate::store::owner::Lane;
use crate::store::{Core, StoreError, read};
use mailbox::{ToolAsk, ToolReply};
use request::ToolRequest;

/// Workers that may wait for a turn at a time; beyond them a claim answers 503.
const WAITING: usize = 256;
/// How often a wait looks by itself: whether the holder lives is told by no notice.
const LOOK_EVERY: Duration = Duration::from_secs(1);
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
