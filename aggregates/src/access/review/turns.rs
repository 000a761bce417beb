//! What an act on a review means for its run (`access` 6.1): the turn that it begins, and the result
//! that ends one.
//!
//! The open steps are the run's unresolved requirements, so that the contract of every run decides when
//! this one is complete: no step left, no question left.

use std::time::Duration;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::command::{NewReview, Verdict};
use super::event::ClaimEnd;
use super::{BUDGET, Body, Claim};
use crate::agent::run::command::{
    AdmittedPolicy, Answer, Budget, ClaimHolder, ClaimTurn, CompletionContract, FinishTurn,
    RunBrief, RunCommand,
};
use crate::agent::run::turn::{Question, QuestionOption, TerminalAuthority, TurnResult};
use crate::agent::scope::NO_TOOLS;
use crate::ids::{FindingId, OperationId, StepId};

/// The run's contract: one piece of evidence, no step open, no authority beyond the gate.
pub(super) fn start(new: &NewReview) -> RunCommand {
    RunCommand::Start(Box::new(RunBrief {
        owner: new.owner.clone(),
        objective: new.objective.clone(),
        constraints: new.constraints.clone(),
        database_scope: Vec::new(),
        completion_contract: CompletionContract {
            min_evidence_refs: 1,
            require_terminal_authority: false,
            ..CompletionContract::default()
        },
        budget: Budget {
            max_steps: BUDGET,
            expires_in_seconds: new.expires_in.as_secs(),
        },
        policy: no_tools(),
    }))
}

fn no_tools() -> AdmittedPolicy {
    AdmittedPolicy {
        allowed_tools: vec![NO_TOOLS.to_owned()],
        required_evidence: Vec::new(),
        policy_hash: String::new(),
    }
}

/// Begins a turn: of a step, or of a decision that answers the gate.
pub(super) fn claim(
    body: &Body,
    (operation, credential): (OperationId, Uuid),
    verdict: Option<Verdict>,
) -> RunCommand {
    let answer = verdict.map(|verdict| Answer {
        question_id: question_id(body.gate()),
        value: Value::from(verdict.as_str()),
    });
    RunCommand::Claim(Box::new(ClaimTurn {
        expected: body.version(),
        operation,
        credential: Some(credential),
        instruction: None,
        answers: answer.into_iter().collect(),
        policy: no_tools(),
        // Leases end a review's turns; no age does.
        abandon_after: Duration::MAX,
        holder: ClaimHolder::Live,
    }))
}

/// Ends the turn under way; `None` when there is none.
pub(super) fn finish(body: &Body, result: TurnResult) -> Option<RunCommand> {
    let claim = body.run.claim()?;
    Some(RunCommand::Finish(Box::new(FinishTurn {
        operation: claim.operation,
        claimed_version: claim.version,
        result,
    })))
}

/// A step is done. `findings` are those of the last submission.
pub(super) fn step_done(body: &Body, claim: &Claim, findings: &[FindingId]) -> TurnResult {
    let left = open_steps(body, Some(claim.step));
    let pending_questions = if left.is_empty() {
        vec![question(body.gate())]
    } else {
        Vec::new()
    };
    TurnResult {
        needs_input: left.is_empty(),
        unresolved_requirements: left,
        resolved_requirements: vec![claim.step.to_string()],
        evidence_refs: findings.iter().map(FindingId::to_string).collect(),
        receipt_refs: vec![format!("receipt:{}", claim.id)],
        pending_questions,
        ..result("A step was reviewed.")
    }
}

/// A claim ended and left its step open.
pub(super) fn claim_ended(body: &Body, end: ClaimEnd) -> TurnResult {
    let (code, summary) = match end {
        ClaimEnd::Released => ("claim_released", "A step was given back."),
        ClaimEnd::Expired => ("claim_expired", "The lease of a step ran out."),
        ClaimEnd::Revoked => (
            "claim_revoked",
            "The credential that held a step was revoked.",
        ),
    };
    TurnResult {
        failure_code: Some(code.to_owned()),
        unresolved_requirements: open_steps(body, None),
        ..result(summary)
    }
}

/// A person has decided.
pub(super) fn decided(body: &Body, verdict: Verdict) -> TurnResult {
    match verdict {
        Verdict::Approve => result("The review was approved at its gate."),
        Verdict::Reject => TurnResult {
            ok: false,
            unresolved_requirements: body.steps.iter().map(|step| step.id.to_string()).collect(),
            ..result("The review was rejected at its gate; its steps are open again.")
        },
    }
}

fn open_steps(body: &Body, but: Option<StepId>) -> Vec<String> {
    let open = body.steps.iter().filter(|step| !step.is_done);
    open.filter(|step| Some(step.id) != but)
        .map(|step| step.id.to_string())
        .collect()
}

fn question_id(gate: u32) -> String {
    format!("gate:{gate}")
}

fn question(gate: u32) -> Question {
    let option = |verdict: Verdict, label: &str| QuestionOption {
        value: verdict.as_str().to_owned(),
        label: label.to_owned(),
    };
    Question {
        question_id: question_id(gate),
        prompt: "Every step is done. Does the review pass?".to_owned(),
        required_fields: Vec::new(),
        options: vec![
            option(Verdict::Approve, "Approve"),
            option(Verdict::Reject, "Reject and open the steps again"),
        ],
    }
}

fn result(summary: &str) -> TurnResult {
    let mut sanitized_result = Map::new();
    sanitized_result.insert("summary".to_owned(), json!(summary));
    TurnResult {
        ok: true,
        status_code: 200,
        summary: summary.to_owned(),
        observation_refs: Vec::new(),
        evidence_refs: Vec::new(),
        receipt_refs: Vec::new(),
        claims_supported: Vec::new(),
        claims_contradicted: Vec::new(),
        unresolved_requirements: Vec::new(),
        resolved_requirements: Vec::new(),
        satisfied_evidence_requirements: Vec::new(),
        contradictions: Vec::new(),
        resolved_contradictions: Vec::new(),
        pending_questions: Vec::new(),
        terminal_authority_status: TerminalAuthority::NotTerminalAuthority,
        terminal_product: None,
        output_fields: Map::new(),
        failure_code: None,
        needs_input: false,
        sanitized_result,
    }
}
