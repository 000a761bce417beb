//! What a capability may be asked: one description of its parameters, published and enforced.
//!
//! Exists so that the schema a solver is shown and the check its arguments meet cannot drift. What
//! must stay true: every parameter is required and no other is admitted; a fault names a published
//! parameter at most, never a text of the caller. Deliberately absent: nesting and coercion.

use std::fmt;

use serde_json::{Map, Value, json};

/// The largest whole number that every JSON reader keeps.
const LARGEST: u64 = 1 << 53;

/// What one parameter holds. Those that may be null have to be given all the same: function
/// calling in strict mode knows no absent parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Shape {
    Text { most: usize },
    TextOrNull { most: usize },
    Whole { least: u64, most: u64 },
    WholeOrNull,
    Texts { items: usize, most: usize },
    TextsOrNull { items: usize, most: usize },
}

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Parameter {
    pub name: &'static str,
    pub description: &'static str,
    pub shape: Shape,
}

/// All parameters of a capability, in the order in which they are published.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Parameters(pub &'static [Parameter]);

/// What is wrong with the arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadArguments {
    #[error("the arguments are not an object")]
    NotAnObject,
    #[error("an argument is not one of the capability's parameters")]
    Unknown,
    #[error("the argument {0} is missing")]
    Missing(&'static str),
    #[error("the argument {0} is not what its schema says")]
    Misfit(&'static str),
    #[error("the arguments {0} and {1} exclude each other")]
    Exclusive(&'static str, &'static str),
}

/// Arguments that fit their parameters.
pub(in crate::solver) struct Arguments(Map<String, Value>);

/// They repeat an objective more often than not.
impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments").finish_non_exhaustive()
    }
}

impl Parameters {
    /// The JSON Schema of the arguments.
    pub fn schema(self) -> Value {
        let mut properties = Map::new();
        for parameter in self.0 {
            properties.insert(parameter.name.to_owned(), parameter.schema());
        }
        let required: Vec<&str> = self.0.iter().map(|parameter| parameter.name).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    pub fn read(self, arguments: &Value) -> Result<Arguments, BadArguments> {
        let members = arguments.as_object().ok_or(BadArguments::NotAnObject)?;
        for parameter in self.0 {
            let given = members.get(parameter.name);
            let value = given.ok_or(BadArguments::Missing(parameter.name))?;
            if !parameter.shape.fits(value) {
                return Err(BadArguments::Misfit(parameter.name));
            }
        }
        if members.len() > self.0.len() {
            return Err(BadArguments::Unknown);
        }
        Ok(Arguments(members.clone()))
    }
}

impl Parameter {
    fn schema(self) -> Value {
        let mut schema = match self.shape {
            Shape::Text { most } => json!({"type": "string", "minLength": 1, "maxLength": most}),
            Shape::TextOrNull { most } => {
                json!({"type": ["string", "null"], "minLength": 1, "maxLength": most})
            }
            Shape::Whole { least, most } => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Shape::WholeOrNull => json!({
                "type": ["integer", "null"], "minimum": 0, "maximum": LARGEST,
            }),
            Shape::Texts { items, most } => texts(&json!("array"), items, most),
            Shape::TextsOrNull { items, most } => texts(&json!(["array", "null"]), items, most),
        };
        schema["description"] = self.description.into();
        schema
    }
}

impl Shape {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text { most } => is_text(value, most),
            Self::TextOrNull { most } => value.is_null() || is_text(value, most),
            Self::Whole { least, most } => {
                whole(value).is_some_and(|number| (least..=most).contains(&number))
            }
            Self::WholeOrNull => value.is_null() || whole(value).is_some(),
            Self::Texts { items, most } => are_texts(value, items, most),
            Self::TextsOrNull { items, most } => value.is_null() || are_texts(value, items, most),
        }
    }
}

fn texts(kind: &Value, items: usize, most: usize) -> Value {
    json!({
        "type": kind, "minItems": 1, "maxItems": items,
        "items": {"type": "string", "minLength": 1, "maxLength": most},
    })
}

fn are_texts(value: &Value, items: usize, most: usize) -> bool {
    value.as_array().is_some_and(|texts| {
        (1..=items).contains(&texts.len()) && texts.iter().all(|text| is_text(text, most))
    })
}

fn is_text(value: &Value, most: usize) -> bool {
    value
        .as_str()
        .is_some_and(|text| !text.is_empty() && text.chars().count() <= most)
}

/// `3.0` is an integer to JSON Schema.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "judged to be whole, not negative and far below 2^63"
)]
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_u64().or_else(|| {
        let real = value.as_f64()?;
        let holds = real >= 0.0 && real <= LARGEST as f64 && real.fract() == 0.0;
        holds.then_some(real as u64)
    })?;
    (number <= LARGEST).then_some(number)
}

impl Arguments {
    /// The text of a parameter; `None` when it is null.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub fn whole(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(whole)
    }

    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let items = self.0.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: Parameters = Parameters(&[
        Parameter {
            name: "query",
            description: "What to look for",
            shape: Shape::Text { most: 5 },
        },
        Parameter {
            name: "limit",
            description: "Most passages",
            shape: Shape::Whole { least: 1, most: 8 },
        },
        Parameter {
            name: "end",
            description: "Where to stop",
            shape: Shape::WholeOrNull,
        },
    ]);

    #[test]
    fn arguments_are_exactly_the_published_parameters() {
        let good = json!({"query": "ferry", "limit": 8.0, "end": null});
        let read = PARAMETERS.read(&good).unwrap();
        assert_eq!(
            (read.text("query"), read.whole("limit")),
            (Some("ferry"), Some(8))
        );
        assert_eq!(read.whole("end"), None);
        for (arguments, fault) in [
            (json!([]), BadArguments::NotAnObject),
            (
                json!({"query": "a", "limit": 1}),
                BadArguments::Missing("end"),
            ),
            (
                json!({"query": "a", "limit": 1, "end": 1, "extra": 1}),
                BadArguments::Unknown,
            ),
            (
                json!({"query": "", "limit": 1, "end": 1}),
                BadArguments::Misfit("query"),
            ),
            (
                json!({"query": "ferries", "limit": 1, "end": 1}),
                BadArguments::Misfit("query"),
            ),
            (
                json!({"query": "a", "limit": 0, "end": 1}),
                BadArguments::Misfit("limit"),
            ),
            (
                json!({"query": "a", "limit": 1, "end": -1}),
                BadArguments::Misfit("end"),
            ),
            (
                json!({"query": "a", "limit": 1, "end": 1.5}),
                BadArguments::Misfit("end"),
            ),
        ] {
            assert_eq!(
                PARAMETERS.read(&arguments).unwrap_err(),
                fault,
                "{arguments}"
            );
        }
    }

    #[test]
    fn a_schema_admits_nothing_beside_its_required_parameters() {
        let schema = PARAMETERS.schema();
        assert_eq!(schema["required"], json!(["query", "limit", "end"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(
            schema["properties"]["end"]["type"],
            json!(["integer", "null"])
        );
    }
}
