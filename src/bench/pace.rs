//! How long everything takes.

use std::time::Duration;

/// The lengths of one run.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Every contender has one slice in every pass.
    pub passes: usize,
    pub slice: Duration,
    /// Given to each contender before the first pass: connections, plans, caches.
    pub warm_up: Duration,
    /// Events of the long stream whose pages are timed.
    pub long_stream: i64,
    /// Pages timed in one pass, of each kind.
    pub pages: usize,
    /// Events replayed in one pass.
    pub replayed: u32,
    /// How long the tail reader follows its writers.
    pub tail: Duration,
    /// How long appends run before and after Postgres is killed.
    pub around_kill: Duration,
}

impl Pace {
    pub const FULL: Self = Self {
        passes: 9,
        slice: Duration::from_secs(1),
        warm_up: Duration::from_millis(400),
        long_stream: 1_000_000,
        pages: 1_000,
        replayed: 100_000,
        tail: Duration::from_secs(12),
        around_kill: Duration::from_secs(3),
    };

    /// Under a minute for everything.
    pub const QUICK: Self = Self {
        passes: 3,
        slice: Duration::from_millis(400),
        warm_up: Duration::from_millis(200),
        long_stream: 1_000_000,
        pages: 300,
        replayed: 20_000,
        tail: Duration::from_secs(3),
        around_kill: Duration::from_secs(1),
    };

    /// Proves that everything runs, and nothing about its speed.
    #[cfg(test)]
    pub const TINY: Self = Self {
        passes: 1,
        slice: Duration::from_millis(60),
        warm_up: Duration::from_millis(20),
        long_stream: 1_000,
        pages: 5,
        replayed: 1_000,
        tail: Duration::from_millis(300),
        around_kill: Duration::from_millis(200),
    };
}
