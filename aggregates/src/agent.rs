//! Agent runs: what a client starts, continues, cancels and audits.

pub mod run;
pub mod scope;
