//! Real Postgres for tests: one throw-away cluster per test process, one database per test.
//!
//! `HELIX_TEST_DATABASE_URL` names a server to use instead; it is the only variable this package reads. With
//! no Postgres to be had a test fails with the one line to type, and never skips. A test process that dies in
//! whatever way leaves nothing: a small shell outlives it to remove the cluster, and the next run sweeps what
//! even that left. Failures panic, since this module is for tests alone.

mod database;
mod names;
mod server;

pub use database::{Template, TestDatabase, template};
pub use server::{TestServer, shared};

use std::fmt::Display;

#[expect(
    clippy::panic,
    reason = "a test without its database has failed, and only its message helps"
)]
fn must<T, E: Display>(what: &str, outcome: Result<T, E>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error}"),
    }
}
