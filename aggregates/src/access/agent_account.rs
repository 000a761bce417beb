//! The binding that lets one outside identity act for an account (`agent-api` 8.5, 11.3).
//!
//! Its stream belongs to the exact tuple of issuer, tenant, provider and subject, so a binding
//! that is revoked and linked again keeps its reference. What must stay true: a living binding
//! belongs to one account, and only an explicit link makes a revoked one active. Deliberately
//! absent: whether the account lives; the use case knows.

pub mod command;
pub mod error;
pub mod event;

mod decide;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::decider::Decider;
use crate::ids::{AccountId, binding_ref};
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::AgentAccountCommand;
use error::AgentAccountError;
use event::AgentAccountEvent;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentAccount {
    #[default]
    Absent,
    Active(Box<Binding>),
    Revoked {
        binding: Box<Binding>,
        at: Timestamp,
        reason: Sealed<String>,
    },
}

/// Who is bound to which account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    pub account: AccountId,
    pub issuer: String,
    pub tenant: Sealed<String>,
    pub provider: String,
    pub subject: Sealed<String>,
    /// The first link of the tuple.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Binding {
    /// The public reference; `None` when the tuple is no longer readable.
    pub fn reference(&self) -> Option<String> {
        let (tenant, subject) = (self.tenant.open()?, self.subject.open()?);
        Some(binding_ref(&self.issuer, tenant, &self.provider, subject))
    }
}

impl Decider for AgentAccount {
    const KIND: &'static str = "agent_account_binding";
    type Command = AgentAccountCommand;
    type Event = AgentAccountEvent;
    type Error = AgentAccountError;

    fn decide(
        &self,
        command: &AgentAccountCommand,
        stamp: Stamp,
    ) -> Result<Vec<AgentAccountEvent>, AgentAccountError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &AgentAccountEvent) {
        match event {
            AgentAccountEvent::Linked(linked) => {
                let created_at = self.binding().map_or(linked.at, |known| known.created_at);
                *self = Self::Active(Box::new(Binding {
                    account: linked.account,
                    issuer: linked.issuer.clone(),
                    tenant: linked.tenant.clone(),
                    provider: linked.provider.clone(),
                    subject: linked.subject.clone(),
                    created_at,
                    updated_at: linked.at,
                }));
            }
            AgentAccountEvent::Revoked(revoked) => {
                *self = match std::mem::take(self) {
                    Self::Absent => Self::Absent,
                    Self::Active(mut binding) | Self::Revoked { mut binding, .. } => {
                        binding.updated_at = revoked.at;
                        Self::Revoked {
                            binding,
                            at: revoked.at,
                            reason: revoked.reason.clone(),
                        }
                    }
                };
            }
        }
    }
}

impl AgentAccount {
    /// The tuple and its account, active or revoked.
    pub fn binding(&self) -> Option<&Binding> {
        match self {
            Self::Absent => None,
            Self::Active(binding) | Self::Revoked { binding, .. } => Some(binding),
        }
    }

    /// The account the identity acts for now.
    pub fn account(&self) -> Option<AccountId> {
        match self {
            Self::Active(binding) => Some(binding.account),
            Self::Absent | Self::Revoked { .. } => None,
        }
    }
}
