//! Use cases of accounts, of the identities that act for them and of the endpoints that are told.

pub mod accounts;
pub mod admission;
pub mod bindings;
pub mod clients;
pub mod consents;
pub mod grants;
pub mod sign_in;
pub mod webhooks;
pub mod worker_tokens;
