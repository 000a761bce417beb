//! Helix: durable, governed agent runs.

pub mod cli;
pub mod config;
pub mod telemetry;
pub mod verify;
