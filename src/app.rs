//! Use cases.

pub mod redaction;
