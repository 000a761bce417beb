//! Helix: durable, governed agent runs.

pub mod config;
pub mod telemetry;
pub mod verify;
