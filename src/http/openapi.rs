//! The OpenAPI 3.1 document, made from one row an operation.
//!
//! Rows rather than attributes on handlers: the same rows make the page of operations, and the schemas
//! are those that the MCP door publishes. What must stay true: every registered route has a row and every
//! row a route; every status that can be answered stands in it. A test walks both.

mod discovery;
mod document;
mod objects;
mod operation;
mod parameters;
mod protocol;
mod refusals;
mod runs;
mod workers;

pub use document::document;
pub use objects::Object;
pub use operation::{Access, Answer, Content, Group, Head, Need, Operation, Parameter, Place};
pub use refusals::{RATE_LIMITED, Refusal, Shape, refusals};

/// Every operation, group by group.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    runs::OPERATIONS
        .iter()
        .chain(protocol::OPERATIONS)
        .chain(workers::OPERATIONS)
        .chain(discovery::OPERATIONS)
}
