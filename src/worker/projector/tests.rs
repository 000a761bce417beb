//! The engine and its proofs against real Postgres, on histories nobody wrote by hand.

mod commands;
mod engine;
mod proof;
mod world;
