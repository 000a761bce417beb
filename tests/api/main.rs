//! Black-box tests: everything goes through the doors of real servers on a real database.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step has failed the test"
)]

mod access;
mod agent;
mod attacks;
mod discovery;
mod fixtures;
mod harness;
mod heads;
mod issuer;
mod mcp;
mod openapi;
mod process;
mod races;
mod raw;
mod routes;
mod rows;
mod webhooks;
mod work;
mod workers;
