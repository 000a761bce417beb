//! An address outside that is told when a run of its account needs attention or has ended.
//!
//! What must stay true: an endpoint belongs to one account for ever; a deleted one stays deleted;
//! each secret has a generation, so that a rotation judged on an old one is refused. The address
//! is sealed, because its path or query may hold a token. Deliberately absent: the secret itself,
//! which no event may hold (events carry its fingerprint), and messages, which follow from the
//! runs' own events.

pub mod command;
pub mod error;
pub mod event;
pub mod kind;

mod decide;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::decider::Decider;
use crate::ids::AccountId;
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::{DisableReason, WebhookCommand};
use error::WebhookError;
use event::WebhookEvent;
use kind::NoticeKind;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Webhook {
    #[default]
    Absent,
    Active(Box<Endpoint>),
    /// The receiver is gone or has failed for days: told nothing until it is enabled.
    Disabled {
        endpoint: Box<Endpoint>,
        reason: DisableReason,
        at: Timestamp,
    },
    Deleted {
        at: Timestamp,
    },
}

/// What an endpoint has while it exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub account: AccountId,
    pub url: Sealed<String>,
    /// What it is told of; never empty.
    pub kinds: BTreeSet<NoticeKind>,
    /// Counted from 1; every rotation adds one.
    pub generation: u32,
    /// Of the newest secret.
    pub fingerprint: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Decider for Webhook {
    const KIND: &'static str = "webhook";
    type Command = WebhookCommand;
    type Event = WebhookEvent;
    type Error = WebhookError;

    fn decide(
        &self,
        command: &WebhookCommand,
        stamp: Stamp,
    ) -> Result<Vec<WebhookEvent>, WebhookError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &WebhookEvent) {
        match event {
            WebhookEvent::Created(created) => {
                *self = Self::Active(Box::new(Endpoint {
                    account: created.account,
                    url: created.url.clone(),
                    kinds: created.events.iter().copied().collect(),
                    generation: 1,
                    fingerprint: created.fingerprint.clone(),
                    created_at: created.at,
                    updated_at: created.at,
                }));
            }
            WebhookEvent::SecretRotated(rotated) => {
                if let Some(endpoint) = self.endpoint_mut() {
                    endpoint.generation = rotated.generation;
                    endpoint.fingerprint.clone_from(&rotated.fingerprint);
                    endpoint.updated_at = rotated.at;
                }
            }
            WebhookEvent::Disabled(disabled) => {
                self.then(disabled.at, |endpoint| Self::Disabled {
                    endpoint,
                    reason: disabled.reason,
                    at: disabled.at,
                });
            }
            WebhookEvent::Enabled(enabled) => self.then(enabled.at, Self::Active),
            WebhookEvent::Deleted(deleted) => *self = Self::Deleted { at: deleted.at },
        }
    }
}

impl Webhook {
    /// What an endpoint has, active or disabled.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::Active(endpoint) | Self::Disabled { endpoint, .. } => Some(endpoint),
            Self::Absent | Self::Deleted { .. } => None,
        }
    }

    fn endpoint_mut(&mut self) -> Option<&mut Endpoint> {
        match self {
            Self::Active(endpoint) | Self::Disabled { endpoint, .. } => Some(endpoint),
            Self::Absent | Self::Deleted { .. } => None,
        }
    }

    fn then(&mut self, at: Timestamp, next: impl FnOnce(Box<Endpoint>) -> Self) {
        *self = match std::mem::take(self) {
            Self::Active(mut endpoint) | Self::Disabled { mut endpoint, .. } => {
                endpoint.updated_at = at;
                next(endpoint)
            }
            same @ (Self::Absent | Self::Deleted { .. }) => same,
        };
    }
}
