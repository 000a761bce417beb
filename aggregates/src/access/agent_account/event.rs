//! The events of an account binding, in the permanent shape they are stored in.
//!
//! The public reference is a plain hash of text that can be guessed, so no event carries it.

use serde::{Deserialize, Serialize};

use crate::decider::WireEvent;
use crate::ids::AccountId;
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentAccountEvent {
    #[serde(rename = "agent_account_linked")]
    Linked(Box<AgentAccountLinked>),
    #[serde(rename = "agent_account_revoked")]
    Revoked(AgentAccountRevoked),
}

impl WireEvent for AgentAccountEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Linked(_) => "agent_account_linked",
            Self::Revoked(_) => "agent_account_revoked",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAccountLinked {
    pub at: Timestamp,
    pub account: AccountId,
    pub issuer: String,
    pub tenant: Sealed<String>,
    pub provider: String,
    pub subject: Sealed<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAccountRevoked {
    pub at: Timestamp,
    pub reason: Sealed<String>,
}
