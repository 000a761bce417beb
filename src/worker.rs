//! What runs beside the requests.

pub mod projector;
pub mod sweeper;
