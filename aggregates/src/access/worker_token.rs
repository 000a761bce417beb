//! The credential of an external worker (settled question 86).
//!
//! Belongs to the installation and to no account: a worker solves whatever turn it is given. What
//! must stay true: a token is issued once and, once revoked, stays so. Deliberately absent: the
//! token itself. The log knows a fingerprint, which is enough to tell two tokens apart and useless
//! at a door.

pub mod command;
pub mod error;
pub mod event;

mod decide;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::decider::Decider;
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::WorkerTokenCommand;
use error::WorkerTokenError;
use event::WorkerTokenEvent;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerToken {
    #[default]
    Absent,
    Live(Issued),
    Revoked {
        issued: Issued,
        at: Timestamp,
    },
}

/// What is known of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    pub name: Sealed<String>,
    pub fingerprint: String,
    pub at: Timestamp,
}

impl Decider for WorkerToken {
    const KIND: &'static str = "worker_token";
    type Command = WorkerTokenCommand;
    type Event = WorkerTokenEvent;
    type Error = WorkerTokenError;

    fn decide(
        &self,
        command: &WorkerTokenCommand,
        stamp: Stamp,
    ) -> Result<Vec<WorkerTokenEvent>, WorkerTokenError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &WorkerTokenEvent) {
        match event {
            WorkerTokenEvent::Issued(issued) => {
                *self = Self::Live(Issued {
                    name: issued.name.clone(),
                    fingerprint: issued.fingerprint.clone(),
                    at: issued.at,
                });
            }
            WorkerTokenEvent::Revoked(revoked) => {
                *self = match std::mem::take(self) {
                    Self::Absent => Self::Absent,
                    Self::Live(issued) | Self::Revoked { issued, .. } => Self::Revoked {
                        issued,
                        at: revoked.at,
                    },
                };
            }
        }
    }
}
