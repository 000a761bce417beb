//! What each account did: runs started, turns finished by outcome, last activity.
//!
//! Folded from what runs and bindings say in clear, so it needs no key and outlives erasure. The
//! streams of accounts themselves take no part: their events do not name the account.

pub mod fold;
pub mod table;
pub mod view;
