//! The workspace door over REST.

mod briefs;
mod client;
mod decisions;
mod doors;
mod person;
mod projects;
mod reach;
