//! Black-box tests: everything goes through the doors of real servers on a real database.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step has failed the test"
)]

mod agent;
mod harness;
mod races;
