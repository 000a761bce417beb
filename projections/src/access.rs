//! Accounts as the operator sees them, what their endpoints are to be told, and the rows of briefs.

pub mod account_activity;
pub mod brief;
pub mod review;
pub mod webhook_outbox;
