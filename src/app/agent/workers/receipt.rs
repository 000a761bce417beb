//! The receipt of a worker's turn: the step that ended it, as the log has it.
//!
//! Exists so that the same product always has the same receipt, whichever process is asked and
//! however often. What must stay true: a turn that ended without the product (late, failed, or
//! taken over) has none.

use helix_aggregates::agent::run::event::{BudgetExhausted, ClosingPublic, RunEvent, RunFailed};
use helix_aggregates::agent::run::turn::{TerminalAuthority, TurnFailure};
use helix_aggregates::ids::RunId;
use serde_json::{Value, json};

use crate::store::log::decode;
use crate::store::offers::Offer;
use crate::store::read::{self, StoredEvent};
use crate::store::{Core, StoreError};

/// A step has fewer events than this.
const STEP: i64 = 16;

/// `None` while the turn is under way; `Some(None)` when it ended without its product.
pub(super) async fn of(core: &Core, offer: &Offer) -> Result<Option<Option<Value>>, StoreError> {
    let stored = read::events(
        &core.pool,
        offer.lane,
        offer.run,
        offer.stream_version,
        STEP,
    )
    .await?;
    if stored.is_empty() {
        return Ok(None);
    }
    let mut authority = None;
    for event in &stored {
        // Structure is clear, so no key is needed.
        match step(&decode(offer.run, None, event)?, offer.run_version + 1) {
            Step::Authority(status) => authority = Some(status),
            Step::Closed(closing) => {
                let closing = closing.filter(judged);
                return Ok(Some(
                    closing.map(|closing| spelled(offer, &closing, authority, event)),
                ));
            }
            Step::Other => {}
        }
    }
    Ok(Some(None))
}

enum Step {
    Authority(TerminalAuthority),
    /// The end of the step; `None` when it is not a turn's.
    Closed(Option<ClosingPublic>),
    Other,
}

fn step(event: &RunEvent, version: u64) -> Step {
    let closed = |public: &ClosingPublic| {
        let public = (public.version == version).then(|| public.clone());
        Step::Closed(public)
    };
    match event {
        RunEvent::TerminalAuthorityEvaluated(fact) if fact.public.version == version => {
            Step::Authority(fact.public.terminal_authority_status)
        }
        RunEvent::RunCompleted(ended)
        | RunEvent::RunWaiting(ended)
        | RunEvent::RunBlocked(ended)
        | RunEvent::RunFailed(RunFailed::AfterTurn(ended))
        | RunEvent::BudgetExhausted(BudgetExhausted::AfterTurn(ended)) => closed(&ended.public),
        RunEvent::RunCancelled(_)
        | RunEvent::RunFailed(RunFailed::Expired(_))
        | RunEvent::BudgetExhausted(BudgetExhausted::BeforeTurn(_))
        | RunEvent::RuntimeRecovered(_)
        | RunEvent::ContinuationReceived(_) => Step::Closed(None),
        RunEvent::RunStarted(_)
        | RunEvent::EvidenceReentered(_)
        | RunEvent::IssuesResolved(_)
        | RunEvent::InputRequested(_)
        | RunEvent::TerminalAuthorityEvaluated(_) => Step::Other,
    }
}

/// Whether the step was made of a product, and not of its absence (`agent-api` 2.7).
fn judged(closing: &ClosingPublic) -> bool {
    let without = [
        TurnFailure::RunExpired,
        TurnFailure::Timeout,
        TurnFailure::ExecutorFailed,
        TurnFailure::WorkerUnavailable,
    ];
    let code = closing.failure_code.as_deref();
    !without.iter().any(|failure| Some(failure.code()) == code)
}

fn spelled(
    offer: &Offer,
    closing: &ClosingPublic,
    authority: Option<TerminalAuthority>,
    event: &StoredEvent,
) -> Value {
    json!({
        "schema": "helix.agent_worker.receipt.v1",
        "run_id": RunId::new(offer.run),
        "run_version": offer.run_version,
        "attempt": offer.attempt,
        "version": closing.version,
        "lifecycle_status": closing.lifecycle_status,
        "completion_status": closing.completion_status,
        "terminal_authority_status": authority,
        "failure_code": closing.failure_code,
        "seq": event.seq,
        "committed_at": event.at,
        "event_sha256": hex::encode(event.hash.as_bytes()),
    })
}
