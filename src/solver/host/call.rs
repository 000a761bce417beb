//! Calls by capability id: what a model or a worker elsewhere may do, one receipted answer each.
//!
//! What must stay true: a call passes the same admission and the same counters as any other read;
//! the bytes that are counted and hashed into the receipt are the canonical JSON of the body; a
//! text in a body may be quoted, and nothing else may. A call that is abandoned leaves its receipt
//! too. Deliberately absent: any text of the caller in errors.

use helix_aggregates::agent::evidence::item::{Span, ToolOutcome};
use helix_aggregates::agent::scope::DataScope;
use helix_aggregates::canonical;
use serde_json::Value;

use super::arguments::Arguments;
use super::cards::{self, Act, Card};
use super::ceiling;
use super::receipt::Call;
use super::{ToolError, ToolHost};
use crate::solver::seam::SourceHandle;

/// What a call was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    pub receipt_ref: String,
    /// Names sources by their number, which is their [`SourceHandle`].
    pub body: Value,
}

/// A capability that this turn may call.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityCard {
    pub id: &'static str,
    pub description: &'static str,
    /// The JSON Schema of the arguments; every property is required and no other admitted.
    pub parameters: Value,
}

/// A body before it is handed over, and the texts in it.
#[derive(Debug)]
pub(super) struct Answered {
    pub body: Value,
    pub handed: Vec<(SourceHandle, Span)>,
}

/// A call that was admitted and is not answered yet.
pub(super) struct Open<'a> {
    host: &'a ToolHost,
    call: Option<Call>,
}

impl ToolHost {
    /// What can be called in this turn: admitted to the run, on the ceiling, with a provider here.
    pub fn capabilities(&self) -> Vec<CapabilityCard> {
        let scopes = self.0.scopes.iter();
        let cards = scopes
            .filter(|scope| self.has_provider(scope.id))
            .flat_map(|scope| scope.capabilities.iter())
            .filter(|id| self.is_allowed(id))
            .filter_map(|id| cards::find(id));
        cards
            .map(|card| CapabilityCard {
                id: card.id,
                description: card.description,
                parameters: card.parameters.schema(),
            })
            .collect()
    }

    /// Answers one call. Whatever is not listed by [`Self::capabilities`] is refused.
    pub async fn call(&self, capability: &str, arguments: &Value) -> Result<ToolAnswer, ToolError> {
        let (open, scope, card) = self.open(capability, arguments)?;
        let arguments = match card.parameters.read(arguments) {
            Ok(arguments) => arguments,
            Err(fault) => return Err(open.fail(fault.into())),
        };
        match self.answer(scope, card, arguments).await {
            Ok(answered) => open.hand_over(answered),
            Err(error) => Err(open.fail(error)),
        }
    }

    async fn answer(
        &self,
        scope: &'static DataScope,
        card: &'static Card,
        arguments: Arguments,
    ) -> Result<Answered, ToolError> {
        match card.act {
            Act::Elsewhere(act) => self.answer_from(scope, act, &arguments).await,
            Act::Here(act) => {
                let host = self.clone();
                // Long documents are worth a thread on which blocking is no harm.
                tokio::task::spawn_blocking(move || host.answer_here(scope, act, &arguments))
                    .await
                    .map_err(|_| ToolError::Failed)?
            }
        }
    }

    /// Admits a call by id, or leaves the receipt of its refusal.
    fn open(
        &self,
        capability: &str,
        arguments: &Value,
    ) -> Result<(Open<'_>, &'static DataScope, &'static Card), ToolError> {
        self.checkpoint()?;
        let ordinal = self.count()?;
        let of_run = self.0.scopes.iter().copied().find(|scope| {
            let named = scope.capabilities.contains(&capability);
            named && self.is_allowed(capability)
        });
        let known = ceiling::named(capability);
        let (id, scope_id) = known.map_or(("unknown", "unknown"), |(id, scope)| {
            (id, scope.map_or("none", |scope| scope.id))
        });
        let call = Call::new(ordinal, id, scope_id, arguments);
        let refused = |error| {
            self.end(call.clone(), ToolOutcome::Refused, &[]);
            error
        };
        let scope = of_run.ok_or_else(|| refused(ToolError::NotAdmitted))?;
        let card = cards::find(capability).filter(|_| self.has_provider(scope.id));
        let card = card.ok_or_else(|| refused(ToolError::NoProvider))?;
        let open = Open {
            host: self,
            call: Some(call),
        };
        Ok((open, scope, card))
    }

    fn is_allowed(&self, capability: &str) -> bool {
        ceiling::is_read_only(capability) && self.0.allowed_tools.iter().any(|id| id == capability)
    }

    fn has_provider(&self, scope_id: &str) -> bool {
        let snapshot = &self.0.snapshot;
        snapshot.corpus(scope_id).is_some() || snapshot.remotes().covers(scope_id)
    }
}

impl Open<'_> {
    fn hand_over(mut self, answered: Answered) -> Result<ToolAnswer, ToolError> {
        let call = self.call.take().ok_or(ToolError::Failed)?;
        let bytes = canonical::to_vec(&answered.body);
        let receipt_ref = self.host.hand_over(call, &bytes)?;
        let mut ledger = self.host.ledger();
        for (source, window) in answered.handed {
            if let Some(known) = ledger.sources.get_mut(source.0 as usize) {
                known.read.push((window, receipt_ref.clone()));
            }
        }
        drop(ledger);
        Ok(ToolAnswer {
            receipt_ref,
            body: answered.body,
        })
    }

    fn fail(mut self, error: ToolError) -> ToolError {
        if let Some(call) = self.call.take() {
            let outcome = match &error {
                ToolError::NotAdmitted => ToolOutcome::Refused,
                ToolError::Exhausted | ToolError::Stopped(_) => ToolOutcome::Exhausted,
                ToolError::NoProvider
                | ToolError::UnknownSource
                | ToolError::BadArguments(_)
                | ToolError::Remote(_)
                | ToolError::Failed => ToolOutcome::Failed,
            };
            self.host.end(call, outcome, &[]);
        }
        error
    }
}

/// Whoever waited has gone: the turn was stopped, or its time was up.
impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.host.end(call, ToolOutcome::Exhausted, &[]);
        }
    }
}

#[cfg(test)]
mod tests;
