//! Helix: durable, governed agent runs on an event-sourced, hash-chained Postgres log.
//!
//! `app` knows policy and idempotency, `store` the log, the doors how callers speak. Arrows point
//! one way: doors → `app` → `store` and projections → aggregates.

pub mod app;
pub mod auth;
pub mod bench;
pub mod browser;
pub mod cli;
pub mod config;
pub mod http;
pub mod ids;
pub mod mcp;
pub mod metrics;
pub mod outbound;
pub mod server;
pub mod solver;
pub mod store;
pub mod strict_json;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod verify;
pub mod worker;
