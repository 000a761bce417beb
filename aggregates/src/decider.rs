//! The one shape all aggregates share: pure `decide` and total `evolve`.

use std::error::Error;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::time::Stamp;

/// An event that knows its permanent wire name and shape version.
///
/// Names and versions are literals: they are part of the log's format and are never derived from
/// Rust identifiers.
pub trait WireEvent:
    Serialize + DeserializeOwned + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static
{
    /// The stored name, for example `run_started`.
    fn name(&self) -> &'static str;
    /// The shape version of that name, from 1.
    fn version(&self) -> u16;
}

/// An aggregate's rules.
pub trait Decider: Default + Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The stream kind, a permanent literal.
    const KIND: &'static str;
    type Command: Send + Sync + 'static;
    type Event: WireEvent;
    type Error: Error + Send + Sync + 'static;

    /// Accepts a command as the events that happened, or refuses it; never changes `self`.
    fn decide(
        &self,
        command: &Self::Command,
        stamp: Stamp,
    ) -> Result<Vec<Self::Event>, Self::Error>;

    /// Applies one event that has happened. Total: an event is never refused.
    fn evolve(&mut self, event: &Self::Event);
}
