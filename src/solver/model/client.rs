//! One question to the model's server: sent, tried again where that can help, answered or typed.
//!
//! What must stay true: a request is repeated only for reasons that pass by themselves, and never
//! past the turn's deadline; a fault carries a status at most, no text of the server; the key is in
//! one header that `Debug` does not show, and a server that repeats it is not heard. Dropping the future closes the connection.
//!
//! Deliberately absent: a pool of connections. A model thinks for seconds; a handshake is nothing.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helix_aggregates::agent::run::turn::ModelFailure;
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::ModelSettings;
use super::talk::{AnswerFault, Prompt, Reply};
use super::wire::{Dialect, Frame, LimitName, Sampling};
use crate::app::redaction::known::KnownSecrets;
use crate::outbound::{FetchError, FetchLimits, Fetched, GuardedFetch, Outgoing, Reach};
use crate::strict_json;

/// Bytes of an answer.
const ANSWER_BYTES: usize = 1 << 20;
/// Bytes of a request: the whole conversation.
const REQUEST_BYTES: usize = 4 << 20;
/// Times that one request is sent.
const ATTEMPTS: u32 = 3;
/// The pause before the second attempt; the third waits three times as long.
const PAUSE: Duration = Duration::from_millis(200);
/// A server that wants a longer pause than this gets none.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const JSON: &str = "application/json";

/// Why a request brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ModelFault {
    #[error("its address or its key cannot be used")]
    Misconfigured,
    #[error("it can't be reached, or cut the connection")]
    Unreachable,
    #[error("it answered with status {0}")]
    Unwell(u16),
    #[error("it wants fewer requests")]
    Busy { retry_after: Option<Duration> },
    #[error("it refused the credentials with status {0}")]
    RefusedCredentials(u16),
    #[error("it rejected the request with status {0}")]
    Rejected(u16),
    #[error("its answer is unusable: {0}")]
    Unusable(AnswerFault),
    #[error("the conversation has grown too long")]
    TooMuch,
    #[error("the turn's deadline passed")]
    TooSlow,
}

impl ModelFault {
    /// What it means for the turn; `None`: its time is up.
    pub fn failure(self) -> Option<ModelFailure> {
        Some(match self {
            Self::Unreachable | Self::Unwell(_) => ModelFailure::Unavailable,
            Self::Busy { .. } => ModelFailure::RateLimited,
            Self::RefusedCredentials(_) => ModelFailure::RefusedCredentials,
            Self::Misconfigured | Self::Rejected(_) => ModelFailure::RejectedRequest,
            Self::Unusable(AnswerFault::Filtered | AnswerFault::Refused) => ModelFailure::Declined,
            Self::Unusable(_) => ModelFailure::UnusableAnswer,
            Self::TooMuch => ModelFailure::AllowanceSpent,
            Self::TooSlow => return None,
        })
    }

    /// How long to wait before the same request may do better; `None`: it will not.
    fn pause(self, attempt: u32, seed: &str) -> Option<Duration> {
        match self {
            Self::Unreachable | Self::Unwell(500 | 502 | 503 | 504) => {
                Some(jittered(attempt, seed))
            }
            Self::Busy { retry_after } => {
                let pause = retry_after.unwrap_or_else(|| jittered(attempt, seed));
                (pause <= LONGEST_PAUSE).then_some(pause)
            }
            Self::Misconfigured
            | Self::Unwell(_)
            | Self::RefusedCredentials(_)
            | Self::Rejected(_)
            | Self::Unusable(_)
            | Self::TooMuch
            | Self::TooSlow => None,
        }
    }
}

/// A reply, and the bytes that were exchanged for it.
pub(super) struct Exchange {
    pub reply: Reply,
    pub bytes: usize,
}

/// The model's server.
pub(super) struct ModelClient {
    settings: ModelSettings,
    /// The key, which a server may repeat.
    known: KnownSecrets,
    /// Learned from refusals; what one turn has learned, later ones know.
    fixed_sampling: AtomicBool,
    completion_limit: AtomicBool,
}

