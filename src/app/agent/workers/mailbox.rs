//! What passes between the process a worker came to and the one that executes its turn: sealed
//! under the key of the run's owner, each text for one place.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::solver::host::ToolError;
use crate::store::StoreError;
use crate::store::sealing::DataKey;

/// A call a worker asks for.
#[derive(Clone, Serialize, Deserialize)]
pub struct ToolAsk {
    pub capability: String,
    pub arguments: Value,
}

/// Arguments are a person's words, or close to them.
impl std::fmt::Debug for ToolAsk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolAsk").finish_non_exhaustive()
    }
}

/// How a call ended.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolReply {
    Answered {
        receipt_ref: String,
        body: Value,
    },
    NotAdmitted,
    /// What is wrong with the arguments; quotes nothing.
    BadRequest(String),
    /// Calls, bytes or time of the turn are spent.
    Exhausted,
    NoProvider,
    Failed,
    /// The turn was stopped meanwhile.
    Stopped,
}

impl std::fmt::Debug for ToolReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Answered { .. } => "Answered",
            Self::NotAdmitted => "NotAdmitted",
            Self::BadRequest(_) => "BadRequest",
            Self::Exhausted => "Exhausted",
            Self::NoProvider => "NoProvider",
            Self::Failed => "Failed",
            Self::Stopped => "Stopped",
        })
    }
}

impl From<ToolError> for ToolReply {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::NotAdmitted => Self::NotAdmitted,
            ToolError::Exhausted => Self::Exhausted,
            ToolError::NoProvider => Self::NoProvider,
            ToolError::UnknownSource | ToolError::BadArguments(_) => {
                Self::BadRequest(error.to_string())
            }
            ToolError::Failed | ToolError::Remote(_) => Self::Failed,
            ToolError::Stopped(_) => Self::Stopped,
        }
    }
}

pub fn request_place(message: Uuid) -> String {
    format!("worker/{message}/request")
}

pub fn answer_place(message: Uuid) -> String {
    format!("worker/{message}/answer")
}

pub fn seal<T: Serialize>(key: &DataKey, place: &str, value: &T) -> Result<Vec<u8>, StoreError> {
    let plain = serde_json::to_vec(value).map_err(|_| damaged())?;
    key.seal(place, &plain)
}

pub fn open<T: DeserializeOwned>(
    key: &DataKey,
    place: &str,
    sealed: &[u8],
) -> Result<T, StoreError> {
    let plain = key.open(place, sealed)?;
    serde_json::from_slice(&plain).map_err(|_| damaged())
}

/// The reader's error would quote the text.
fn damaged() -> StoreError {
    StoreError::Damaged("a worker's message is not what it was".to_owned())
}
