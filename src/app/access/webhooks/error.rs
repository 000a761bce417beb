//! Why a webhook command had no effect.

use helix_aggregates::access::webhook::error::WebhookError;
use helix_aggregates::text::TextError;
use helix_aggregates::time::Timestamp;

use super::target::TargetError;
use crate::store::StoreError;
use crate::store::log::ExecuteError;

#[derive(Debug, thiserror::Error)]
pub enum WebhooksError {
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("there is no such account")]
    NoAccount,
    #[error("there is more than one account")]
    WhichAccount,
    #[error("there is no such webhook")]
    NoWebhook,
    #[error("the webhook is disabled")]
    Disabled,
    #[error("an account has at most {limit} webhooks")]
    TooMany { limit: i64 },
    #[error("{count} replaced secrets still sign; the next one may follow at {at}")]
    TooManySecrets { count: usize, at: Timestamp },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ExecuteError<WebhookError>> for WebhooksError {
    fn from(error: ExecuteError<WebhookError>) -> Self {
        match error {
            ExecuteError::Refused(refusal) => refusal.into(),
            ExecuteError::Store(error) => error.into(),
        }
    }
}

impl From<TextError> for WebhooksError {
    fn from(_: TextError) -> Self {
        TargetError::Malformed.into()
    }
}
