//! Event → row. Pure.

use helix_aggregates::access::agent_account::AgentAccount;
use helix_aggregates::access::agent_account::event::AgentAccountEvent;
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::event::{BudgetExhausted, RunEvent, RunFailed};
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::AccountId;
use helix_aggregates::time::Timestamp;

use crate::feed::{FeedEvent, Poison, Upcast};

/// What one stream contributes to its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    pub account: AccountId,
    pub runs_started: u64,
    pub turns: Turns,
    pub last: Timestamp,
}

/// Finished turns by outcome. A turn that was given up or cancelled has not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turns {
    pub completed: u64,
    /// The run goes on: input, evidence or a decision about a conflict is needed.
    pub waiting: u64,
    pub blocked: u64,
    pub failed: u64,
    pub budget_exhausted: u64,
}

impl Activity {
    /// The row after `event`.
    pub(super) fn after(
        row: Option<&Self>,
        event: &FeedEvent,
        upcast: Upcast,
    ) -> Result<Self, Poison> {
        let at = Timestamp::parse(&event.at).ok_or(Poison::NoTime)?;
        if event.stream_kind == Run::KIND {
            Self::of_run(row, &event.decode(upcast)?, at)
        } else if event.stream_kind == AgentAccount::KIND {
            Self::of_binding(row, &event.decode(upcast)?, at)
        } else {
            Err(Poison::Misplaced)
        }
    }

    fn new(account: AccountId, runs_started: u64, last: Timestamp) -> Self {
        Self {
            account,
            runs_started,
            turns: Turns::default(),
            last,
        }
    }

    fn of_run(row: Option<&Self>, event: &RunEvent, at: Timestamp) -> Result<Self, Poison> {
        let mut next = match (row, event) {
            (None, RunEvent::RunStarted(fact)) => {
                let account =
                    AccountId::parse(&fact.state.profile).map_err(|_| Poison::NoAccount)?;
                return Ok(Self::new(account, 1, at));
            }
            (Some(row), _) => *row,
            (None, _) => return Err(Poison::Misplaced),
        };
        next.last = at;
        let turns = &mut next.turns;
        match event {
            RunEvent::RunStarted(_) => return Err(Poison::Misplaced),
            RunEvent::RunCompleted(_) => turns.completed += 1,
            RunEvent::RunWaiting(_) => turns.waiting += 1,
            RunEvent::RunBlocked(_) => turns.blocked += 1,
            RunEvent::RunFailed(RunFailed::AfterTurn(_)) => turns.failed += 1,
            RunEvent::BudgetExhausted(BudgetExhausted::AfterTurn(_)) => turns.budget_exhausted += 1,
            RunEvent::RunFailed(RunFailed::Expired(_))
            | RunEvent::BudgetExhausted(BudgetExhausted::BeforeTurn(_))
            | RunEvent::RuntimeRecovered(_)
            | RunEvent::ContinuationReceived(_)
            | RunEvent::EvidenceReentered(_)
            | RunEvent::IssuesResolved(_)
            | RunEvent::InputRequested(_)
            | RunEvent::TerminalAuthorityEvaluated(_)
            | RunEvent::RunCancelled(_) => {}
        }
        Ok(next)
    }

    /// A binding counts as a sign of life of the account it belongs to last.
    fn of_binding(
        row: Option<&Self>,
        event: &AgentAccountEvent,
        at: Timestamp,
    ) -> Result<Self, Poison> {
        match (row, event) {
            (_, AgentAccountEvent::Linked(fact)) => Ok(Self::new(fact.account, 0, at)),
            (Some(row), AgentAccountEvent::Revoked(_)) => Ok(Self { last: at, ..*row }),
            (None, AgentAccountEvent::Revoked(_)) => Err(Poison::Misplaced),
        }
    }
}
