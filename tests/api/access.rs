//! Accounts, the built-in authorization server and connections.

pub mod app;
pub mod browser;
mod codes;
mod connections;
mod consent;
mod registration;
mod revocation;
mod setup;
mod sign_in;
