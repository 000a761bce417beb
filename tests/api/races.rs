//! Callers that meet at one run, one page, one connection or one pool.

pub mod beside;
mod cancel;
mod clock;
mod continues;
mod crowd;
mod hang_ups;
mod late_commit;
mod lost_lines;
mod overload;
mod readers;
mod revocation;
#[path = "../processes/harness/seed.rs"]
mod seed;
