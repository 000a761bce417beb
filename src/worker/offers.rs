//! Serves the turns that this process executes through external workers (ADR 0011).
//!
//! Exists because a worker's request may reach any process, while the turn's tool host lives in
//! one. What must stay true: as long as the turn is wanted, its offer shows that this process lives,
//! a lost worker's turn is offered again, and every request of the present attempt is answered; when
//! it is not wanted any more, the offer says so before anything else is done. Deliberately absent:
//! judgement of a product, which is the finaliser's, and of who may act, which is the statements'.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use helix_aggregates::agent::scope::NO_TOOLS;
use helix_aggregates::ids::RunId;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use crate::app::agent::runs::Runs;
use crate::app::agent::schema::Issues;
use crate::app::agent::workers::mailbox::{self, ToolAsk, ToolReply};
use crate::app::agent::workers::{product, standing};
use crate::solver::host::ToolHost;
use crate::solver::seam::{Draft, SolverError};
use crate::solver::worker::{OfferedTurn, Work};
use crate::store::log::Stream;
use crate::store::offers::{self, Message, MessageKind, NewOffer, Standing};
use crate::store::owner::Lane;
use crate::store::watch::BELL;
use crate::store::{Core, StoreError};

/// How often the holder shows that it lives; its lease lasts several times as long.
const RENEW_EVERY: Duration = Duration::from_secs(3);
/// The pause before the database is asked again after it has failed.
const PAUSE: Duration = Duration::from_millis(500);
/// Requests looked at in one go.
const PAGE: i64 = 16;

/// Takes turns from the desk of the `worker` solver. One a process.
#[derive(Debug)]
pub struct Offers {
    runs: Runs,
    queue: mpsc::Receiver<OfferedTurn>,
    /// `HELIX_WORKER_CLAIM_TIMEOUT_MS`; `None`: until the turn's deadline (settled question 16).
    claim_timeout: Option<Duration>,
}

impl Offers {
    pub fn new(
        runs: Runs,
        queue: mpsc::Receiver<OfferedTurn>,
        claim_timeout: Option<Duration>,
    ) -> Self {
        Self {
            runs,
            queue,
            claim_timeout,
        }
    }

    /// Serves turns as they come, each in a task of its own. Runs until cancelled.
    pub async fn run(mut self) {
        let holder = self.runs.core().ids.uuid();
        let mut turns = JoinSet::new();
        loop {
            tokio::select! {
                turn = self.queue.recv() => match turn {
                    Some(OfferedTurn { work, reply }) => {
                        let keeper = Keeper {
                            offer: self.runs.core().ids.uuid(),
                            runs: self.runs.clone(),
                            holder,
                            claim_timeout: self.claim_timeout,
                            work,
                        };
                        turns.spawn(async move { keeper.keep(reply).await });
                    }
                    None => return,
                },
                Some(_) = turns.join_next(), if !turns.is_empty() => {}
            }
        }
    }
}

/// One turn from its offer to its end.
struct Keeper {
    offer: Uuid,
    runs: Runs,
    holder: Uuid,
    claim_timeout: Option<Duration>,
    work: Work,
}

/// Where the turn's draft is awaited.
type Awaited = oneshot::Sender<Result<Draft, SolverError>>;

/// The run of an open offer.
struct Place {
    stream: Stream,
    stream_version: u64,
}

/// How the wait for a worker ended.
enum Ended {
    Drafted(Box<Draft>),
    /// Nobody waits for the turn any more.
    Unwanted,
    Failed(SolverError),
}

impl Keeper {
    async fn keep(&self, mut reply: Awaited) {
        let place = match self.begin(&mut reply).await {
            Ok(Some(place)) => place,
            Ok(None) => return,
            Err(error) => return answer(reply, Err(error)),
        };
        match self.serve(&place, &mut reply).await {
            Ended::Drafted(draft) => {
                answer(reply, Ok(*draft));
                self.see_off(&place).await;
            }
            Ended::Unwanted => self.withdraw().await,
            Ended::Failed(error) => {
                self.withdraw().await;
                answer(reply, Err(error));
            }
        }
    }

    fn core(&self) -> &Core {
        self.runs.core()
    }

