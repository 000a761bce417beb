//! Fixed windows of 60 s per key: an address, then a principal (agent-api 1.8).
//!
//! What stays true: a key's first request opens its window; at most 10,000 keys are held and the one
//! whose window opened first makes room; each request costs a constant amount of work on average.
//!
//! Deliberately absent: clocks, headers and bodies. The door renders the verdict.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};

/// Length of a window in milliseconds.
pub const WINDOW_MS: u64 = 60_000;

/// Most keys tracked at once (agent-api 1.8).
pub const MAX_KEYS: usize = 10_000;

/// What a counted request is told. The values are those of the `X-RateLimit-…` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    pub limit: u64,
    /// Requests left in this window, this one already counted.
    pub remaining: u64,
    /// End of the window in milliseconds since the epoch of the caller's clock.
    pub reset_at_ms: u64,
    pub allowed: bool,
    /// Milliseconds until the window ends, at least 1.
    pub retry_after_ms: u64,
    /// The same in whole seconds, rounded up, for `Retry-After`.
    pub retry_after_s: u64,
}

/// Counts requests by key. One limiter serves all threads.
#[derive(Debug)]
pub struct WindowLimiter {
    limit: Option<NonZeroU64>,
    windows: Mutex<Windows>,
}

#[derive(Debug, Default)]
struct Windows {
    by_key: HashMap<String, Window>,
    /// Every window in the order of opening, so the oldest stands first.
    opened: VecDeque<(u64, String)>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    opened_at_ms: u64,
    count: u64,
}

impl WindowLimiter {
    /// A limiter of `limit` requests a minute and key; 0 or less disables it (agent-api 1.8).
    pub fn new(limit: i64) -> Self {
        let limit = u64::try_from(limit).ok().and_then(NonZeroU64::new);
        Self {
            limit,
            windows: Mutex::default(),
        }
    }

    /// Counts one request of `key`. `None` when the limiter is disabled: nothing is counted and no
    /// header is due.
    pub fn hit(&self, key: &str, now_ms: u64) -> Option<Verdict> {
        let limit = self.limit?.get();
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.count(key, now_ms);
        let reset_at_ms = window.opened_at_ms.saturating_add(WINDOW_MS);
        let retry_after_ms = reset_at_ms.saturating_sub(now_ms).clamp(1, WINDOW_MS);
        Some(Verdict {
            limit,
            remaining: limit.saturating_sub(window.count),
            reset_at_ms,
            allowed: window.count <= limit,
            retry_after_ms,
            retry_after_s: retry_after_ms.div_ceil(1000).max(1),
        })
    }
}

impl Windows {
    fn count(&mut self, key: &str, now_ms: u64) -> Window {
        // A clock that steps back would put windows out of order, so time stands still instead.
        let now_ms = self
            .opened
            .back()
            .map_or(now_ms, |(latest, _)| now_ms.max(*latest));
        self.drop_ended(now_ms);
        if let Some(window) = self.by_key.get_mut(key) {
            window.count = window.count.saturating_add(1);
            return *window;
        }
        while self.by_key.len() >= MAX_KEYS {
            self.drop_oldest();
        }
        let window = Window {
            opened_at_ms: now_ms,
            count: 1,
        };
        self.by_key.insert(key.to_owned(), window);
        self.opened.push_back((now_ms, key.to_owned()));
        window
    }

    fn drop_ended(&mut self, now_ms: u64) {
        while self
            .opened
            .front()
            .is_some_and(|(at, _)| now_ms - at >= WINDOW_MS)
        {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, key)) = self.opened.pop_front() {
            self.by_key.remove(&key);
        }
    }
}

