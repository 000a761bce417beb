//! What an account allows one app: given at consent, paused and resumed by its owner, ended once.
//!
//! What must stay true: a grant is fixed where it is given, so what it may do changes only by
//! another grant; an ended grant stays ended with the cause it ended for. Names, redirects and
//! labels are sealed, since the owner reads them and nothing else needs them in clear.
//! Deliberately absent: tokens and codes (the ledger keeps their hashes), the words of the agent
//! and vault doors, and the number of grants of an account, which spans streams.

pub mod command;
pub mod error;
pub mod event;

mod decide;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::access::scopes::Scopes;
use crate::decider::Decider;
use crate::ids::AccountId;
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::GrantCommand;
use error::GrantError;
use event::{GrantEnding, GrantEvent, GrantGiven, StoredBoundary};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grant {
    #[default]
    Absent,
    Live(Box<Given>),
    /// Nothing is answered until it is resumed; its tokens stay what they are.
    Paused {
        given: Box<Given>,
        at: Timestamp,
    },
    Ended {
        given: Box<Given>,
        cause: GrantEnding,
        at: Timestamp,
    },
}

/// What was consented to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    pub account: AccountId,
    pub client_id: Sealed<String>,
    /// The app's name as the owner saw it.
    pub app: Sealed<String>,
    /// Where answers go, as the owner saw it.
    pub redirect: Sealed<String>,
    pub boundary: StoredBoundary,
    pub scopes: Scopes,
    pub at: Timestamp,
    pub expires_at: Timestamp,
}

impl Decider for Grant {
    const KIND: &'static str = "grant";
    type Command = GrantCommand;
    type Event = GrantEvent;
    type Error = GrantError;

    fn decide(&self, command: &GrantCommand, stamp: Stamp) -> Result<Vec<GrantEvent>, GrantError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &GrantEvent) {
        match event {
            GrantEvent::Given(given) => *self = Self::Live(Box::new(Given::from(&**given))),
            GrantEvent::Paused(paused) => {
                self.then(|given| Self::Paused {
                    given,
                    at: paused.at,
                });
            }
            GrantEvent::Resumed(_) => self.then(Self::Live),
            GrantEvent::Ended(ended) => {
                self.then(|given| Self::Ended {
                    given,
                    cause: ended.cause,
                    at: ended.at,
                });
            }
        }
    }
}

impl Grant {
    /// What was given, whatever became of it.
    pub fn given(&self) -> Option<&Given> {
        match self {
            Self::Live(given) | Self::Paused { given, .. } | Self::Ended { given, .. } => {
                Some(given)
            }
            Self::Absent => None,
        }
    }

    fn then(&mut self, next: impl FnOnce(Box<Given>) -> Self) {
        *self = match std::mem::take(self) {
            Self::Live(given) | Self::Paused { given, .. } => next(given),
            same @ (Self::Absent | Self::Ended { .. }) => same,
        };
    }
}

impl From<&GrantGiven> for Given {
    fn from(event: &GrantGiven) -> Self {
        Self {
            account: event.account,
            client_id: event.client_id.clone(),
            app: event.app.clone(),
            redirect: event.redirect.clone(),
            boundary: event.boundary.clone(),
            scopes: event.scopes.clone(),
            at: event.at,
            expires_at: event.expires_at,
        }
    }
}
