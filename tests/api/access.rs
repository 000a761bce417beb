//! Accounts, the built-in authorization server and connections.

mod app;
mod browser;
mod codes;
mod connections;
mod consent;
mod registration;
mod revocation;
mod setup;
mod sign_in;
