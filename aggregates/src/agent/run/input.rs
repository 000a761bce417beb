//! What a claimed turn is given to work with (`agent-api` 5.1).

use serde::Serialize;

use super::command::Answer;
use super::turn::Question;
use super::{Body, Claim, Run};
use crate::time::Timestamp;

/// References of each bucket handed on from earlier turns: the last ones.
pub const PREVIOUS_REFS: usize = 64;
/// Requirements and contradictions handed on from earlier turns: the first ones.
pub const PREVIOUS_ISSUES: usize = 64;

const ANSWERS_HEADING: &str = "Answers to pending questions:";

/// The executor's input as far as the run knows it. Turn and trace ids, the session and the
/// principal are the caller's.
#[derive(Clone, PartialEq, Serialize)]
pub struct ClaimInput {
    /// The claimed version.
    pub run_version: u64,
    /// 1 for the run's first turn.
    pub turn_seq: u32,
    pub objective: String,
    /// With the answers as a text block (`agent-api` 2.2).
    pub instruction: String,
    pub constraints: Vec<String>,
    pub database_scope: Vec<String>,
    pub allowed_tools: Vec<String>,
    pub required_evidence: Vec<String>,
    pub previous_summary: Option<String>,
    pub previous_observation_refs: Vec<String>,
    pub previous_evidence_refs: Vec<String>,
    pub previous_receipt_refs: Vec<String>,
    pub previous_unresolved_requirements: Vec<String>,
    pub previous_contradictions: Vec<String>,
    /// Before this turn's answers are removed.
    pub pending_questions: Vec<Question>,
    /// After this claim.
    pub remaining_steps: u32,
    /// The turn ends by then, whatever its time-out.
    pub expires_at: Timestamp,
}

/// Everything in it may be personal.
impl std::fmt::Debug for ClaimInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClaimInput")
            .field("run_version", &self.run_version)
            .field("turn_seq", &self.turn_seq)
            .finish_non_exhaustive()
    }
}

impl Run {
    /// The input of the turn under way; `None` when there is none, or when the run's text is
    /// erased and no turn can work on it.
    pub fn claim_input(&self) -> Option<ClaimInput> {
        match self {
            Self::Running { body, claim } => input(body, claim),
            Self::Absent | Self::Waiting { .. } | Self::Ended { .. } => None,
        }
    }
}

fn input(body: &Body, claim: &Claim) -> Option<ClaimInput> {
    let bundle = &body.evidence;
    Some(ClaimInput {
        run_version: claim.version,
        turn_seq: body.steps_used,
        objective: body.objective.open()?.clone(),
        instruction: instruction(claim.instruction.open()?.as_deref(), claim.answers.open()?),
        constraints: body.constraints.open()?.clone(),
        database_scope: body.database_scope.clone(),
        allowed_tools: claim.policy.allowed_tools.clone(),
        required_evidence: claim.policy.required_evidence.clone(),
        previous_summary: body.summary.open().cloned(),
        previous_observation_refs: last(&bundle.observation_refs),
        previous_evidence_refs: last(&bundle.evidence_refs),
        previous_receipt_refs: last(&bundle.receipt_refs),
        previous_unresolved_requirements: first(body.unresolved_requirements.open()?),
        previous_contradictions: first(body.contradictions.open()?),
        pending_questions: body.questions.open()?.clone(),
        remaining_steps: body.max_steps.saturating_sub(body.steps_used),
        expires_at: body.expires_at,
    })
}

/// The instruction, then the answers: a heading and a line each, after a blank line.
fn instruction(instruction: Option<&str>, answers: &[Answer]) -> String {
    let mut parts = Vec::with_capacity(2);
    parts.extend(instruction.map(str::to_owned));
    if !answers.is_empty() {
        let lines = answers
            .iter()
            .map(|answer| format!("{}: {}", answer.question_id, answer.value));
        let block: Vec<String> = std::iter::once(ANSWERS_HEADING.to_owned())
            .chain(lines)
            .collect();
        parts.push(block.join("\n"));
    }
    parts.join("\n\n")
}

fn last(refs: &[String]) -> Vec<String> {
    refs[refs.len().saturating_sub(PREVIOUS_REFS)..].to_vec()
}

fn first(issues: &[String]) -> Vec<String> {
    issues.iter().take(PREVIOUS_ISSUES).cloned().collect()
}
