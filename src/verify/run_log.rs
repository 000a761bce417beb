//! The lines of `helix.run_log.v1` (settled question 36), as the server writes and the verifier
//! reads them: JSON without blanks, keys in the order of the structs, each line ended by `\n`.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use helix_aggregates::chain::{self, Hash, Link};
use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub const SCHEMA: &str = "helix.run_log.v1";

/// Longest line without its end, in bytes. A flush holds at most 4 MB, so no event comes near it.
pub const MAX_LINE: usize = 16 << 20;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    schema: String,
    pub run_id: RunId,
    stream: String,
    algorithm: String,
    pub exported_at: Timestamp,
    pub head: Head,
}

/// The place and hash of the last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub seq: u64,
    pub hash: Hash,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for Head {
    type Err = &'static str;

    /// Reads `SEQ:HASH`, as `helix verify` prints it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "must be SEQ:HASH, a number from 1 and 64 lower-case hex digits";
        let (seq, hash) = text.split_once(':').ok_or(FORM)?;
        let seq: u64 = seq.parse().map_err(|_| FORM)?;
        let hash = Hash::parse(hash).ok_or(FORM)?;
        if seq == 0 {
            Err(FORM)
        } else {
            Ok(Self { seq, hash })
        }
    }
}

impl Header {
    pub fn new(run_id: RunId, exported_at: Timestamp, head: Head) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            run_id,
            stream: run_id.uuid().simple().to_string(),
            algorithm: chain::ALGORITHM.to_owned(),
            exported_at,
            head,
        }
    }

    pub fn is_known(&self) -> bool {
        self.schema == SCHEMA && self.algorithm == chain::ALGORITHM
    }

    /// The id that is hashed; `None` when the header names one that is not the run's.
    pub fn stream(&self) -> Option<Uuid> {
        let uuid = self.run_id.uuid();
        (self.stream == uuid.simple().to_string()).then_some(uuid)
    }

    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        to_line(self)
    }
}

/// One event: the exact stored bytes and their link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub seq: u64,
    pub kind: String,
    pub ver: u16,
    pub at: Timestamp,
    pub payload: StoredBytes,
    pub meta: StoredBytes,
    pub prev: Hash,
    pub hash: Hash,
}

impl Entry {
    /// The hash that this entry must have in `stream`, given what it says its predecessor is.
    pub fn computed_hash(&self, stream: Uuid) -> Hash {
        let link = Link {
            stream,
            seq: self.seq,
            kind: &self.kind,
            ver: self.ver,
            at: &self.at.to_string(),
            payload: &self.payload.0,
            meta: &self.meta.0,
        };
        link.after(&self.prev)
    }

    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        to_line(self)
    }
}

fn to_line(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads a line without its end, and only in the spelling in which it would be written.
pub fn read_exact_line<T: Serialize + for<'de> Deserialize<'de>>(line: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(line).ok()?;
    // Blanks, escapes, other key orders and numbers spelled otherwise all fail this comparison.
    (serde_json::to_vec(&value).ok()? == line).then_some(value)
}

/// Bytes written as standard base64 with padding; no other spelling is read.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoredBytes(pub Vec<u8>);

/// The length only: the bytes may hold what a run is about.
impl fmt::Debug for StoredBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl TryFrom<String> for StoredBytes {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

impl From<StoredBytes> for String {
    fn from(bytes: StoredBytes) -> Self {
        STANDARD.encode(bytes.0)
    }
}
