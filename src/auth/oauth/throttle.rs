//! How long the next sign-in has to wait (`access` 3.6).
//!
//! A lock-out would let anybody shut an owner out, so failures only delay. The delay of an account as
//! a whole spares browsers that signed in before, for the same reason.
//!
//! What stays true: whoever waits is told so before anything is hashed; no wait of a delay is longer
//! than 30 seconds, and no wait at all longer than the window. Deliberately absent: counting. Counts
//! look back over [`WINDOW`], and a try that was told to wait is none.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// How far back failures and tries are counted.
pub const WINDOW: Duration = Duration::from_secs(15 * 60);

/// Tries of one address in the window, consent posts included.
pub const MAX_TRIES: u32 = 20;

/// The failure of one account from one address after which the next try waits.
const FIRST_DELAYED: u32 = 6;

/// The same for one account from anywhere.
const FIRST_DELAYED_ANYWHERE: u32 = 50;

const LONGEST_DELAY_SECONDS: u64 = 30;

/// Failures within the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    pub count: u32,
    /// Time since the latest; of no meaning without one.
    pub since_latest: Duration,
}

/// Tries of one address within the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tries {
    pub count: u32,
    /// Time since the earliest that is still counted; of no meaning without one.
    pub since_earliest: Duration,
}

/// Whether this browser signed in to the account before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Browser {
    SignedInBefore,
    Unknown,
}

/// What happened before a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past {
    /// Of this account from this address.
    pub here: Failures,
    /// Of this account from anywhere.
    pub anywhere: Failures,
    pub browser: Browser,
    pub tries: Tries,
}

/// Whether the try may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Admit,
    /// 429 with this many seconds, one at least, in `Retry-After`.
    Wait(u64),
}

pub fn admit(past: &Past) -> Admission {
    let anywhere = match past.browser {
        Browser::SignedInBefore => Duration::ZERO,
        Browser::Unknown => past.anywhere.remaining(FIRST_DELAYED_ANYWHERE),
    };
    let wait = past
        .here
        .remaining(FIRST_DELAYED)
        .max(anywhere)
        .max(past.tries.remaining());
    if wait.is_zero() {
        Admission::Admit
    } else {
        Admission::Wait(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
    }
}

impl Failures {
    fn remaining(self, first_delayed: u32) -> Duration {
        if self.count < first_delayed {
            return Duration::ZERO;
        }
        delay(self.count).saturating_sub(self.since_latest)
    }
}

impl Tries {
    fn remaining(self) -> Duration {
        if self.count < MAX_TRIES {
            return Duration::ZERO;
        }
        WINDOW.saturating_sub(self.since_earliest)
    }
}

/// min(2^(n−5), 30) seconds after the n-th failure.
fn delay(failures: u32) -> Duration {
    let doubled = 1_u64.checked_shl(failures.saturating_sub(FIRST_DELAYED - 1));
    let seconds = doubled.map_or(LONGEST_DELAY_SECONDS, |seconds| {
        seconds.min(LONGEST_DELAY_SECONDS)
    });
    Duration::from_secs(seconds)
}
