//! The routes of external workers (settled questions 86 to 90), by a worker that is a plain client.

mod claims;
pub mod client;
mod credentials;
mod ends;
mod hang_ups;
mod lies;
mod products;
mod two_servers;