    /// Offers the turn, for as long as the database is away. `None` when it is not wanted any more.
    async fn begin(&self, reply: &mut Awaited) -> Result<Option<Place>, SolverError> {
        loop {
            match self.open().await {
                Ok(Some(place)) => return Ok(Some(place)),
                Ok(None) => return Err(SolverError::Failed("the claim is over")),
                Err(error) => {
                    tracing::warn!(%error, "a turn could not be offered yet");
                }
            }
            tokio::select! {
                () = reply.closed() => return Ok(None),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    async fn open(&self) -> Result<Option<Place>, StoreError> {
        let Ok(run) = RunId::parse(&self.work.run_id) else {
            return Ok(None);
        };
        let Some(lane) = Lane::of_stream(run.uuid()) else {
            return Ok(None);
        };
        let Some((stream, loaded)) = standing(&self.runs, lane, run.uuid()).await? else {
            return Ok(None);
        };
        let claim = loaded.state.claim();
        let Some(claim) = claim.filter(|claim| claim.version == self.work.run_version) else {
            return Ok(None);
        };
        let left = self.work.deadline.saturating_duration_since(Instant::now());
        let new = NewOffer {
            id: self.offer,
            lane,
            run: run.uuid(),
            run_version: self.work.run_version,
            stream_version: loaded.version,
            key_id: stream.key.id(),
            credential: claim.credential,
            claimed_at_ms: claim.started_at.millis(),
            tools: self.tools(),
            shown: json!({
                "turn_id": self.work.turn_id,
                "trace_id": self.work.trace_id,
                "capabilities": capabilities(&self.work.host),
            }),
            holder: self.holder,
            left_ms: i64::try_from(left.as_millis()).unwrap_or(i64::MAX),
        };
        let rung = offers::open(&self.core().pool, &new).await?;
        Ok(rung.map(|rung| {
            self.core().hub.publish(BELL, rung);
            Place {
                stream,
                stream_version: loaded.version,
            }
        }))
    }

    /// The capabilities a worker must have for this turn.
    fn tools(&self) -> Vec<String> {
        let tools = self.work.allowed_tools.iter();
        tools.filter(|id| *id != NO_TOOLS).cloned().collect()
    }

    async fn serve(&self, place: &Place, reply: &mut Awaited) -> Ended {
        let mut changes = self.core().hub.watch(self.offer);
        let mut calls = JoinSet::new();
        let mut begun = HashSet::new();
        let mut renew_at = Instant::now() + self.next_look(Duration::ZERO);
        loop {
            let heard = changes.seen();
            match offers::pending(&self.core().pool, self.offer, PAGE).await {
                Ok(messages) => {
                    // What is not among them any more is answered.
                    begun.retain(|id| messages.iter().any(|one| one.id == *id));
                    for message in messages.into_iter().filter(|one| begun.insert(one.id)) {
                        match message.kind {
                            MessageKind::Product => return drafted(place, &message),
                            MessageKind::Tool => {
                                let call = self.call(place, message);
                                calls.spawn(call);
                            }
                        }
                    }
                }
                Err(error) => tracing::debug!(%error, "a worker's requests wait"),
            }
            tokio::select! {
                () = reply.closed() => return Ended::Unwanted,
                () = changes.past(heard) => {}
                () = tokio::time::sleep_until(renew_at) => {
                    match self.renew().await {
                        Ok(pause) => renew_at = Instant::now() + pause,
                        Err(ended) => return ended,
                    }
                }
                Some(_) = calls.join_next(), if !calls.is_empty() => {}
            }
        }
    }

    /// Shows that this process lives and looks after the worker; the time until the next look.
    async fn renew(&self) -> Result<Duration, Ended> {
        let held = match offers::renew(&self.core().pool, self.offer, self.holder).await {
            Ok(Some(held)) => held,
            Ok(None) => return Err(Ended::Failed(SolverError::Failed("the offer is gone"))),
            Err(error) => {
                tracing::debug!(%error, "an offer was not renewed");
                return Ok(PAUSE);
            }
        };
        if let Some(rung) = held.rung {
            tracing::info!(run.id = %self.work.run_id, attempt = held.attempt, "a worker was lost");
            self.core().hub.publish(BELL, rung);
            self.core().hub.publish(self.offer, held.moved);
        }
        match held.standing {
            Standing::Open { for_ms } => {
                let open = Duration::from_millis(u64::try_from(for_ms).unwrap_or(0));
                if self.claim_timeout.is_some_and(|limit| open >= limit) {
                    return Err(Ended::Failed(SolverError::WorkerUnavailable));
                }
                Ok(self.next_look(open))
            }
            Standing::Taken => Ok(RENEW_EVERY),
            Standing::Withdrawn => Err(Ended::Unwanted),
        }
    }

    fn next_look(&self, open: Duration) -> Duration {
        let left = self.claim_timeout.map(|limit| limit.saturating_sub(open));
        // A little past the limit, which the database judges.
        let look = left.map_or(RENEW_EVERY, |left| left + Duration::from_millis(5));
        look.min(RENEW_EVERY)
    }

    /// Answers a worker's call; the answer of an attempt that is over is fetched by nobody.
    fn call(&self, place: &Place, message: Message) -> impl Future<Output = ()> + Send + 'static {
        let (runs, host) = (self.runs.clone(), self.work.host.clone());
        let (offer, key) = (self.offer, Arc::clone(&place.stream.key));
        async move {
            let core = runs.core();
            let ask = mailbox::open(&key, &mailbox::request_place(message.id), &message.request);
            let reply = match ask {
                Ok(ask) => called(&host, &ask).await,
                Err(error) => {
                    tracing::error!(%error, "a worker's request could not be read");
                    ToolReply::Failed
                }
            };
            let sealed = mailbox::seal(&key, &mailbox::answer_place(message.id), &reply);
            let answered = match sealed {
                Ok(sealed) => offers::answer(&core.pool, message.id, &sealed).await,
                Err(error) => Err(error),
            };
            match answered {
                Ok(Some(moved)) => core.hub.publish(offer, moved),
                Ok(None) => {}
                // The worker waits until its patience ends, and asks again.
                Err(error) => tracing::warn!(%error, "a worker's call was not answered"),
            }
        }
    }

    /// Until the result is committed, its worker must see that this process lives.
    async fn see_off(&self, place: &Place) {
        let mut steps = self.core().hub.watch(place.stream.id);
        let until = Instant::now() + self.runs.settings().abandon_after();
        while Instant::now() < until {
            if let Err(error) = offers::renew(&self.core().pool, self.offer, self.holder).await {
                tracing::debug!(%error, "an offer was not renewed");
            }
            tokio::select! {
                () = steps.past(place.stream_version) => break,
                () = tokio::time::sleep(RENEW_EVERY) => {}
            }
        }
        self.withdraw().await;
    }

    /// The worker hears of it at its next heartbeat. When the database is away, the lease of this
    /// process says the same a little later.
    async fn withdraw(&self) {
        match offers::withdraw(&self.core().pool, self.offer, self.holder).await {
            Ok(Some(moved)) => self.core().hub.publish(self.offer, moved),
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "an offer was not withdrawn"),
        }
    }
}

/// A turn that was stopped in this moment has nobody left to hear.
fn answer(reply: Awaited, answer: Result<Draft, SolverError>) {
    let _unheard = reply.send(answer);
}

fn drafted(place: &Place, message: &Message) -> Ended {
    let read = mailbox::open::<Value>(
        &place.stream.key,
        &mailbox::request_place(message.id),
        &message.request,
    );
    match read {
        Ok(sent) => {
            // The door has judged its form; what it could not read it has refused.
            let draft = product::read(&sent, Vec::new(), &mut Issues::default());
            Ended::Drafted(Box::new(draft))
        }
        Err(error) => {
            tracing::error!(%error, "a worker's product could not be read");
            Ended::Failed(SolverError::Failed("the product could not be read"))
        }
    }
}

/// What the turn can call here, as its worker is shown it.
fn capabilities(host: &ToolHost) -> Value {
    let cards = host.capabilities();
    let cards = cards.iter().map(|card| {
        json!({"id": card.id, "description": card.description, "parameters": card.parameters})
    });
    cards.collect()
}

async fn called(host: &ToolHost, ask: &ToolAsk) -> ToolReply {
    match host.call(&ask.capability, &ask.arguments).await {
        Ok(answer) => ToolReply::Answered {
            receipt_ref: answer.receipt_ref,
            body: answer.body,
        },
        Err(error) => error.into(),
    }
}
