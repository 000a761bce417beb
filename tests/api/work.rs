//! The workspace door over REST.

mod apps;
mod briefs;
mod client;
mod decisions;
mod doors;
mod humans;
mod mcp;
mod members;
mod pages;
mod parting;
pub mod person;
mod projects;
mod reach;
mod record;
mod reviews;
mod tokens;
