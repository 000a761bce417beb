//! Use cases of agent runs.

pub mod contract;
pub mod evidence;
pub mod executor;
pub mod keyed;
pub mod reads;
pub mod request;
pub mod runs;
pub mod schema;
pub mod turns;
pub mod workers;
