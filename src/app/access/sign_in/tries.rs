//! Who tried to sign in of late, and how often that failed (`access` 3.6).
//!
//! Kept in memory: what is forgotten at a restart only makes the next try wait less. What must stay
//! true: nothing grows without bound, and a try that was told to wait is none.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::auth::oauth::throttle::{self, Admission, Browser, Failures, Past, WINDOW};

/// Moments kept of one key: more make no difference to any wait.
const MOMENTS: usize = 64;
/// Moments kept in all, of one kind.
const ALL: usize = 50_000;

/// Where a try comes from.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The address as limiters tell addresses apart.
    pub address: String,
    pub browser: Browser,
}

/// One account, by the MAC of its address: whether it exists is not asked.
type Account = [u8; 32];

#[derive(Debug, Default)]
pub(super) struct Tries {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    here: Moments<(Account, String)>,
    anywhere: Moments<Account>,
    tries: Moments<String>,
}

impl Tries {
    /// Counts a try, or tells for how many seconds to wait.
    pub fn admit(&self, account: &Account, origin: &Origin, now_ms: u64) -> Result<(), u64> {
        let address = origin.address.clone();
        let mut kept = self.lock();
        let here = kept.here.of(&(*account, address.clone()), now_ms);
        let anywhere = kept.anywhere.of(account, now_ms);
        let tries = kept.tries.of(&address, now_ms);
        let past = Past {
            here: failures(&here, now_ms),
            anywhere: failures(&anywhere, now_ms),
            browser: origin.browser,
            tries: throttle::Tries {
                count: count(&tries),
                since_earliest: since(tries.first(), now_ms),
            },
        };
        match throttle::admit(&past) {
            Admission::Admit => {
                kept.tries.add(address, now_ms);
                Ok(())
            }
            Admission::Wait(seconds) => Err(seconds),
        }
    }

    /// A try that failed.
    pub fn failed(&self, account: &Account, origin: &Origin, now_ms: u64) {
        let address = origin.address.clone();
        let mut kept = self.lock();
        kept.here.add((*account, address), now_ms);
        kept.anywhere.add(*account, now_ms);
    }

    /// Whoever knows the passphrase has nothing to wait for from where they are.
    pub fn succeeded(&self, account: &Account, origin: &Origin) {
        let address = origin.address.clone();
        self.lock().here.by_key.remove(&(*account, address));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failures(moments: &[u64], now_ms: u64) -> Failures {
    Failures {
        count: count(moments),
        since_latest: since(moments.last(), now_ms),
    }
}

fn count(moments: &[u64]) -> u32 {
    u32::try_from(moments.len()).unwrap_or(u32::MAX)
}

fn since(moment: Option<&u64>, now_ms: u64) -> Duration {
    moment.map_or(Duration::ZERO, |at| {
        Duration::from_millis(now_ms.saturating_sub(*at))
    })
}

/// Moments within the window, by key, the oldest forgotten first.
#[derive(Debug)]
struct Moments<K> {
    by_key: HashMap<K, VecDeque<u64>>,
    order: VecDeque<(u64, K)>,
}

impl<K> Default for Moments<K> {
    fn default() -> Self {
        Self {
            by_key: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Clone + Eq + std::hash::Hash> Moments<K> {
    fn of(&mut self, key: &K, now_ms: u64) -> Vec<u64> {
        let window = u64::try_from(WINDOW.as_millis()).unwrap_or(u64::MAX);
        let over = |at: u64| now_ms.saturating_sub(at) >= window;
        while self.order.front().is_some_and(|(at, _)| over(*at)) || self.order.len() > ALL {
            self.forget_oldest();
        }
        self.by_key
            .get(key)
            .map_or_else(Vec::new, |moments| moments.iter().copied().collect())
    }

    fn add(&mut self, key: K, now_ms: u64) {
        let moments = self.by_key.entry(key.clone()).or_default();
        if moments.len() >= MOMENTS {
            moments.pop_front();
        }
        moments.push_back(now_ms);
        self.order.push_back((now_ms, key));
    }

    fn forget_oldest(&mut self) {
        let Some((at, key)) = self.order.pop_front() else {
            return;
        };
        if let Some(moments) = self.by_key.get_mut(&key) {
            while moments.front().is_some_and(|moment| *moment <= at) {
                moments.pop_front();
            }
            if moments.is_empty() {
                self.by_key.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: Account = [7; 32];
    const MINUTE: u64 = 60_000;

    fn from(last: u8) -> Origin {
        Origin {
            address: format!("192.0.2.{last}"),
            browser: Browser::Unknown,
        }
    }

    fn fail(tries: &Tries, origin: &Origin, now_ms: u64) {
        tries.admit(&ACCOUNT, origin, now_ms).unwrap();
        tries.failed(&ACCOUNT, origin, now_ms);
    }

    #[test]
    fn the_sixth_failure_makes_the_next_try_wait_and_no_other_address() {
        let tries = Tries::default();
        for at in 0..6 {
            fail(&tries, &from(1), at);
        }
        assert_eq!(tries.admit(&ACCOUNT, &from(1), 6), Err(2));
        assert_eq!(tries.admit(&ACCOUNT, &from(2), 6), Ok(()));
        assert_eq!(tries.admit(&[8; 32], &from(1), 6), Ok(()));
        // Whoever waits long enough may try again, and a right passphrase ends the waiting.
        assert_eq!(tries.admit(&ACCOUNT, &from(1), 2_006), Ok(()));
        tries.succeeded(&ACCOUNT, &from(1));
        assert_eq!(tries.admit(&ACCOUNT, &from(1), 2_007), Ok(()));
    }

    #[test]
    fn an_address_has_twenty_tries_a_quarter_of_an_hour() {
        let tries = Tries::default();
        for at in 0..20 {
            tries
                .admit(&[u8::try_from(at).unwrap(); 32], &from(1), at)
                .unwrap();
        }
        assert!(tries.admit(&ACCOUNT, &from(1), 20).is_err());
        assert_eq!(tries.admit(&ACCOUNT, &from(1), 15 * MINUTE + 1), Ok(()));
    }

    #[test]
    fn fifty_failures_from_everywhere_delay_all_but_known_browsers() {
        let tries = Tries::default();
        for last in 0..50 {
            fail(&tries, &from(last), 0);
        }
        assert!(tries.admit(&ACCOUNT, &from(200), 1).is_err());
        let known = Origin {
            browser: Browser::SignedInBefore,
            ..from(200)
        };
        assert_eq!(tries.admit(&ACCOUNT, &known, 1), Ok(()));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut moments = Moments::default();
        for at in 0..60_000_u32 {
            moments.add(at, 0);
        }
        moments.of(&0, 1);
        assert!(moments.by_key.len() <= ALL && moments.order.len() <= ALL);
        moments.of(&0, 16 * MINUTE);
        assert!(moments.by_key.is_empty() && moments.order.is_empty());
    }
}
