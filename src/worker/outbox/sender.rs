//! Sends what is due to one endpoint.

use std::sync::Arc;
use std::time::{Duration, Instant};

use helix_aggregates::access::webhook::command::DisableReason;
use helix_aggregates::access::webhook::error::WebhookError;
use helix_aggregates::ids::{MessageId, WebhookId};
use helix_aggregates::time::Timestamp;
use reqwest::header::{HeaderName, HeaderValue, USER_AGENT};

use super::{OutboxSettings, schedule};
use crate::app::access::webhooks::{Open, Webhooks, WebhooksError};
use crate::outbound::{FetchError, FetchLimits, GuardedFetch, Outgoing};
use crate::store::webhooks::{self as rows, Begun, Outcome, Recorded, Sending, Verdict};
use crate::store::{Core, StoreError};

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// Messages sent in a row, so that one endpoint's backlog is not everybody's.
const IN_A_ROW: usize = 20;
/// How long beyond its attempt a lease lasts: the time to record what came of it.
const TO_RECORD: Duration = Duration::from_secs(15);
/// The longest rest that a receiver may ask for.
const LONGEST_REST: Duration = Duration::from_secs(3_600);
/// An endpoint that accepted nothing for so long is disabled by the next failure of a message
/// that is itself older than [`PATIENCE`].
const FAILING: Duration = Duration::from_secs(5 * 24 * 3_600);
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);
const GONE: u16 = 410;

#[derive(Debug)]
pub struct Sender {
    core: Arc<Core>,
    webhooks: Webhooks,
    guard: GuardedFetch,
    attempt: Duration,
}

/// What came of one attempt, before it is judged.
struct Answer {
    status: Option<u16>,
    failure: Option<&'static str>,
    /// The receiver's `Retry-After`.
    asked: Duration,
}

impl Sender {
    pub fn new(core: Arc<Core>, webhooks: Webhooks, settings: OutboxSettings) -> Self {
        let limits = FetchLimits {
            deadline: settings.attempt,
            ..FetchLimits::default()
        };
        Self {
            core,
            webhooks,
            guard: GuardedFetch::new(settings.reach, limits),
            attempt: settings.attempt,
        }
    }

    /// How long an endpoint is held for one attempt.
    pub fn lease(&self) -> Duration {
        self.attempt + TO_RECORD
    }

    /// Sends to a claimed endpoint until nothing is due, something fails or others must have
    /// their turn.
    pub async fn serve(self: Arc<Self>, sending: Sending) {
        for _ in 0..IN_A_ROW {
            match self.next(sending).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(webhook.id = %sending.webhook, %error, "a webhook attempt could not be recorded; it is made again");
                    // Not released: what failed here would fail again at once, and so on without a
                    // pause. The lease runs out.
                    return;
                }
            }
        }
        if let Err(error) = rows::release(&self.core.pool, sending).await {
            tracing::debug!(webhook.id = %sending.webhook, %error, "an endpoint was not released; its lease runs out");
        }
    }

    /// One attempt, on record before and after; `true` when another may follow.
    async fn next(&self, sending: Sending) -> Result<bool, StoreError> {
        let pool = &self.core.pool;
        let Some(begun) = rows::begin(pool, sending, self.lease()).await? else {
            return Ok(false);
        };
        let started = Instant::now();
        let answer = match self.send(sending, &begun).await {
            // It would be no better at once, so it costs an attempt and the pause that follows.
            Err(StoreError::Damaged(cause)) => {
                tracing::error!(webhook.id = %WebhookId::new(sending.webhook), cause, "a webhook could not be read");
                Answer::failed("unreadable")
            }
            answer => answer?,
        };
        let outcome = Outcome {
            status: answer.status,
            failure: answer.failure,
            duration: started.elapsed(),
            verdict: judge(&begun, &answer),
        };
        let recorded = rows::record(pool, sending, &begun, &outcome).await?;
        self.tell(sending, &begun, &outcome);
        if let Some(reason) = given_up(&begun, &answer, &outcome, recorded) {
            self.disable(sending, reason).await?;
        }
        Ok(matches!(
            outcome.verdict,
            Verdict::Delivered | Verdict::Withdrawn
        ))
    }

    async fn send(&self, sending: Sending, begun: &Begun) -> Result<Answer, StoreError> {
        let (id, sealed) = (sending.webhook, &begun.endpoint_body);
        let open = self
            .webhooks
            .open_body(id, begun.key_id, begun.generation, sealed)
            .await?;
        let Some(open) = open else {
            return Ok(Answer::failed("erased"));
        };
        let request = request(&open, begun)?;
        Ok(match self.guard.tell(request).await {
            Ok(answer) => Answer {
                status: Some(answer.status),
                failure: (300..400).contains(&answer.status).then_some("redirected"),
                asked: answer.retry_after.unwrap_or_default(),
            },
            Err(error) => Answer::failed(failure(error)),
        })
    }

    async fn disable(&self, sending: Sending, reason: DisableReason) -> Result<(), StoreError> {
        let id = WebhookId::new(sending.webhook);
        match self.webhooks.disable(id, reason).await {
            Ok(()) => {
                tracing::warn!(
                    webhook.id = %id,
                    reason = reason.as_str(),
                    "a webhook was disabled; it is told nothing until `helix webhook enable`"
                );
                Ok(())
            }
            // Its owner was faster.
            Err(
                WebhooksError::NoWebhook
                | WebhooksError::Webhook(WebhookError::AlreadyDisabled | WebhookError::Deleted),
            ) => Ok(()),
            Err(WebhooksError::Store(error)) => Err(error),
            Err(error) => Err(StoreError::Damaged(error.to_string())),
        }
    }

    /// Metrics, and a log line for what somebody should know.
    fn tell(&self, sending: Sending, begun: &Begun, outcome: &Outcome) {
        let (result, ended) = match outcome.verdict {
            Verdict::Delivered => ("delivered", Some("delivered")),
            Verdict::Again { .. } => ("failed", None),
            Verdict::Dead { .. } => ("failed", Some("dead")),
            Verdict::Withdrawn => ("withdrawn", Some("withdrawn")),
        };
        let metrics = &self.core.metrics;
        metrics
            .webhook_attempts
            .with_label_values(&[result])
            .observe(outcome.duration.as_secs_f64());
        if let Some(ended) = ended {
            metrics.webhook_messages.with_label_values(&[ended]).inc();
        }
        if matches!(outcome.verdict, Verdict::Dead { .. }) {
            tracing::warn!(
                webhook.id = %WebhookId::new(sending.webhook),
                message.id = %MessageId::new(begun.message),
                kind = begun.kind,
                attempts = begun.attempt,
                status = outcome.status,
                failure = outcome.failure,
                "a webhook message was given up"
            );
        }
    }
}

