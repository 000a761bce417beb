//! The hash chain of a stream, format `es1` (ADR 0002).
//!
//! Every part of the hashed text is preceded by its length, so no two different events can share
//! a text. Reproducible with nothing but SHA-256: an auditor needs no Helix code.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The name of this hash construction in exported logs.
pub const ALGORITHM: &str = "es1";

/// One link: a SHA-256 over an event and the link before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first event of a stream names as its predecessor.
    pub const ZERO: Self = Self([0; 32]);

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return None;
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

impl Default for Hash {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a hash is 64 lower-case hex digits")
    }
}

/// What is hashed of one event; `payload` and `meta` are the exact stored bytes.
#[derive(Debug, Clone, Copy)]
pub struct Link<'a> {
    pub stream: Uuid,
    pub seq: u64,
    pub kind: &'a str,
    pub ver: u16,
    pub at: &'a str,
    pub payload: &'a [u8],
    pub meta: &'a [u8],
}

impl Link<'_> {
    /// The hash of this event after `prev`.
    pub fn after(&self, prev: &Hash) -> Hash {
        let payload = Sha256::digest(self.payload);
        let meta = Sha256::digest(self.meta);
        let parts: [&[u8]; 9] = [
            ALGORITHM.as_bytes(),
            prev.as_bytes(),
            self.stream.as_bytes(),
            &self.seq.to_be_bytes(),
            self.kind.as_bytes(),
            &self.ver.to_be_bytes(),
            self.at.as_bytes(),
            &payload,
            &meta,
        ];
        let mut hasher = Sha256::new();
        for part in parts {
            // No part is near 4 GiB: payloads are bounded far below by the store.
            hasher.update(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
            hasher.update(part);
        }
        Hash(hasher.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vector_is_reproduced() {
        let stream = Uuid::from_bytes(std::array::from_fn(|i| u8::try_from(i).unwrap()));
        let first = Link {
            stream,
            seq: 1,
            kind: "run_started",
            ver: 1,
            at: "2026-11-30T12:00:00.000Z",
            payload: br#"{"public":{"version":1},"state":{}}"#,
            meta: b"{}",
        }
        .after(&Hash::ZERO);
        assert_eq!(
            first.to_string(),
            "fbc65ecb521e17697412301515dd761bc803e4216a7ac2df25f1c79b6279df03"
        );
        let second = Link {
            stream,
            seq: 2,
            kind: "run_cancelled",
            ver: 1,
            at: "2026-11-30T12:00:00.001Z",
            payload: "{\"public\":{\"reason\":\"genug, Zoë\"}}".as_bytes(),
            meta: b"{}",
        }
        .after(&first);
        assert_eq!(
            second.to_string(),
            "e0f6aefcd3c640b1cc9e502ab615d35a3f88fb53a409d2e7d02c0fc19ea8a685"
        );
    }
}
