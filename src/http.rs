//! The REST doors: parse, authenticate, call a use case, render one envelope.
//!
//! No rule of a run is decided here. What must stay true: every answer carries a request id and
//! forbids caching; the first failing step of the pipeline answers (`agent-api` 1.2).

pub mod agent;
pub(crate) mod arrival;
pub mod discovery;
pub mod door;
mod exposure;
pub mod hang_up;
mod head_guard;
pub mod health;
pub mod oauth;
pub mod openapi;
pub mod permits;
pub mod pipeline;
pub mod protected_resource;
pub mod public;
pub mod query;
pub mod rate_limit;
pub mod request_id;
pub mod respond;
pub mod serve;
pub mod session_lane;
pub mod surface;
pub mod transport;
pub mod work;
pub mod workers;
