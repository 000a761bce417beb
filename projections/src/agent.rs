//! Agent runs as clients see them.

pub mod evidence;
pub mod run;

use serde::Serialize;

/// What stands where the key to a text is gone.
pub const ERASED: &str = "[erased]";

/// The four flags of `agent-api` 1.12. They are false whatever a run's authority is, so there is
/// nothing to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the contract's four keys, all constant"
)]
pub struct Flags {
    answer_authority: bool,
    assistant_answer: bool,
    terminal_eligible: bool,
    raw_content_included: bool,
}
