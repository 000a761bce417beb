//! The decisions of Helix: state, commands, events and ids of every aggregate.
//!
//! Nothing here performs I/O, reads a clock or draws randomness. Facts from outside arrive in
//! commands; time arrives in a [`time::Stamp`]. What must stay true: a stream folded from its
//! events is the whole truth about its aggregate, on any machine and at any later time.

pub mod access;
pub mod agent;
pub mod canonical;
pub mod chain;
pub mod decider;
pub mod ids;
pub mod sealed;
pub mod sourced;
pub mod text;
pub mod time;
