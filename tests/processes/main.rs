//! Servers as processes: what is promised when they, their database or their callers die.
//!
//! Everything runs the real binary and goes through its doors. Durability is tried on the
//! embedded cluster; where the subject is another, servers share a throw-away database.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step has failed the test"
)]

mod canary;
mod crash;
mod disk;
mod harness;
mod holder;
mod library;
mod model;
mod outage;
mod pause;
mod start;
mod stop;
mod storm;
mod webhooks;
mod workers;