impl Answer {
    fn failed(failure: &'static str) -> Self {
        Self {
            status: None,
            failure: Some(failure),
            asked: Duration::ZERO,
        }
    }

    fn is_success(&self) -> bool {
        self.status
            .is_some_and(|status| (200..300).contains(&status))
    }
}

fn request(open: &Open, begun: &Begun) -> Result<Outgoing, StoreError> {
    let now = Timestamp::from_millis(begun.now_ms);
    let id = MessageId::new(begun.message).to_string();
    let signatures = open.signatures(&id, now, &begun.message_body)?;
    let value = |text: &str| {
        HeaderValue::from_str(text)
            .map_err(|_| StoreError::Damaged("a webhook header is not one".to_owned()))
    };
    let seconds = (now.millis() / 1_000).to_string();
    let agent = concat!("Helix/", env!("CARGO_PKG_VERSION"));
    let body = begun.message_body.clone();
    Ok(
        Outgoing::post(open.target.url().clone(), "application/json", body)
            .header(USER_AGENT, HeaderValue::from_static(agent))
            .header(ID, value(&id)?)
            .header(TIMESTAMP, value(&seconds)?)
            .header(SIGNATURE, value(&signatures)?),
    )
}

fn judge(begun: &Begun, answer: &Answer) -> Verdict {
    if answer.is_success() {
        return Verdict::Delivered;
    }
    if answer.failure == Some("erased") {
        return Verdict::Withdrawn;
    }
    let asked = answer.asked.min(LONGEST_REST);
    if answer.status == Some(GONE) {
        return Verdict::Dead { asked };
    }
    let message = MessageId::new(begun.message);
    match schedule::after(message, begun.attempt, answer.asked) {
        Some(wait) => Verdict::Again { wait, asked },
        None => Verdict::Dead { asked },
    }
}

/// Why nothing more should be sent to the endpoint, if so.
fn given_up(
    begun: &Begun,
    answer: &Answer,
    outcome: &Outcome,
    recorded: Recorded,
) -> Option<DisableReason> {
    if answer.status == Some(GONE) {
        return Some(DisableReason::Gone);
    }
    let failed = match outcome.verdict {
        Verdict::Delivered | Verdict::Withdrawn => return None,
        Verdict::Again { .. } | Verdict::Dead { .. } => recorded.stands,
    };
    let dead = matches!(outcome.verdict, Verdict::Dead { .. });
    let accepted_since = recorded
        .accepted_at_ms
        .is_some_and(|at| at >= begun.created_at_ms);
    let longer = |since: i64, span: Duration| {
        u128::try_from(recorded.now_ms - since).is_ok_and(|ms| ms > span.as_millis())
    };
    let for_days = recorded
        .failing_since_ms
        .is_some_and(|since| longer(since, FAILING))
        && longer(begun.created_at_ms, PATIENCE);
    (failed && ((dead && !accepted_since) || for_days)).then_some(DisableReason::Failing)
}

/// The word of a failure in the delivery log.
fn failure(error: FetchError) -> &'static str {
    match error {
        FetchError::UrlNotAdmitted => "url_not_admitted",
        FetchError::AddressNotPublic => "address_not_public",
        FetchError::Unreachable
        | FetchError::Status(_)
        | FetchError::TooLong
        | FetchError::NotJson => "unreachable",
        FetchError::TooSlow => "too_slow",
    }
}
