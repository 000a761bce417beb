//! Accounts, the bindings that let an outside identity act for one, and the tokens of workers.

pub mod account;
pub mod agent_account;
pub mod worker_token;
