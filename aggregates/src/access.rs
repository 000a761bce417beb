//! Accounts, what they allow to apps, the bindings that let an outside identity act for one, the
//! endpoints that are told of its runs, workspaces with their briefs, reviews and record, and the
//! tokens of workspaces and workers.

pub mod account;
pub mod agent_account;
pub mod audit;
pub mod author;
pub mod brief;
pub mod grant;
pub mod reach;
pub mod review;
pub mod scopes;
pub mod token;
pub mod webhook;
pub mod worker_token;
pub mod workspace;
