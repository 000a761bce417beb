//! The MCP door.

mod client;
mod envelopes;
mod handshakes;
mod parity;
mod resource;
