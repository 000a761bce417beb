//! Accounts as the operator sees them.

pub mod account_activity;
