//! The events of a workspace's record, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use crate::access::author::Author;
use crate::decider::WireEvent;
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditEvent {
    #[serde(rename = "operation_recorded")]
    Recorded(OperationRecorded),
}

impl WireEvent for AuditEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Recorded(_) => "operation_recorded",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

/// What kind of thing was done, in the words of the published hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Read,
    Propose,
    Write,
}

impl Action {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Propose => "propose",
            Self::Write => "write",
        }
    }
}

/// One entry. What names somebody is sealed, and with it the hashes, by which a short text could be
/// guessed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRecorded {
    pub at: Timestamp,
    pub seq: u64,
    pub action: Action,
    /// `None`: whoever holds the data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    pub client: Sealed<String>,
    pub detail: Sealed<String>,
    pub prev: Sealed<String>,
    pub hash: Sealed<String>,
}
