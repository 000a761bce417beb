//! What runs beside the requests.

pub mod cleanup;
pub mod offers;
pub mod outbox;
pub mod projector;
pub mod sweeper;
