//! The REST door.

pub mod rate_limit;
pub mod request_id;
pub mod strict_json;
pub mod transport;
