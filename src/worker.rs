//! What runs beside the requests.

pub mod executor;
pub mod projector;
pub mod sweeper;