/// The key of a client address: IPv4 whole, IPv6 by its /64, which one client can fill at will
/// (access 12).
pub fn address_key(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// The key of a principal: tenant, issuer and subject joined by line feeds (agent-api 1.2), none of
/// which a verified token can contain.
pub fn principal_key(tenant: &str, issuer: &str, subject: &str) -> String {
    [tenant, issuer, subject].join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hit(limiter: &WindowLimiter, key: &str, now_ms: u64) -> Verdict {
        limiter.hit(key, now_ms).unwrap()
    }

    #[test]
    fn the_first_request_opens_a_window_that_ends_after_sixty_seconds() {
        let limiter = WindowLimiter::new(2);
        let first = hit(&limiter, "a", 1_000);
        let expected = Verdict {
            limit: 2,
            remaining: 1,
            reset_at_ms: 61_000,
            allowed: true,
            retry_after_ms: 60_000,
            retry_after_s: 60,
        };
        assert_eq!(first, expected);
        assert!(hit(&limiter, "a", 60_000).allowed);
        let refused = hit(&limiter, "a", 60_001);
        assert!(!refused.allowed);
        assert_eq!((refused.remaining, refused.reset_at_ms), (0, 61_000));
        assert_eq!((refused.retry_after_ms, refused.retry_after_s), (999, 1));
        let next = hit(&limiter, "a", 61_000);
        assert_eq!(
            (next.allowed, next.remaining, next.reset_at_ms),
            (true, 1, 121_000)
        );
    }

    #[test]
    fn keys_are_counted_apart() {
        let limiter = WindowLimiter::new(1);
        assert!(hit(&limiter, "a", 0).allowed);
        assert!(hit(&limiter, "b", 0).allowed);
        assert!(!hit(&limiter, "a", 0).allowed);
    }

    #[test]
    fn a_limit_that_is_not_positive_disables_the_limiter() {
        for limit in [0, -1, i64::MIN] {
            assert_eq!(WindowLimiter::new(limit).hit("a", 0), None);
        }
    }

    #[test]
    fn the_oldest_key_makes_room_when_all_are_taken() {
        let limiter = WindowLimiter::new(1);
        for number in 0..MAX_KEYS {
            hit(&limiter, &number.to_string(), 0);
        }
        assert!(!hit(&limiter, "0", 1).allowed);
        assert!(hit(&limiter, "one more", 1).allowed);
        assert!(
            hit(&limiter, "0", 1).allowed,
            "the oldest was dropped and starts anew"
        );
        assert!(!hit(&limiter, "2", 1).allowed);
        let windows = limiter.windows.lock().unwrap();
        assert_eq!(
            (windows.by_key.len(), windows.opened.len()),
            (MAX_KEYS, MAX_KEYS)
        );
    }

    #[test]
    fn ended_windows_are_forgotten() {
        let limiter = WindowLimiter::new(1);
        for number in 0..100 {
            hit(&limiter, &number.to_string(), number);
        }
        hit(&limiter, "late", WINDOW_MS + 99);
        assert_eq!(limiter.windows.lock().unwrap().by_key.len(), 1);
    }

    #[test]
    fn a_clock_that_steps_back_does_not_open_windows() {
        let limiter = WindowLimiter::new(1);
        hit(&limiter, "a", 100_000);
        let refused = hit(&limiter, "a", 10);
        assert!(!refused.allowed);
        assert_eq!((refused.retry_after_s, refused.reset_at_ms), (60, 160_000));
        assert_eq!(hit(&limiter, "b", 20).reset_at_ms, 160_000);
        assert!(hit(&limiter, "b", 160_000).allowed);
    }

    #[test]
    fn threads_share_one_count() {
        let limiter = WindowLimiter::new(100);
        let allowed: usize = std::thread::scope(|scope| {
            let count = || (0..50).filter(|_| hit(&limiter, "a", 0).allowed).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(allowed, 100);
    }

    #[test]
    fn one_ipv6_network_and_one_mapped_address_are_one_key() {
        let key = |text: &str| address_key(text.parse().unwrap());
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
    }

    proptest! {
        #[test]
        fn no_key_is_allowed_more_than_its_limit_in_any_window(
            steps in prop::collection::vec((0_u64..20_000, 0_usize..3), 1..200),
            limit in 1_i64..5,
        ) {
            let limiter = WindowLimiter::new(limit);
            let (mut now, mut allowed) = (0, HashMap::<(usize, u64), i64>::new());
            for (step, key) in steps {
                now += step;
                let verdict = hit(&limiter, &key.to_string(), now);
                prop_assert!(verdict.reset_at_ms > now && verdict.reset_at_ms <= now + WINDOW_MS);
                if verdict.allowed {
                    *allowed.entry((key, verdict.reset_at_ms)).or_default() += 1;
                }
            }
            prop_assert!(allowed.values().all(|count| *count <= limit));
        }
    }
}
