//! Use cases: authorise, gather facts, let an aggregate decide, append, answer.
//!
//! The only place that knows policy and idempotency. No door type comes in, no SQL goes out.

pub mod access;
pub mod agent;
pub mod caller;
pub mod idempotency;
pub mod policy;
pub mod problem;
pub mod projections;
pub mod redaction;
pub mod replay;
pub mod work;
