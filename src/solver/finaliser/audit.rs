//! The re-entry audit: which artifacts of this turn may be projected (`agent-api` 4.2, 4.3).

use std::collections::BTreeSet;

use helix_aggregates::agent::evidence::item::ToolOutcome;
use helix_aggregates::agent::scope;

use super::evidence::Evidence;
use crate::solver::seam::TurnInput;

pub const AUDIT_SCHEMA: &str = "helix.solver_artifact_reentry_audit.v1";
/// The entries that are looked at.
const ENTRY_LIMIT: usize = 256;
const REF_LIMIT: usize = 500;

/// One artifact of the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub artifact_ref: String,
    pub kind: String,
    pub selected_as_support: bool,
    pub reentered_solver: bool,
    pub allowed_by_terminal_authority: bool,
    pub failure_codes: Vec<String>,
}

/// The audit over one turn's artifacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReentryAudit {
    pub schema: String,
    pub ok: bool,
    pub turn_id: String,
    pub terminal_relevant_artifacts: Vec<Artifact>,
}

/// Refs by bucket, in the order of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Projected {
    pub observation: Vec<String>,
    pub evidence: Vec<String>,
    pub receipt: Vec<String>,
}

impl ReentryAudit {
    pub(super) fn over(input: &TurnInput, evidence: &Evidence) -> Self {
        let in_scope = |scope_id: &str| input.database_scope.iter().any(|id| id == scope_id);
        let items = evidence.items().iter().map(|item| Artifact {
            artifact_ref: item.item_ref.clone(),
            kind: item.kind.clone(),
            selected_as_support: true,
            reentered_solver: evidence
                .receipts()
                .iter()
                .any(|r| r.receipt_ref == item.receipt_ref),
            allowed_by_terminal_authority: in_scope(&item.scope),
            failure_codes: Vec::new(),
        });
        // The kind names no scope: a receipt proves a call, not a family.
        let receipts = evidence.receipts().iter().map(|receipt| Artifact {
            artifact_ref: receipt.receipt_ref.clone(),
            kind: "tool_call_receipt".to_owned(),
            selected_as_support: true,
            reentered_solver: receipt.outcome == ToolOutcome::Answered,
            allowed_by_terminal_authority: in_scope(&receipt.scope),
            failure_codes: Vec::new(),
        });
        Self {
            schema: AUDIT_SCHEMA.to_owned(),
            ok: true,
            turn_id: input.turn_id.clone(),
            terminal_relevant_artifacts: items.chain(receipts).collect(),
        }
    }

    /// The admitted artifacts of the given turn; `supporting` are the authority's refs, once
    /// terminal verification has succeeded.
    pub fn admitted<'a>(
        &'a self,
        turn_id: &str,
        supporting: Option<&BTreeSet<&str>>,
    ) -> Vec<&'a Artifact> {
        if self.schema != AUDIT_SCHEMA || !self.ok || self.turn_id != turn_id {
            return Vec::new();
        }
        let entries = self.terminal_relevant_artifacts.iter().take(ENTRY_LIMIT);
        entries
            .filter(|artifact| artifact.is_admissible())
            .filter(|artifact| {
                supporting.is_none_or(|refs| refs.contains(artifact.artifact_ref.as_str()))
            })
            .collect()
    }
}

impl Artifact {
    fn is_admissible(&self) -> bool {
        let length = self.artifact_ref.chars().count();
        self.selected_as_support
            && self.reentered_solver
            && self.allowed_by_terminal_authority
            && self.failure_codes.is_empty()
            && (1..=REF_LIMIT).contains(&length)
            && !self.artifact_ref.chars().any(char::is_control)
            && !self.kind.is_empty()
    }
}

/// Sorts artifacts into buckets by their kind.
pub(super) fn project(artifacts: &[&Artifact]) -> Projected {
    let mut projected = Projected::default();
    for artifact in artifacts {
        let kind = artifact.kind.to_lowercase();
        let observation = kind.contains("observation");
        let receipt = ["receipt", "evaluation", "validation"]
            .iter()
            .any(|word| kind.contains(word));
        if observation {
            projected.observation.push(artifact.artifact_ref.clone());
        }
        if receipt {
            projected.receipt.push(artifact.artifact_ref.clone());
        }
        if !observation && !receipt {
            projected.evidence.push(artifact.artifact_ref.clone());
        }
    }
    projected
}

/// The required families that the artifacts prove, in the order required.
pub(super) fn satisfied(artifacts: &[&Artifact], required: &[String]) -> Vec<String> {
    let proved: BTreeSet<&str> = artifacts
        .iter()
        .flat_map(|artifact| scope::families_of(&artifact.kind))
        .collect();
    required
        .iter()
        .filter(|family| proved.contains(family.as_str()))
        .cloned()
        .collect()
}
