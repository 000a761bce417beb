//! Events folded into what people read: rows, and the views made from them.
//!
//! What must stay true: every projection can be dropped and rebuilt from the log, and a duplicate
//! event is harmless. Nothing here decides anything.

pub mod access;
pub mod agent;
pub mod feed;
pub mod inline;
pub mod projector;