impl fmt::Debug for ModelClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelClient")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl ModelClient {
    pub fn new(settings: ModelSettings) -> Self {
        Self {
            known: KnownSecrets::of([&settings.api_key]),
            settings,
            fixed_sampling: AtomicBool::new(false),
            completion_limit: AtomicBool::new(false),
        }
    }

    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// What a server may have put its key into.
    pub fn known(&self) -> &KnownSecrets {
        &self.known
    }

    /// The body of a request, within its bound.
    pub fn body(&self, prompt: Prompt<'_>) -> Result<Vec<u8>, ModelFault> {
        let frame = Frame {
            model: &self.settings.model,
            max_tokens: self.settings.max_tokens,
            dialect: self.dialect(),
        };
        let body = self.settings.wire.encode(frame, prompt).to_string();
        if body.len() > REQUEST_BYTES {
            return Err(ModelFault::TooMuch);
        }
        Ok(body.into_bytes())
    }

    /// Asks until there is an answer, a reason that does not pass, or no time. `seed` spreads the
    /// pauses of turns that failed together.
    pub async fn ask(
        &self,
        prompt: Prompt<'_>,
        until: Instant,
        seed: &str,
    ) -> Result<Exchange, ModelFault> {
        let mut attempt = 1;
        loop {
            let body = self.body(prompt)?;
            let before = self.dialect();
            let fault = match self.attempt(body, until).await {
                Ok(exchange) => return Ok(exchange),
                Err(fault) => fault,
            };
            // Each refusal of a parameter can be learned once, so this ends.
            if self.dialect() != before {
                continue;
            }
            let pause = fault.pause(attempt, seed).filter(|_| attempt < ATTEMPTS);
            let pause = pause.filter(|pause| Instant::now() + *pause < until);
            let Some(pause) = pause else {
                return Err(fault);
            };
            tracing::debug!(%fault, attempt, "the model server is asked again");
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, body: Vec<u8>, until: Instant) -> Result<Exchange, ModelFault> {
        let sent = body.len();
        let limits = FetchLimits {
            bytes: ANSWER_BYTES,
            deadline: until.saturating_duration_since(Instant::now()),
        };
        let url = self.settings.endpoint(self.settings.wire.path());
        let url = url.ok_or(ModelFault::Misconfigured)?;
        let request = authorized(Outgoing::post(url, JSON, body), &self.settings)?;
        let fetched = GuardedFetch::new(Reach::Anywhere, limits)
            .send(request)
            .await;
        let fetched = fetched.map_err(|error| match error {
            FetchError::TooSlow => ModelFault::TooSlow,
            FetchError::TooLong => ModelFault::Unusable(AnswerFault::TooLong),
            FetchError::UrlNotAdmitted | FetchError::AddressNotPublic => ModelFault::Misconfigured,
            FetchError::Unreachable | FetchError::Status(_) | FetchError::NotJson => {
                ModelFault::Unreachable
            }
        })?;
        if fetched.status != 200 {
            self.learn(&fetched);
            return Err(fault_of(&fetched));
        }
        if fetched.media_type != JSON {
            return Err(ModelFault::Unusable(AnswerFault::WrongType));
        }
        let said = self.known.conceal_json(&fetched.body);
        let reply = self.settings.wire.decode(&said);
        Ok(Exchange {
            reply: reply.map_err(ModelFault::Unusable)?,
            bytes: sent + fetched.body.len(),
        })
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            sampling: if self.fixed_sampling.load(Ordering::Relaxed) {
                Sampling::Fixed
            } else {
                Sampling::Coldest
            },
            limit: if self.completion_limit.load(Ordering::Relaxed) {
                LimitName::MaxCompletionTokens
            } else {
                LimitName::MaxTokens
            },
        }
    }

    /// Some models refuse a temperature, some the older name of the limit; they say so.
    fn learn(&self, fetched: &Fetched) {
        if !matches!(fetched.status, 400 | 422) {
            return;
        }
        let Ok(document) = strict_json::read(&fetched.body) else {
            return;
        };
        match document["error"]["param"].as_str() {
            Some("temperature") => self.fixed_sampling.store(true, Ordering::Relaxed),
            Some("max_tokens") => self.completion_limit.store(true, Ordering::Relaxed),
            Some(_) | None => {}
        }
    }
}

