//! Accounts as the operator sees them, and what their endpoints are to be told.

pub mod account_activity;
pub mod webhook_outbox;
