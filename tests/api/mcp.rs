//! The MCP door.

pub mod client;
mod crowd;
mod envelopes;
mod handshakes;
mod parity;
mod resource;
mod twins;