/// A request with the key in its one header.
pub(super) fn authorized(
    request: Outgoing,
    settings: &ModelSettings,
) -> Result<Outgoing, ModelFault> {
    let bearer = format!("Bearer {}", settings.api_key.expose_secret());
    let mut value = HeaderValue::from_str(&bearer).map_err(|_| ModelFault::Misconfigured)?;
    value.set_sensitive(true);
    let request = request.header(AUTHORIZATION, value);
    Ok(request.header(ACCEPT, HeaderValue::from_static(JSON)))
}

fn fault_of(fetched: &Fetched) -> ModelFault {
    match fetched.status {
        401 | 403 => ModelFault::RefusedCredentials(fetched.status),
        429 => ModelFault::Busy {
            retry_after: fetched.retry_after,
        },
        status @ 500.. => ModelFault::Unwell(status),
        200..300 => ModelFault::Unusable(AnswerFault::WrongShape),
        status => ModelFault::Rejected(status),
    }
}

/// Between half and one and a half of the pause, by a hash: turns that failed together do not come
/// back together.
fn jittered(attempt: u32, seed: &str) -> Duration {
    let hash = Sha256::digest(format!("{seed}:{attempt}"));
    let pause = PAUSE * 3_u32.pow(attempt.saturating_sub(1));
    pause / 2 + pause * u32::from(hash[0]) / 256
}

/// The server's list of models: what it costs nothing to ask.
pub(super) async fn models(
    settings: &ModelSettings,
    patience: Duration,
) -> Result<Option<Vec<String>>, ModelFault> {
    let url = settings
        .endpoint("models")
        .ok_or(ModelFault::Misconfigured)?;
    let limits = FetchLimits {
        bytes: ANSWER_BYTES,
        deadline: patience,
    };
    let request = authorized(Outgoing::get(url), settings)?;
    let fetched = GuardedFetch::new(Reach::Anywhere, limits)
        .send(request)
        .await;
    let fetched = fetched.map_err(|_| ModelFault::Unreachable)?;
    match fetched.status {
        200 => {
            let listed = strict_json::read(&fetched.body).ok();
            let models = listed.as_ref().and_then(|list| list["data"].as_array());
            let ids = models.map(|models| {
                let ids = models.iter().filter_map(|model| model["id"].as_str());
                ids.map(str::to_owned).collect()
            });
            Ok(ids)
        }
        // A server without the list is a server all the same.
        404 | 405 | 501 => Ok(None),
        _ => Err(fault_of(&fetched)),
    }
}

/// An address below the base.
pub(super) fn below(base: &Url, path: &str) -> Option<Url> {
    let text = format!("{}/{path}", base.as_str().trim_end_matches('/'));
    Url::parse(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_the_pause_it_wants_up_to_a_bound() {
        let wants = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds));
            ModelFault::Busy { retry_after }.pause(1, "turn")
        };
        assert_eq!(wants(2), Some(Duration::from_secs(2)));
        assert_eq!(wants(30), Some(LONGEST_PAUSE));
        assert_eq!(wants(31), None);
    }

    #[test]
    fn pauses_grow_and_differ_between_turns() {
        let pauses = |attempt| -> Vec<Duration> {
            let seeds = (0..64).map(|turn| format!("turn_{turn}"));
            seeds.map(|seed| jittered(attempt, &seed)).collect()
        };
        for (attempt, least) in [(1, PAUSE / 2), (2, PAUSE * 3 / 2)] {
            let found = pauses(attempt);
            assert!(
                found
                    .iter()
                    .all(|pause| *pause >= least && *pause < least * 3)
            );
            assert!(found.iter().any(|pause| *pause != found[0]));
        }
    }

    #[test]
    fn an_address_keeps_its_path_with_and_without_a_slash_at_its_end() {
        for base in ["https://host/api/v1", "https://host/api/v1/"] {
            let url = below(&base.parse().unwrap(), "models").unwrap();
            assert_eq!(url.as_str(), "https://host/api/v1/models");
        }
    }
}
