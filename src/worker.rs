//! What runs beside the requests.

pub mod outbox;
pub mod projector;
pub mod sweeper;
