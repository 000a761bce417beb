//! A run's events on the wire (`agent-api` 3).

use helix_aggregates::agent::run::event::{
    AuthorityPublic, BudgetExhausted, ClosingPublic, ContinuationPublic, ExhaustedPublic,
    ExpiredPublic, RecoveredPublic, ReenteredPublic, RunEvent, RunFailed, StartedPublic,
};
use helix_aggregates::agent::run::turn::Question;
use helix_aggregates::decider::WireEvent;
use helix_aggregates::ids::{EventId, RunId};
use helix_aggregates::time::Timestamp;
use serde::Serialize;

use super::view::{list, text};
use crate::agent::Flags;

/// `helix.agent_run.event.v1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventView {
    pub schema: &'static str,
    pub event_id: EventId,
    pub run_id: RunId,
    pub seq: u64,
    pub event_type: &'static str,
    pub payload: Payload,
    pub created_at: Timestamp,
    #[serde(flatten)]
    pub flags: Flags,
}

/// The public half of an event, its texts opened or shown as erased.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Payload {
    Started(StartedPublic),
    Recovered(RecoveredPublic),
    Continuation(ContinuationPublic),
    Reentered(ReenteredPublic),
    Resolved(ResolvedView),
    Input(InputView),
    Authority(AuthorityPublic),
    Closing(ClosingPublic),
    Expired(ExpiredPublic),
    Exhausted(ExhaustedPublic),
    Cancelled(CancelledView),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResolvedView {
    pub version: u64,
    pub resolved_requirements: Vec<String>,
    pub resolved_contradictions: Vec<String>,
    pub resolution_support_refs: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputView {
    pub version: u64,
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CancelledView {
    pub version: u64,
    pub reason: String,
}

impl EventView {
    /// The event at `seq` of the run's stream, stored at `at`.
    pub fn of(run_id: RunId, seq: u64, at: Timestamp, event: &RunEvent) -> Self {
        Self {
            schema: "helix.agent_run.event.v1",
            event_id: EventId::of(run_id.uuid(), seq),
            run_id,
            seq,
            event_type: event.name(),
            payload: Payload::of(event),
            created_at: at,
            flags: Flags::default(),
        }
    }
}

impl Payload {
    fn of(event: &RunEvent) -> Self {
        match event {
            RunEvent::RunStarted(fact) => Self::Started(fact.public),
            RunEvent::RuntimeRecovered(fact) => Self::Recovered(fact.public),
            RunEvent::ContinuationReceived(fact) => Self::Continuation(fact.public),
            RunEvent::EvidenceReentered(fact) => Self::Reentered(fact.public.clone()),
            RunEvent::IssuesResolved(fact) => Self::Resolved(ResolvedView {
                version: fact.public.version,
                resolved_requirements: list(&fact.public.resolved_requirements),
                resolved_contradictions: list(&fact.public.resolved_contradictions),
                resolution_support_refs: fact.public.resolution_support_refs.clone(),
            }),
            RunEvent::InputRequested(fact) => Self::Input(InputView {
                version: fact.public.version,
                questions: list(&fact.public.questions),
            }),
            RunEvent::TerminalAuthorityEvaluated(fact) => Self::Authority(fact.public),
            RunEvent::RunWaiting(fact)
            | RunEvent::RunCompleted(fact)
            | RunEvent::RunBlocked(fact)
            | RunEvent::RunFailed(RunFailed::AfterTurn(fact))
            | RunEvent::BudgetExhausted(BudgetExhausted::AfterTurn(fact)) => {
                Self::Closing(fact.public.clone())
            }
            RunEvent::RunFailed(RunFailed::Expired(fact)) => Self::Expired(fact.public.clone()),
            RunEvent::BudgetExhausted(BudgetExhausted::BeforeTurn(fact)) => {
                Self::Exhausted(fact.public)
            }
            RunEvent::RunCancelled(fact) => Self::Cancelled(CancelledView {
                version: fact.public.version,
                reason: text(&fact.public.reason),
            }),
        }
    }
}

/// `helix.agent_run.events_page.v1`; it has no flags of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventsPage {
    pub schema: &'static str,
    pub run_id: RunId,
    pub events: Vec<EventView>,
    pub next_after_seq: u64,
    pub has_more: bool,
}

impl EventsPage {
    /// The page after `after_seq`. `events` are those read in order of `seq`: at most `limit`
    /// and, when more follow, one extra.
    pub fn of(run_id: RunId, after_seq: u64, limit: usize, mut events: Vec<EventView>) -> Self {
        let has_more = events.len() > limit;
        events.truncate(limit);
        Self {
            schema: "helix.agent_run.events_page.v1",
            run_id,
            next_after_seq: events.last().map_or(after_seq, |event| event.seq),
            events,
            has_more,
        }
    }
}
