//! What runs beside the requests.

pub mod offers;
pub mod projector;
pub mod sweeper;
