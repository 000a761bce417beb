//! The id that ties an answer to the caller's own records (agent-api 1.9, settled 56).
//!
//! It is assigned before anything can refuse the request (settled 3). A caller's value is echoed
//! into headers and bodies, so one that could be a credential, or could not stand in a header
//! unchanged, is replaced and never shown.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::redaction;

/// Longest echoed id, in characters.
const MAX_CHARACTERS: usize = 160;

/// Which door made an id, told by its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    AgentRuns,
    Rooms,
    Mcp,
    /// Every door for which the contract names no prefix.
    Other,
}

impl Origin {
    fn prefix(self) -> &'static str {
        match self {
            Self::AgentRuns => "agent_req_",
            Self::Rooms => "room_req_",
            Self::Mcp => "mcp_req_",
            Self::Other => "helix_req_",
        }
    }
}

/// The caller's id, trimmed and cut, or a fresh one of `origin`.
///
/// `given` is the raw `X-Request-Id`, if there is exactly one. Printable ASCII only: a header can
/// carry nothing else to every client.
pub fn assign(given: Option<&[u8]>, origin: Origin, fresh: impl FnOnce() -> Uuid) -> String {
    given
        .and_then(echoable)
        .map_or_else(|| format!("{}{}", origin.prefix(), fresh()), str::to_owned)
}

/// How logs name an id the caller chose: enough to find the line of a known id, and no text of
/// anyone. The first 16 hex digits of its SHA-256.
pub fn fingerprint(id: &str) -> String {
    let digest = hex::encode(Sha256::digest(id));
    format!("sha256:{}", &digest[..16])
}

fn echoable(given: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(given).ok()?.trim_matches([' ', '\t']);
    // Judged whole before it is cut: the first half of a credential is still a secret.
    let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if text.is_empty() || !printable || redaction::text_is_protected(text) {
        return None;
    }
    Some(text[..text.len().min(MAX_CHARACTERS)].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: &str = "agent_req_00000000-0000-0000-0000-000000000000";

    fn assigned(given: &str) -> String {
        assign(Some(given.as_bytes()), Origin::AgentRuns, Uuid::nil)
    }

    #[test]
    fn a_callers_id_is_trimmed_cut_and_echoed() {
        assert_eq!(assigned("tide-42"), "tide-42");
        assert_eq!(assigned("\t tide 42 "), "tide 42");
        assert_eq!(assigned(&"n".repeat(200)), "n".repeat(160));
        assert_eq!(assigned(&"n".repeat(160)), "n".repeat(160));
        assert_eq!(assigned(&format!("{} x", "n".repeat(159))), "n".repeat(159));
    }

    #[test]
    fn a_value_that_is_empty_secret_or_unprintable_is_replaced() {
        let late = format!("{} Bearer abcdefghijkl", "n".repeat(150));
        let far = format!("{} Bearer abcdefghijkl", "n".repeat(200));
        for given in [
            "",
            "   ",
            "Bearer abcdefghijkl",
            &late,
            &far,
            "caf\u{e9}",
            "a\u{7f}b",
            "a\tb",
        ] {
            assert_eq!(assigned(given), FRESH, "{given:?}");
        }
        assert_eq!(assign(Some(b"\xff"), Origin::AgentRuns, Uuid::nil), FRESH);
        assert_eq!(assign(None, Origin::AgentRuns, Uuid::nil), FRESH);
    }

    #[test]
    fn each_door_has_its_prefix() {
        for (origin, prefix) in [
            (Origin::AgentRuns, "agent_req_"),
            (Origin::Rooms, "room_req_"),
            (Origin::Mcp, "mcp_req_"),
            (Origin::Other, "helix_req_"),
        ] {
            assert_eq!(
                assign(None, origin, Uuid::nil),
                format!("{prefix}{}", Uuid::nil())
            );
        }
    }
}
