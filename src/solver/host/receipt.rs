//! Receipts and refs: names made of what they stand for, so that the same turn makes the same names.

use helix_aggregates::agent::evidence::item::{ToolOutcome, ToolReceipt};
use helix_aggregates::canonical;
use helix_aggregates::text::prefix;
use sha2::{Digest, Sha256};

use crate::solver::seam::TurnInput;

/// What makes one turn's refs differ from any other's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::solver) struct RunMark {
    run_id: String,
    turn: u32,
}

impl RunMark {
    pub fn of(input: &TurnInput) -> Self {
        Self {
            run_id: input.run_id.clone(),
            turn: input.turn,
        }
    }

    /// The first 32 hex digits of a hash over this turn and the given parts.
    pub fn name(&self, parts: &[&[u8]]) -> String {
        let turn = self.turn.to_be_bytes();
        let mut all: Vec<&[u8]> = vec![self.run_id.as_bytes(), &turn];
        all.extend_from_slice(parts);
        let mut hash = digest(&all);
        hash.truncate(32);
        hash
    }
}

/// SHA-256 over parts, each preceded by its length, as lower-case hex.
pub(in crate::solver) fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hex::encode(hasher.finalize())
}

/// Of a call's arguments a receipt keeps so many UTF-16 code units.
const ARGUMENTS_LENGTH: usize = 16_000;

/// A call that was admitted or is about to be refused.
#[derive(Debug, Clone)]
pub(super) struct Call {
    ordinal: u32,
    capability: &'static str,
    scope: String,
    arguments: String,
}

impl Call {
    pub fn new(
        ordinal: u32,
        capability: &'static str,
        scope: &str,
        arguments: &serde_json::Value,
    ) -> Self {
        let arguments = String::from_utf8_lossy(&canonical::to_vec(arguments)).into_owned();
        // What a person wrote can be longer, once escaped, than a receipt may keep.
        let arguments = prefix(&arguments, ARGUMENTS_LENGTH).to_owned();
        Self {
            ordinal,
            capability,
            scope: scope.to_owned(),
            arguments,
        }
    }

    pub fn receipt(self, mark: &RunMark, outcome: ToolOutcome, answer: &[u8]) -> ToolReceipt {
        let answer_sha256 = hex::encode(Sha256::digest(answer));
        let name = mark.name(&[
            &self.ordinal.to_be_bytes(),
            self.capability.as_bytes(),
            self.arguments.as_bytes(),
            answer_sha256.as_bytes(),
        ]);
        ToolReceipt {
            receipt_ref: format!("receipt:{}:{name}", self.capability),
            capability: self.capability.to_owned(),
            scope: self.scope,
            outcome,
            arguments: self.arguments.into(),
            bytes: answer.len() as u64,
            answer_sha256,
        }
    }
}
