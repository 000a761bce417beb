//! The events of a webhook endpoint, in the permanent shape they are stored in.

use serde::{Deserialize, Serialize};

use super::command::DisableReason;
use super::kind::NoticeKind;
use crate::decider::WireEvent;
use crate::ids::AccountId;
use crate::sealed::Sealed;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WebhookEvent {
    #[serde(rename = "webhook_created")]
    Created(Box<WebhookCreated>),
    #[serde(rename = "webhook_secret_rotated")]
    SecretRotated(WebhookSecretRotated),
    #[serde(rename = "webhook_disabled")]
    Disabled(WebhookDisabled),
    #[serde(rename = "webhook_enabled")]
    Enabled(WebhookEnabled),
    #[serde(rename = "webhook_deleted")]
    Deleted(WebhookDeleted),
}

impl WireEvent for WebhookEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Created(_) => "webhook_created",
            Self::SecretRotated(_) => "webhook_secret_rotated",
            Self::Disabled(_) => "webhook_disabled",
            Self::Enabled(_) => "webhook_enabled",
            Self::Deleted(_) => "webhook_deleted",
        }
    }

    fn version(&self) -> u16 {
        1
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookCreated {
    pub at: Timestamp,
    pub account: AccountId,
    pub url: Sealed<String>,
    pub events: Vec<NoticeKind>,
    pub fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookSecretRotated {
    pub at: Timestamp,
    pub generation: u32,
    pub fingerprint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDisabled {
    pub at: Timestamp,
    pub reason: DisableReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookEnabled {
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDeleted {
    pub at: Timestamp,
}
