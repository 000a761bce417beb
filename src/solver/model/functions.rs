//! The functions a model is offered: the admitted capabilities, and one to hand in its product.
//!
//! What must stay true: a function's name says its capability and nothing else does, so a call can
//! be traced back without a table; a capability whose id cannot be named that way is not offered.

use helix_aggregates::text::unique;
use serde_json::{Value, json};

use super::talk::Function;
use crate::solver::finaliser::OWN_FIELDS;
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
    let statement = object(&[
        (
            "text",
            json!({"type": "string", "description": "One sentence"}),
        ),
        ("quotes", places()),
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
    let mut members = vec![
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
            "unresolved",
            list(
                json!({"type": "string"}),
                "What is still missing, a sentence each",
            ),
        ),
        (
            "settled_requirements",
            list(
                index(),
                "Positions in previous_unresolved_requirements that these claims settle",
            ),
        ),
        (
            "settled_contradictions",
            list(
                index(),
                "Positions in previous_contradictions that these claims settle",
            ),
        ),
        (
            "questions",
            list(question(), "What only the caller can decide; usually empty"),
        ),
    ];
    members.extend(fields(input).map(|fields| ("fields", fields)));
    object(&members)
}

fn question() -> Value {
    let option = object(&[
        ("value", json!({"type": "string"})),
        ("label", json!({"type": "string"})),
    ]);
    object(&[
        (
            "question_id",
            json!({"type": "string", "description": "A short stable name"}),
        ),
        ("prompt", json!({"type": "string"})),
        (
            "options",
            list(option, "Answers to choose from; may be empty"),
        ),
    ])
}

/// The list of wanted output fields; `None` when there is none to give, because a choice among
/// nothing is a schema that servers refuse.
fn fields(input: &TurnInput) -> Option<Value> {
    let wanted = unique(input.required_output_fields.iter());
    let wanted: Vec<String> = wanted
        .into_iter()
        .filter(|field| !OWN_FIELDS.contains(&field.as_str()))
        .collect();
    if wanted.is_empty() {
        return None;
    }
    let field = object(&[
        ("field", json!({"type": "string", "enum": wanted})),
        (
            "value",
            json!({"type": "string", "description": "Copied word for word from one of its quotes"}),
        ),
        ("quotes", places()),
    ]);
    Some(list(field, "Values of the required output fields"))
}

fn places() -> Value {
    list(index(), "Positions in quotes, from 0")
}

fn index() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn list(items: impl Into<Value>, description: &str) -> Value {
    json!({"type": "array", "items": items.into(), "description": description})
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
    use crate::solver::fixture::library;

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
    fn a_field_is_chosen_from_those_that_are_wanted_or_not_asked_for_at_all() {
        let (mut input, _handle) = library("When does the ferry leave?");
        let schema = |input: &TurnInput| submit(input).parameters;
        assert_eq!(schema(&input)["properties"].get("fields"), None);
        input.required_output_fields = vec!["text".into()];
        assert_eq!(schema(&input)["properties"].get("fields"), None);
        input.required_output_fields = ["departure", "text", "departure", "price"]
            .map(str::to_owned)
            .to_vec();
        let fields = &schema(&input)["properties"]["fields"];
        let choice = &fields["items"]["properties"]["field"]["enum"];
        assert_eq!(*choice, json!(["departure", "price"]));
        let required = schema(&input)["required"].clone();
        assert!(required.as_array().unwrap().contains(&json!("fields")));
    }

    #[test]
    fn an_id_that_a_name_cannot_say_is_not_offered() {
        let long = "a".repeat(65);
        for id in ["a__b", "submit", "søk", "a b", "a_.b", &long] {
            assert_eq!(name_of(id), None, "{id}");
        }
    }
}
