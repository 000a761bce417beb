//! What a turn's result means for the run (`agent-api` 2.8, steps 1 to 10).
//!
//! A requirement is resolved only by references or a product of this very turn, and a required
//! evidence family only by an artifact that proves it now. No contract field relaxes that gate.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::bounds::{QUESTIONS_LIMIT, RUN_LIST_LIMIT};
use super::turn::{Question, TerminalAuthority, TurnResult};
use super::{Body, Claim};
use crate::agent::scope::POLICY_LIMIT;
use crate::sealed::Sealed;
use crate::text::{trim, unique};

const REQUIRED_EVIDENCE: &str = "required_evidence:";

/// The run after the turn, as far as steps 1 to 10 decide it.
#[derive(Debug)]
pub(super) struct Merged {
    /// Unique references of this turn.
    pub refs: Vec<String>,
    pub resolved_requirements: Vec<String>,
    pub resolved_contradictions: Vec<String>,
    pub support: Vec<String>,
    pub unresolved: Vec<String>,
    pub contradictions: Vec<String>,
    pub questions: Vec<Question>,
    pub authority: TerminalAuthority,
    /// The governed product's reference.
    pub product_ref: Option<String>,
    pub candidate_ref: Option<String>,
    pub output_fields: Map<String, Value>,
    pub latest_result: Map<String, Value>,
    /// A required evidence family is unresolved.
    pub evidence_missing: bool,
}

/// `true` for a requirement that only current evidence may resolve.
fn is_required_evidence(requirement: &str) -> bool {
    trim(requirement).starts_with(REQUIRED_EVIDENCE)
}

fn names_a_family(requirement: &str) -> bool {
    trim(requirement)
        .strip_prefix(REQUIRED_EVIDENCE)
        .is_some_and(|family| !family.is_empty())
}

pub(super) fn merge(body: &Body, claim: &Claim, turn: &TurnResult) -> Merged {
    let refs = unique(
        turn.observation_refs
            .iter()
            .chain(&turn.evidence_refs)
            .chain(&turn.receipt_refs),
    );
    let (satisfied, missing) = families(claim, turn, &refs);
    let current_missing = !missing.is_empty()
        || turn
            .unresolved_requirements
            .iter()
            .any(|r| names_a_family(r));
    let product_ref = turn
        .terminal_product
        .as_ref()
        .map(|product| product.authority_ref.clone());
    let support = unique(
        refs.iter()
            .chain(product_ref.as_ref().filter(|_| !current_missing)),
    );
    let (resolved_requirements, resolved_contradictions) = if support.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        (
            resolved(turn, &satisfied),
            unique(&turn.resolved_contradictions),
        )
    };
    let room = RUN_LIST_LIMIT - POLICY_LIMIT;
    let reported = united(
        listed(&body.unresolved_requirements),
        &turn.unresolved_requirements,
        room,
    );
    let unresolved = without(
        unique(reported.iter().chain(&missing)),
        &resolved_requirements,
    );
    let contradictions = without(
        united(
            listed(&body.contradictions),
            &turn.contradictions,
            RUN_LIST_LIMIT,
        ),
        &resolved_contradictions,
    );
    let merged = Merged {
        refs,
        resolved_requirements,
        resolved_contradictions,
        support,
        evidence_missing: unresolved.iter().any(|r| is_required_evidence(r)),
        unresolved,
        contradictions,
        questions: questions(body, claim, turn),
        authority: turn.terminal_authority_status,
        candidate_ref: product_ref
            .clone()
            .or_else(|| body.evidence.provider_terminal_candidate_ref.clone()),
        product_ref,
        output_fields: turn.output_fields.clone(),
        latest_result: turn.sanitized_result.clone(),
    };
    if merged.evidence_missing {
        merged.gated()
    } else {
        merged
    }
}

/// Steps 2 and 3: the required families this turn proves, and the entries for those it does not.
fn families(claim: &Claim, turn: &TurnResult, refs: &[String]) -> (Vec<String>, Vec<String>) {
    let required = &claim.policy.required_evidence;
    let satisfied: Vec<String> = if refs.is_empty() {
        Vec::new()
    } else {
        unique(&turn.satisfied_evidence_requirements)
            .into_iter()
            .filter(|family| required.contains(family))
            .collect()
    };
    let missing = required
        .iter()
        .filter(|family| !satisfied.contains(family))
        .map(|family| format!("{REQUIRED_EVIDENCE}{family}"))
        .collect();
    (satisfied, missing)
}

/// Step 6: a solver cannot resolve a required family by saying so.
fn resolved(turn: &TurnResult, satisfied: &[String]) -> Vec<String> {
    let proved: Vec<String> = satisfied
        .iter()
        .map(|family| format!("{REQUIRED_EVIDENCE}{family}"))
        .collect();
    let claimed = turn
        .resolved_requirements
        .iter()
        .filter(|requirement| !is_required_evidence(requirement))
        .cloned();
    unique(claimed.chain(proved))
}

/// Step 9: unanswered questions stay in their order; a question asked again replaces itself.
fn questions(body: &Body, claim: &Claim, turn: &TurnResult) -> Vec<Question> {
    let answered: HashSet<&str> = listed(&claim.answers)
        .iter()
        .map(|answer| answer.question_id.as_str())
        .collect();
    let mut kept: Vec<Question> = listed(&body.questions)
        .iter()
        .filter(|question| !answered.contains(question.question_id.as_str()))
        .cloned()
        .collect();
    for question in &turn.pending_questions {
        let known = kept
            .iter()
            .position(|known| known.question_id == question.question_id);
        match known {
            Some(index) => kept[index].clone_from(question),
            None if kept.len() < QUESTIONS_LIMIT => kept.push(question.clone()),
            None => {}
        }
    }
    kept
}

/// A list whose text is gone counts as empty: nobody can judge it any more.
fn listed<T>(list: &Sealed<Vec<T>>) -> &[T] {
    list.open().map_or(&[], Vec::as_slice)
}

/// The old items, then the new, as far as there is room.
fn united(old: &[String], new: &[String], room: usize) -> Vec<String> {
    let mut all = unique(old.iter().chain(new));
    all.truncate(room);
    all
}

fn without(all: Vec<String>, removed: &[String]) -> Vec<String> {
    all.into_iter()
        .filter(|item| !removed.contains(item))
        .collect()
}

impl Merged {
    /// Step 10: nothing terminal leaves a turn that misses required evidence.
    fn gated(mut self) -> Self {
        self.authority = TerminalAuthority::Blocked;
        self.product_ref = None;
        self.candidate_ref = None;
        self.output_fields = Map::new();
        for (key, value) in [
            ("terminal_authority_status", Value::from("blocked")),
            (
                "terminal_authority_reason",
                Value::from("required_current_turn_evidence_missing"),
            ),
            ("terminal_product", Value::Null),
        ] {
            self.latest_result.insert(key.to_owned(), value);
        }
        self
    }
}
