//! A tool receipt and an evidence item, as the tool host hands them over with a turn's result.

use serde::{Deserialize, Serialize};

use crate::sealed::Sealed;

/// Bytes of a span in a source's extracted text; `start <= end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub start: u64,
    pub end: u64,
}

/// One span the host has read twice: once for the solver, once to compare it byte by byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceItem {
    /// Unique within the run, at most 500 characters.
    pub item_ref: String,
    /// The artifact kind of `agent-api` 4.2 and 4.3, for example `research_library_observation`.
    pub kind: String,
    pub scope: String,
    pub title: Sealed<String>,
    /// Where the source is found: a path relative to its corpus.
    pub locator: Sealed<String>,
    /// SHA-256 of the source's bytes as they were read.
    pub snapshot_sha256: String,
    pub span: Span,
    /// At most 2,000 characters.
    pub quote: Sealed<String>,
    /// The receipt of the read that produced it.
    pub receipt_ref: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    Answered,
    /// The capability is not admitted to this run.
    Refused,
    Failed,
    /// Cut off by the turn's allowance of calls, bytes or time.
    Exhausted,
}

/// The record of one call through the tool host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolReceipt {
    pub receipt_ref: String,
    pub capability: String,
    pub scope: String,
    pub outcome: ToolOutcome,
    /// What was asked, as JSON text.
    pub arguments: Sealed<String>,
    /// Bytes handed to the solver.
    pub bytes: u64,
    /// SHA-256 over the bytes handed to the solver.
    pub answer_sha256: String,
}
