//! Accounts and the bindings that let an outside identity act for one.

pub mod account;
pub mod agent_account;
