//! Use cases of accounts and of the identities that act for them.

pub mod accounts;
pub mod admission;
pub mod worker_tokens;
