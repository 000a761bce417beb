//! The arms of a webhook endpoint.

use super::command::{DisableReason, NewSecret, NewWebhook, WebhookCommand};
use super::error::WebhookError;
use super::event::{
    WebhookCreated, WebhookDeleted, WebhookDisabled, WebhookEnabled, WebhookEvent,
    WebhookSecretRotated,
};
use super::{Endpoint, Webhook};
use crate::sealed::Sealed;
use crate::text::without_controls;
use crate::time::Stamp;

pub(super) fn decide(
    webhook: &Webhook,
    command: &WebhookCommand,
    stamp: Stamp,
) -> Result<Vec<WebhookEvent>, WebhookError> {
    match (webhook, command) {
        (Webhook::Absent, WebhookCommand::Create(new)) => create(new, stamp),
        (Webhook::Active(_) | Webhook::Disabled { .. }, WebhookCommand::Create(_)) => {
            Err(WebhookError::AlreadyExists)
        }
        (
            Webhook::Active(endpoint) | Webhook::Disabled { endpoint, .. },
            WebhookCommand::RotateSecret(secret),
        ) => rotate(endpoint, secret, stamp),
        (Webhook::Active(_), WebhookCommand::Disable(reason)) => Ok(disabled(*reason, stamp)),
        (Webhook::Disabled { .. }, WebhookCommand::Disable(_)) => {
            Err(WebhookError::AlreadyDisabled)
        }
        (Webhook::Active(_), WebhookCommand::Enable) => Err(WebhookError::NotDisabled),
        (Webhook::Disabled { .. }, WebhookCommand::Enable) => {
            Ok(vec![WebhookEvent::Enabled(WebhookEnabled { at: stamp.at })])
        }
        (Webhook::Active(_) | Webhook::Disabled { .. }, WebhookCommand::Delete) => {
            Ok(vec![WebhookEvent::Deleted(WebhookDeleted { at: stamp.at })])
        }
        (
            Webhook::Absent,
            WebhookCommand::RotateSecret(_)
            | WebhookCommand::Disable(_)
            | WebhookCommand::Enable
            | WebhookCommand::Delete,
        ) => Err(WebhookError::NotFound),
        (Webhook::Deleted { .. }, _) => Err(WebhookError::Deleted),
    }
}

fn create(new: &NewWebhook, stamp: Stamp) -> Result<Vec<WebhookEvent>, WebhookError> {
    if new.kinds.is_empty() {
        return Err(WebhookError::NoKinds);
    }
    let url = without_controls(new.url.as_str()).map_err(|_| WebhookError::Control)?;
    Ok(vec![WebhookEvent::Created(Box::new(WebhookCreated {
        at: stamp.at,
        account: new.account,
        url: Sealed::Open(url.to_owned()),
        events: new.kinds.iter().copied().collect(),
        fingerprint: new.fingerprint.clone(),
    }))])
}

fn rotate(
    endpoint: &Endpoint,
    secret: &NewSecret,
    stamp: Stamp,
) -> Result<Vec<WebhookEvent>, WebhookError> {
    if secret.after != endpoint.generation {
        return Err(WebhookError::Rotated {
            current: endpoint.generation,
        });
    }
    Ok(vec![WebhookEvent::SecretRotated(WebhookSecretRotated {
        at: stamp.at,
        generation: secret.after.saturating_add(1),
        fingerprint: secret.fingerprint.clone(),
    })])
}

fn disabled(reason: DisableReason, stamp: Stamp) -> Vec<WebhookEvent> {
    vec![WebhookEvent::Disabled(WebhookDisabled {
        at: stamp.at,
        reason,
    })]
}
