//! The published vector of the chain, as a log: proof that this very binary can tell sound from
//! broken before it judges a stranger's file.

use helix_aggregates::chain::Hash;
use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use uuid::Uuid;

use super::run_log::{Entry, Head, Header, StoredBytes};
use super::{Damage, Refusal};

const STREAM: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;
const HASHES: [&str; 2] = [
    "fbc65ecb521e17697412301515dd761bc803e4216a7ac2df25f1c79b6279df03",
    "e0f6aefcd3c640b1cc9e502ab615d35a3f88fb53a409d2e7d02c0fc19ea8a685",
];
const EVENTS: [(&str, &str, &str); 2] = [
    (
        "run_started",
        "2026-11-30T12:00:00.000Z",
        r#"{"public":{"version":1},"state":{}}"#,
    ),
    (
        "run_cancelled",
        "2026-11-30T12:00:00.001Z",
        r#"{"public":{"reason":"genug, Zoë"}}"#,
    ),
];

/// Why this binary must not be trusted with a verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelfTestError {
    #[error("the published log is refused: {0}")]
    Refused(Refusal),
    #[error("an altered log is accepted")]
    Accepted,
    #[error("the published log cannot be written")]
    Unwritable,
}

/// Verifies the published log, and refuses it with one letter altered.
pub fn run() -> Result<(), SelfTestError> {
    let log = published().ok_or(SelfTestError::Unwritable)?;
    super::run_log(log.as_slice(), None).map_err(SelfTestError::Refused)?;
    let mut altered = log;
    let letter = altered
        .iter()
        .rposition(|byte| *byte == b'k')
        .ok_or(SelfTestError::Unwritable)?;
    altered[letter] = b'x';
    match super::run_log(altered.as_slice(), None) {
        Err(Refusal::Broken {
            at: 2,
            damage: Damage::Spelling | Damage::Altered,
        }) => Ok(()),
        Err(_) | Ok(_) => Err(SelfTestError::Accepted),
    }
}

fn published() -> Option<Vec<u8>> {
    let hashes = [Hash::parse(HASHES[0])?, Hash::parse(HASHES[1])?];
    let run_id = RunId::new(Uuid::from_u128(STREAM));
    let head = Head {
        seq: 2,
        hash: hashes[1],
    };
    let exported_at = Timestamp::parse("2026-11-30T12:00:01.000Z")?;
    let mut log = Header::new(run_id, exported_at, head).to_line().ok()?;
    let mut prev = Hash::ZERO;
    for (seq, ((kind, at, payload), hash)) in (1..).zip(EVENTS.into_iter().zip(hashes)) {
        let entry = Entry {
            seq,
            kind: kind.to_owned(),
            ver: 1,
            at: Timestamp::parse(at)?,
            payload: StoredBytes(payload.as_bytes().to_vec()),
            meta: StoredBytes(b"{}".to_vec()),
            prev,
            hash,
        };
        log.extend(entry.to_line().ok()?);
        prev = hash;
    }
    Some(log)
}
