//! Endpoints and what was sent to them, as the operator sees them. No view holds a secret.

use helix_aggregates::ids::{AccountId, MessageId, RunId, WebhookId};
use helix_aggregates::time::Timestamp;
use helix_projections::agent::ERASED;
use secrecy::SecretString;
use serde::Serialize;

use super::moment;
use super::sealed::Open;
use crate::store::webhooks::{DeliveryLine, EndpointRow, Standing};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebhookView {
    pub webhook_id: WebhookId,
    pub account_id: AccountId,
    /// Its path and query starred.
    pub url: String,
    pub events: Vec<String>,
    /// `active` or `disabled`.
    pub status: &'static str,
    pub disabled_reason: Option<String>,
    pub disabled_at: Option<Timestamp>,
    /// Of the newest secret.
    pub fingerprint: String,
    pub created_at: Timestamp,
    pub last_delivered_at: Option<Timestamp>,
    /// Messages that wait.
    pub waiting: i64,
}

impl WebhookView {
    pub(super) fn of(row: &EndpointRow, open: Option<&Open>) -> Self {
        let (status, disabled_reason, disabled_at) = match &row.standing {
            Standing::Active => ("active", None, None),
            Standing::Disabled { reason, at_ms } => {
                ("disabled", Some(reason.clone()), Some(moment(*at_ms)))
            }
        };
        Self {
            webhook_id: WebhookId::new(row.webhook),
            account_id: AccountId::new(row.account),
            url: open.map_or_else(|| ERASED.to_owned(), |open| open.target.starred()),
            events: row.kinds.clone(),
            status,
            disabled_reason,
            disabled_at,
            fingerprint: row.fingerprint.clone(),
            created_at: moment(row.created_at_ms),
            last_delivered_at: row.accepted_at_ms.map(moment),
            waiting: row.pending,
        }
    }
}

/// A new endpoint and the secret that is shown once.
#[derive(Debug)]
pub struct Made {
    pub webhook: WebhookView,
    pub secret: SecretString,
}

/// A new secret, shown once.
#[derive(Debug)]
pub struct Rotated {
    pub webhook_id: WebhookId,
    pub fingerprint: String,
    pub previous_valid_until: Timestamp,
    pub secret: SecretString,
}

/// One message and its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeliveryView {
    pub message_id: MessageId,
    pub webhook_id: WebhookId,
    #[serde(rename = "type")]
    pub kind: String,
    /// `null` for a test message.
    pub run_id: Option<RunId>,
    pub seq: Option<i64>,
    /// `pending`, `delivered`, `dead` or `withdrawn`.
    pub state: String,
    pub created_at: Timestamp,
    /// While it waits.
    pub next_attempt_at: Option<Timestamp>,
    pub attempts: Vec<AttemptView>,
}

/// Neither status nor failure: it is under way, or its process ended before the outcome was known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptView {
    pub attempt: i32,
    pub at: Timestamp,
    pub duration_ms: Option<i64>,
    pub status: Option<i16>,
    pub failure: Option<String>,
}

impl DeliveryView {
    pub(super) fn of(line: DeliveryLine) -> Self {
        let (run_id, seq) = line.stream.unzip();
        let attempts = line.attempts.into_iter().map(|attempt| AttemptView {
            attempt: attempt.attempt,
            at: moment(attempt.began_at_ms),
            duration_ms: attempt.duration_ms,
            status: attempt.status,
            failure: attempt.failure,
        });
        Self {
            message_id: MessageId::new(line.message),
            webhook_id: WebhookId::new(line.webhook),
            kind: line.kind,
            run_id: run_id.map(RunId::new),
            seq,
            state: line.state,
            created_at: moment(line.created_at_ms),
            next_attempt_at: line.due_at_ms.map(moment),
            attempts: attempts.collect(),
        }
    }
}
