//! The workspace door over REST.

pub mod apps;
mod briefs;
pub mod client;
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
