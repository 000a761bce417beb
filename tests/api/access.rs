//! Accounts, the built-in authorization server and connections.

mod account;
pub mod app;
mod bindings;
pub mod browser;
mod codes;
mod connections;
mod consent;
mod documents;
mod introspection;
mod invitation;
mod midway;
mod registration;
mod revocation;
mod setup;
mod sign_in;
