//! The record of a workspace: every operation, refused ones included, in the order they were answered
//! (`access` 6.2, `vault` 2).
//!
//! What must stay true: each entry carries the published hash over itself and the entry before, so that
//! whoever holds entries can check them without this server; an entry is never changed. Deliberately
//! absent: texts of briefs and findings, which the streams of the workspace keep.

pub mod command;
pub mod error;
pub mod event;

mod decide;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::decider::Decider;
use crate::sealed::Sealed;
use crate::time::{Stamp, Timestamp};

use command::AuditCommand;
use error::AuditError;
use event::{Action, AuditEvent};

/// Stands between the parts that are hashed; no name holds it, since names hold no control character.
const SEPARATOR: char = '\u{1f}';

/// Where the record stands. Its last event alone says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub seq: u64,
    /// The hash of the newest entry; of an empty record, nothing.
    pub head: Sealed<String>,
}

impl Decider for Audit {
    const KIND: &'static str = "workspace_audit";
    type Command = AuditCommand;
    type Event = AuditEvent;
    type Error = AuditError;

    fn decide(&self, command: &AuditCommand, stamp: Stamp) -> Result<Vec<AuditEvent>, AuditError> {
        decide::decide(self, command, stamp)
    }

    fn evolve(&mut self, event: &AuditEvent) {
        match event {
            AuditEvent::Recorded(recorded) => {
                self.seq = recorded.seq;
                self.head = recorded.hash.clone();
            }
        }
    }
}

/// What of an entry is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashed<'a> {
    pub seq: u64,
    pub at: Timestamp,
    pub client: &'a str,
    pub action: Action,
    pub detail: &'a str,
    /// The hash of the entry before; of the first, nothing.
    pub prev: &'a str,
}

impl Hashed<'_> {
    /// SHA-256 in lower-case hex over the parts between separators (`vault` 2.2).
    pub fn hash(&self) -> String {
        let text = format!(
            "{}{SEPARATOR}{}{SEPARATOR}{}{SEPARATOR}{}{SEPARATOR}{}{SEPARATOR}{}",
            self.seq,
            self.at,
            self.client,
            self.action.as_str(),
            self.detail,
            self.prev
        );
        hex::encode(Sha256::digest(text.as_bytes()))
    }
}
