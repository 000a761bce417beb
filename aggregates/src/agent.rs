//! Agent runs: what a client starts, continues, cancels and audits.

pub mod evidence;
pub mod run;
pub mod scope;
