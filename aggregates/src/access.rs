//! Accounts, the bindings that let an outside identity act for one, and the endpoints that are
//! told of its runs.

pub mod account;
pub mod agent_account;
pub mod webhook;
