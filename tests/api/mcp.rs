//! The MCP door.

pub mod client;
mod envelopes;
mod handshakes;
mod parity;
mod resource;
