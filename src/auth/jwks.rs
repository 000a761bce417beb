//! The key set of the configured issuer, cached.
//!
//! Anyone can send a token with any key id, so the number of fetches must not depend on how many do.
//! And an issuer that is down for an hour must not lock out everybody it has vouched for.
//!
//! What stays true (access 4.3): one fetch at a time; a set is fresh for 10 minutes; unknown key ids
//! together cause at most one fetch in 60 s and are unknown until then; when fetching fails, the old
//! set serves until it is 24 h old, and the next attempt waits; a fetch goes on when the request
//! that started it is gone.
//!
//! Deliberately absent: background refresh, and more than one URL.

mod key;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use reqwest::Url;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::outbound::GuardedFetch;

pub(in crate::auth) use key::is_key_id;
pub use key::{Algorithm, VerificationKey};

/// Most keys in one set (access 4.3); a longer set is refused whole.
pub const MAX_KEYS: usize = 64;

const FRESH: Duration = Duration::from_secs(10 * 60);
const SERVABLE: Duration = Duration::from_secs(24 * 60 * 60);
const UNKNOWN_KEY_PAUSE: Duration = Duration::from_secs(60);
/// After a failure with an old set in hand, nobody needs to wait for another attempt soon.
const FAILURE_PAUSE: Duration = Duration::from_secs(60);
/// After a failure with nothing in hand every request fails, so the next attempt comes early.
const EMPTY_HANDED_PAUSE: Duration = Duration::from_secs(2);

/// Monotonic time since any fixed moment.
pub type MonotonicClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Why there is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No key of that id fits the algorithm.
    #[error("no such key")]
    Unknown,
    /// There is no servable key set.
    #[error("the key set is unavailable")]
    Unavailable,
}

/// The cached key set of one URL.
pub struct Jwks {
    shared: Arc<Shared>,
    /// Held while a fetch is under way, by the fetch itself.
    flight: Arc<Mutex<()>>,
}

struct Shared {
    url: Url,
    fetch: GuardedFetch,
    clock: MonotonicClock,
    held: RwLock<Held>,
}

#[derive(Clone, Default)]
struct Held {
    set: Option<Arc<KeySet>>,
    failed_at: Option<Duration>,
    unknown_at: Option<Duration>,
}

struct KeySet {
    keys: Vec<Arc<VerificationKey>>,
    fetched_at: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Occasion {
    Stale,
    UnknownKey,
}

impl Jwks {
    pub fn new(url: Url, fetch: GuardedFetch, clock: MonotonicClock) -> Self {
        let shared = Shared {
            url,
            fetch,
            clock,
            held: RwLock::default(),
        };
        Self {
            shared: Arc::new(shared),
            flight: Arc::default(),
        }
    }

    /// The key `kid` that may verify `algorithm`. Waits for at most one fetch of each occasion.
    pub async fn key(
        &self,
        kid: &str,
        algorithm: Algorithm,
    ) -> Result<Arc<VerificationKey>, KeyError> {
        let asked_at = self.shared.now();
        self.refresh(Occasion::Stale).await;
        let set = self.shared.servable().ok_or(KeyError::Unavailable)?;
        if set.knows(kid) || set.fetched_at >= asked_at {
            return set.find(kid, algorithm);
        }
        self.refresh(Occasion::UnknownKey).await;
        self.shared
            .servable()
            .ok_or(KeyError::Unavailable)?
            .find(kid, algorithm)
    }

    async fn refresh(&self, occasion: Occasion) {
        // An unknown key waits for a fetch under way even in its pause: that fetch may bring it.
        if occasion == Occasion::Stale && !self.shared.calls_for_fetch(occasion) {
            return;
        }
        let flight = Arc::clone(&self.flight).lock_owned().await;
        if !self.shared.calls_for_fetch(occasion) {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let fetch = tokio::spawn(async move {
            shared.fetch(occasion).await;
            drop(flight);
        });
        if fetch.await.is_err() {
            tracing::error!("the fetch of the key set was torn down");
        }
    }
}

impl Shared {
    fn now(&self) -> Duration {
        (self.clock)()
    }

    fn held(&self) -> Held {
        self.held
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        change(&mut self.held.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn servable(&self) -> Option<Arc<KeySet>> {
        let now = self.now();
        self.held()
            .set
            .filter(|set| now.saturating_sub(set.fetched_at) <= SERVABLE)
    }

    fn calls_for_fetch(&self, occasion: Occasion) -> bool {
        let (held, now) = (self.held(), self.now());
        let past = |moment: Option<Duration>, pause: Duration| {
            moment.is_none_or(|moment| now.saturating_sub(moment) >= pause)
        };
        match occasion {
            Occasion::UnknownKey => past(held.unknown_at, UNKNOWN_KEY_PAUSE),
            Occasion::Stale => {
                let age = held.set.map(|set| now.saturating_sub(set.fetched_at));
                let in_hand = age.is_some_and(|age| age <= SERVABLE);
                let pause = if in_hand {
                    FAILURE_PAUSE
                } else {
                    EMPTY_HANDED_PAUSE
                };
                age.is_none_or(|age| age >= FRESH) && past(held.failed_at, pause)
            }
        }
    }

    async fn fetch(&self, occasion: Occasion) {
        if occasion == Occasion::UnknownKey {
            let now = self.now();
            self.change(|held| held.unknown_at = Some(now));
        }
        let outcome = self.fetch.json(&self.url).await;
        let now = self.now();
        match outcome.map(|document| read_keys(&document)) {
            Ok(Some(keys)) => self.change(|held| {
                held.set = Some(Arc::new(KeySet {
                    keys,
                    fetched_at: now,
                }));
                held.failed_at = None;
            }),
            Ok(None) => self.fail(now, "the document is not a key set"),
            Err(error) => self.fail(now, &error.to_string()),
        }
    }

    fn fail(&self, now: Duration, reason: &str) {
        self.change(|held| held.failed_at = Some(now));
        tracing::warn!(reason, "the issuer's key set could not be fetched");
    }
}

impl KeySet {
    fn knows(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid() == kid)
    }

    fn find(&self, kid: &str, algorithm: Algorithm) -> Result<Arc<VerificationKey>, KeyError> {
        self.keys
            .iter()
            .find(|key| key.kid() == kid && key.fits(algorithm))
            .cloned()
            .ok_or(KeyError::Unknown)
    }
}

/// The usable keys of a key set, or `None` when it isn't one or has too many.
fn read_keys(document: &Value) -> Option<Vec<Arc<VerificationKey>>> {
    let keys = document.get("keys")?.as_array()?;
    if keys.len() > MAX_KEYS {
        return None;
    }
    Some(
        keys.iter()
            .filter_map(VerificationKey::from_jwk)
            .map(Arc::new)
            .collect(),
    )
}

impl fmt::Debug for Jwks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwks")
            .field("url", &self.shared.url.as_str())
            .finish_non_exhaustive()
    }
}
