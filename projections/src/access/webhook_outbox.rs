//! What webhook endpoints are to be told, made from the log (ADR 0012).
//!
//! What must stay true: a message and the cursor that passed its event move in one transaction, so
//! none is lost and none is made twice; an endpoint hears of nothing that was committed before it.
//! Unlike a view it cannot be rebuilt, and nothing offers to: a message that was sent stays sent.
//! Deliberately absent: sending, and whether the account still may be told, which is judged at
//! each attempt.

pub mod fold;
pub mod table;

mod source;
