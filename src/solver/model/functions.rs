//! The functions a model is offered: the admitted capabilities, and one to hand in its product.
//!
//! What must stay true: a function's name says its capability and nothing else does, so a call can
//! be traced back without a table; a capability whose id cannot be named that way is not offered.

use serde_json::{Value, json};

use super::talk::Function;
use crate::solver::host::CapabilityCard;
use crate::solver::seam::TurnInput;

/// The function whose arguments are the product.
pub(super) const SUBMIT: &str = "submit";

/// The longest name both protocols admit.
const NAME_BYTES: usize = 64;

/// The function name of a capability. Names admit letters, digits, `_` and `-`, so the dot of an id
/// becomes two underscores.
pub(super) fn name_of(capability: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let name = capability.replace('.', "__");
    let fits = capability.bytes().all(plain) && name.len() <= NAME_BYTES && name != SUBMIT;
    (fits && capability_of(&name) == capability).then_some(name)
}

/// The capability a function name says; whether there is one is for the host to know.
pub(super) fn capability_of(name: &str) -> String {
    name.replace("__", ".")
}

/// What the model may call: the capabilities, then `submit`.
pub(super) fn offered(input: &TurnInput, capabilities: Vec<CapabilityCard>) -> Vec<Function> {
    let capabilities = capabilities.into_iter().filter_map(|card| {
        Some(Function {
            name: name_of(card.id)?,
            description: card.description.to_owned(),
            parameters: card.parameters,
        })
    });
    capabilities.chain(std::iter::once(submit(input))).collect()
}

pub(super) fn submit(input: &TurnInput) -> Function {
    Function {
        name: SUBMIT.to_owned(),
        description: "Hands in the result of this turn. Call it once, when reading is done or a \
                      question has to be asked first."
            .to_owned(),
        parameters: product_schema(input),
    }
}

/// Advice to the model alone: what comes back is read by `product`, which trusts no schema.
fn product_schema(input: &TurnInput) -> Value {
    let list = |items: Value, description: &str| json!({"type": "array", "items": items, "description": description});
    let index = json!({"type": "integer", "minimum": 0});
    let places = list(index.clone(), "Positions in quotes, from 0");
    let statement = object(&[
        (
            "text",
            json!({"type": "string", "description": "One sentence"}),
        ),
        ("quotes", places.clone()),
    ]);
    let quote = object(&[
        (
            "source",
            json!({"type": "integer", "minimum": 0, "description": "The source's number"}),
        ),
        (
            "quote",
            json!({"type": "string", "description": "Copied from the source character by character"}),
        ),
    ]);
    let field_name = json!({"type": "string", "enum": input.required_output_fields});
    let field = object(&[
        ("field", field_name),
        (
            "value",
            json!({"type": "string", "description": "Copied word for word from one of its quotes"}),
        ),
        ("quotes", places),
    ]);
    let option = object(&[
        ("value", json!({"type": "string"})),
        ("label", json!({"type": "string"})),
    ]);
    let question = object(&[
        (
            "question_id",
            json!({"type": "string", "description": "A short stable name"}),
        ),
        ("prompt", json!({"type": "string"})),
        (
            "options",
            list(option, "Answers to choose from; may be empty"),
        ),
    ]);
    object(&[
        (
            "quotes",
            list(quote, "Every passage that a statement rests on"),
        ),
        (
            "claims",
            list(
                statement.clone(),
                "What the sources say about the objective",
            ),
        ),
        (
            "contradicted_claims",
            list(statement.clone(), "What one source says and another denies"),
        ),
        (
            "conflicts",
            list(statement, "How sources disagree; two quotes at least"),
        ),
        (
            "fields",
            list(field, "Values of the required output fields"),
        ),
        (
            "unresolved",
            list(
                json!({"type": "string"}),
                "What is still missing, a sentence each",
            ),
        ),
        (
            "settled_requirements",
            list(
                index.clone(),
                "Positions in previous_unresolved_requirements that these claims settle",
            ),
        ),
        (
            "settled_contradictions",
            list(
                index,
                "Positions in previous_contradictions that these claims settle",
            ),
        ),
        (
            "questions",
            list(question, "What only the caller can decide; usually empty"),
        ),
    ])
}

fn object(properties: &[(&str, Value)]) -> Value {
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> = properties
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use helix_aggregates::agent::scope::CATALOG;

    use super::*;

    #[test]
    fn every_capability_of_the_catalog_has_a_name_that_leads_back_to_it() {
        let ids: Vec<&str> = CATALOG
            .iter()
            .flat_map(|scope| scope.capabilities.iter().copied())
            .chain(["room.environment.probe"])
            .collect();
        let names: BTreeSet<String> = ids.iter().map(|id| name_of(id).unwrap()).collect();
        assert_eq!(names.len(), ids.len());
        for name in &names {
            assert!(ids.contains(&capability_of(name).as_str()));
            let admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            assert!(name.len() <= 64 && name.bytes().all(admitted), "{name}");
        }
    }

    #[test]
    fn an_id_that_a_name_cannot_say_is_not_offered() {
        let long = "a".repeat(65);
        for id in ["a__b", "submit", "søk", "a b", "a_.b", &long] {
            assert_eq!(name_of(id), None, "{id}");
        }
    }
}
