//! The events of a worker's token, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use crate::decider::WireEvent;
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerTokenEvent {
    #[serde(rename = "worker_token_issued")]
    Issued(WorkerTokenIssued),
    #[serde(rename = "worker_token_revoked")]
    Revoked(WorkerTokenRevoked),
}

impl WireEvent for WorkerTokenEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Issued(_) => "worker_token_issued",
            Self::Revoked(_) => "worker_token_revoked",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTokenIssued {
    pub at: Timestamp,
    pub name: Sealed<String>,
    pub fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTokenRevoked {
    pub at: Timestamp,
}
