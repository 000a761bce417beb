//! Events folded into what clients read: views, rows and their tables.
//!
//! What must stay true: every view is a function of the log, so it can be dropped and rebuilt.

pub mod agent;
