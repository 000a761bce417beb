//! Use cases of accounts, of the identities that act for them and of the endpoints that are told.

pub mod accounts;
pub mod admission;
pub mod webhooks;
pub mod worker_tokens;
