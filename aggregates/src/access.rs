//! Accounts, the bindings that let an outside identity act for one, the endpoints that are told of
//! its runs, and the tokens of workers.

pub mod account;
pub mod agent_account;
pub mod webhook;
pub mod worker_token;
