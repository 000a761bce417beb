//! A named token: the credential of a harness that has no browser (`access` 8).
//!
//! Belongs to one workspace and acts for it within its reach. What must stay true: what a token
//! may do and how long it lives at most are fixed where it is minted; a later command only
//! shortens its life, and a revoked one stays so. Deliberately absent: the token itself (the log
//! knows a fingerprint and the last four characters, which tell two tokens apart and open no
//! door), and the number of a workspace's tokens, which spans streams.

pub mod command;
pub mod error;
pub mod event;

mod decide;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::access::author::Maker;
use crate::access::reach::Reach;
use crate::access::scopes::Scopes;
use crate::decider::Decider;
use crate::ids::{TokenId, WorkspaceId};
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::TokenCommand;
use error::TokenError;
use event::{TokenEvent, TokenMinted, TokenRevocation};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Token {
    #[default]
    Absent,
    Live(Box<Minted>),
    /// Nothing is answered until it is resumed; its time goes on.
    Paused {
        minted: Box<Minted>,
        at: Timestamp,
    },
    Revoked {
        minted: Box<Minted>,
        cause: TokenRevocation,
        at: Timestamp,
    },
}

/// What is known of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minted {
    pub workspace: WorkspaceId,
    pub name: Sealed<String>,
    pub last_four: String,
    pub fingerprint: String,
    pub scopes: Scopes,
    pub reach: Reach,
    pub maker: Maker,
    pub at: Timestamp,
    pub expires_at: Timestamp,
    pub replaces: Option<TokenId>,
    /// When its grace ends, once another has taken its place.
    pub retired_until: Option<Timestamp>,
    /// When it was first seen where no token belongs.
    pub exposed_at: Option<Timestamp>,
}

impl Minted {
    /// When the token dies by itself.
    pub fn dies_at(&self) -> Timestamp {
        self.retired_until
            .map_or(self.expires_at, |until| until.min(self.expires_at))
    }
}

impl Decider for Token {
    const KIND: &'static str = "token";
    type Command = TokenCommand;
    type Event = TokenEvent;
    type Error = TokenError;

    fn decide(&self, command: &TokenCommand, stamp: Stamp) -> Result<Vec<TokenEvent>, TokenError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &TokenEvent) {
        match event {
            TokenEvent::Minted(minted) => *self = Self::Live(Box::new(Minted::from(&**minted))),
            TokenEvent::Retired(retired) => {
                if let Some(minted) = self.minted_mut() {
                    minted.retired_until = Some(retired.until);
                }
            }
            TokenEvent::Paused(paused) => {
                self.then(|minted| Self::Paused {
                    minted,
                    at: paused.at,
                });
            }
            TokenEvent::Resumed(_) => self.then(Self::Live),
            TokenEvent::Exposed(exposed) => {
                if let Some(minted) = self.minted_mut() {
                    minted.exposed_at = Some(exposed.at);
                }
            }
            TokenEvent::Revoked(revoked) => {
                self.then(|minted| Self::Revoked {
                    minted,
                    cause: revoked.cause,
                    at: revoked.at,
                });
            }
        }
    }
}

impl Token {
    /// What is known of the token, whatever became of it.
    pub fn minted(&self) -> Option<&Minted> {
        match self {
            Self::Live(minted) | Self::Paused { minted, .. } | Self::Revoked { minted, .. } => {
                Some(minted)
            }
            Self::Absent => None,
        }
    }

    fn minted_mut(&mut self) -> Option<&mut Minted> {
        match self {
            Self::Live(minted) | Self::Paused { minted, .. } | Self::Revoked { minted, .. } => {
                Some(minted)
            }
            Self::Absent => None,
        }
    }

    fn then(&mut self, next: impl FnOnce(Box<Minted>) -> Self) {
        *self = match std::mem::take(self) {
            Self::Live(minted) | Self::Paused { minted, .. } => next(minted),
            same @ (Self::Absent | Self::Revoked { .. }) => same,
        };
    }
}

impl From<&TokenMinted> for Minted {
    fn from(event: &TokenMinted) -> Self {
        Self {
            workspace: event.workspace,
            name: event.name.clone(),
            last_four: event.last_four.clone(),
            fingerprint: event.fingerprint.clone(),
            scopes: event.scopes.clone(),
            reach: event.reach.clone(),
            maker: event.maker,
            at: event.at,
            expires_at: event.expires_at,
            replaces: event.replaces,
            retired_until: None,
            exposed_at: None,
        }
    }
}
