//! The rows of webhook endpoints, their messages and attempts (ADR 0012).
//!
//! What must stay true: one process at a time sends to an endpoint, by a lease of the database
//! clock; an outcome is recorded only for the attempt that was begun; nothing begins for an
//! endpoint that is gone, or for a run whose credential or account no longer lives.

mod change;
mod delivery_log;
mod endpoint;
mod sending;

pub use change::{WebhookChange, WebhookRow, apply};
pub use delivery_log::{AttemptLine, DeliveryLine, Waiting, deliveries, prune, waiting};
pub use endpoint::{EndpointRow, Standing, endpoint, of_account, test_message};
pub use sending::{Begun, Outcome, Recorded, Sending, Verdict, begin, claim, record, release};
