//! What may be asked of a webhook endpoint.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::kind::NoticeKind;
use crate::ids::AccountId;
use crate::text::Text;

#[derive(Debug, Clone)]
pub enum WebhookCommand {
    Create(Box<NewWebhook>),
    RotateSecret(NewSecret),
    Disable(DisableReason),
    Enable,
    Delete,
}

#[derive(Debug, Clone)]
pub struct NewWebhook {
    pub account: AccountId,
    /// Whether it may be reached is judged by whoever sends to it.
    pub url: Text<2048>,
    pub kinds: BTreeSet<NoticeKind>,
    pub fingerprint: String,
}

/// The secret that follows generation `after`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSecret {
    pub after: u32,
    pub fingerprint: String,
}

/// Why an endpoint is told nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisableReason {
    /// The receiver answered 410.
    Gone,
    /// A message was given up, and nothing sent since its event was accepted either.
    Failing,
}

impl DisableReason {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }
}
