//! Output fields (`agent-api` 5.3): the four of every product, and those the contract asks for.

use helix_aggregates::agent::run::turn::TerminalProduct;
use serde_json::{Map, Value};

use super::evidence::Evidence;
use crate::solver::seam::{Draft, FieldProposal, TurnInput};

/// The fields that every product has anyway.
pub(in crate::solver) const OWN: [&str; 4] = [
    "text",
    "authority_ref",
    "artifact_kind",
    "supporting_evidence_refs",
];

pub(super) fn output_fields(
    input: &TurnInput,
    draft: &Draft,
    evidence: &Evidence,
    product: &TerminalProduct,
) -> Map<String, Value> {
    let mut fields = Map::new();
    let refs = product
        .supporting_evidence_refs
        .iter()
        .cloned()
        .map(Value::String)
        .collect();
    fields.insert("text".into(), product.text.clone().into());
    fields.insert("authority_ref".into(), product.authority_ref.clone().into());
    fields.insert("artifact_kind".into(), product.artifact_kind.clone().into());
    fields.insert("supporting_evidence_refs".into(), Value::Array(refs));
    for proposal in &draft.fields {
        let wanted = input.required_output_fields.contains(&proposal.field);
        let own = OWN.contains(&proposal.field.as_str());
        if wanted
            && !own
            && !fields.contains_key(&proposal.field)
            && is_supported(proposal, evidence)
        {
            fields.insert(proposal.field.clone(), proposal.value.clone().into());
        }
    }
    fields
}

/// A value is supported when it stands, word for word, in an admitted span it names.
fn is_supported(proposal: &FieldProposal, evidence: &Evidence) -> bool {
    evidence.carries(&proposal.spans)
        && proposal
            .spans
            .iter()
            .filter_map(|span| evidence.item_of(*span))
            .any(|item| stands_in(&proposal.value, evidence.quote(item)))
}

/// Whether a value stands in a quote word for word; case and white space do not count.
pub(in crate::solver) fn stands_in(value: &str, quote: &str) -> bool {
    let value = plain(value);
    !value.is_empty() && plain(quote).contains(&value)
}

fn plain(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}
