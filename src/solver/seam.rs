//! The records that cross the solver seam (`agent-api` 5.1, 5.2).
//!
//! Exists so that what a solver is told and what it may say are types of their own. What must stay
//! true: a [`Draft`] cannot express an evidence ref, a lifecycle status or an authority; sources are
//! named by handles that the tool host gave out in the same turn. Deliberately absent: the
//! principal. Admission is decided before a solver runs, and its outcome is `allowed_tools`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use helix_aggregates::agent::run::turn::{ModelFailure, Question};
use serde_json::Value;

use super::host::ToolHost;

mod abort;
mod draft;

pub use abort::{Abort, AbortHandle, AbortReason};
pub use draft::{
    Claim, Conflict, Draft, FieldProposal, Progress, QuotedSpan, SourceHandle, SpanIndex,
};

/// What one turn may spend. Whatever runs out first ends the reading.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Calls through the tool host, refused ones included.
    pub tool_calls: u32,
    /// Bytes of source text handed to the solver.
    pub bytes: u64,
    /// The effective deadline of `agent-api` 2.7.
    pub deadline: tokio::time::Instant,
}

/// One answer of a continue request; `value` is the JSON text exactly as the client spelled it.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub question_id: String,
    pub value: String,
}

/// The input of one turn (`agent-api` 5.1 without the principal).
#[derive(Clone)]
pub struct TurnInput {
    pub run_id: String,
    /// The claimed version.
    pub run_version: u64,
    /// The number of this turn within its run, from 1; part of every ref the turn makes.
    pub turn: u32,
    pub turn_id: String,
    pub trace_id: String,
    /// Stable per run, never public.
    pub session_id: String,
    pub objective: String,
    /// The caller's own words; empty when only answers were sent.
    pub instruction: String,
    pub answers: Vec<Answer>,
    /// Both as one text (`agent-api` 2.2), for solvers that read prose.
    pub instruction_with_answers: String,
    pub constraints: Vec<String>,
    pub database_scope: Vec<String>,
    /// Effective capability ids, or the one no-tools sentinel.
    pub allowed_tools: Vec<String>,
    /// Effective evidence families.
    pub required_evidence: Vec<String>,
    /// The contract's `required_output_fields`.
    pub required_output_fields: Vec<String>,
    pub previous_summary: Option<String>,
    /// The last 64 of each kind.
    pub previous_observation_refs: Vec<String>,
    pub previous_evidence_refs: Vec<String>,
    pub previous_receipt_refs: Vec<String>,
    /// The first 64 of each kind.
    pub previous_unresolved_requirements: Vec<String>,
    pub previous_contradictions: Vec<String>,
    /// As they stood before this turn's answers.
    pub pending_questions: Vec<Question>,
    /// Steps left after this claim.
    pub remaining_steps: u32,
    pub allowance: Allowance,
    pub abort: Abort,
}

/// What a person said may be personal.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

/// Almost everything in it may be personal.
impl fmt::Debug for TurnInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnInput")
            .field("run_id", &self.run_id)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

impl TurnInput {
    /// The questions that stay open although this turn carries answers.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        self.pending_questions.iter().filter(|question| {
            !self
                .answers
                .iter()
                .any(|answer| answer.question_id == question.question_id)
        })
    }
}

impl Answer {
    /// The texts inside the answer's value, outermost first; numbers keep the client's spelling.
    pub fn texts(&self) -> Vec<String> {
        match serde_json::from_str::<Value>(&self.value) {
            Ok(Value::Object(_) | Value::Array(_)) => {
                let mut found = Vec::new();
                collect_texts(&self.value, &mut found);
                found
            }
            Ok(Value::String(text)) => vec![text],
            Ok(Value::Number(_)) => vec![self.value.trim().to_owned()],
            Ok(Value::Null | Value::Bool(_)) | Err(_) => Vec::new(),
        }
    }
}

fn collect_texts(raw: &str, found: &mut Vec<String>) {
    let mut open = serde_json::from_str::<Value>(raw)
        .map(|value| vec![value])
        .unwrap_or_default();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(items) => open.extend(items.into_iter().rev()),
            Value::Object(members) => {
                open.extend(members.into_iter().rev().map(|(_, member)| member));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Why a solver gave up. None of these carries text of a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SolverError {
    #[error("the turn was stopped: {0}")]
    Aborted(AbortReason),
    #[error("timeout: the turn's deadline passed")]
    DeadlinePassed,
    #[error("the solver failed: {0}")]
    Failed(&'static str),
    #[error("the model gave nothing: {}", .0.code())]
    Model(ModelFailure),
    #[error("no worker took the turn in time")]
    WorkerUnavailable,
}

/// The future of one turn.
pub type Solving<'a> = Pin<Box<dyn Future<Output = Result<Draft, SolverError>> + Send + 'a>>;

/// Finds an answer; trusted with nothing.
pub trait Solver: Send + Sync + std::fmt::Debug {
    /// The name shown as a result's `final_answer_source`.
    fn name(&self) -> &'static str;

    /// Solves one turn. Every source it quotes must have been read through `host`.
    fn solve<'a>(&'a self, input: &'a TurnInput, host: &'a ToolHost) -> Solving<'a>;
}

#[cfg(test)]
mod tests {
    use crate::solver::fixture::library;

    use super::*;

    #[test]
    fn what_a_person_said_is_not_printed() {
        let (mut input, _handle) = library("a canary of the objective");
        input.answers = vec![Answer {
            question_id: "q".into(),
            value: "\"a canary of an answer\"".into(),
        }];
        let printed = format!("{input:?} {:?}", input.answers);
        assert!(
            printed.contains(&input.run_id) && !printed.contains("canary"),
            "{printed}"
        );
    }
}
