//! A schema as rows of a table: what a reader wants of it, one member a row.

use serde_json::Value;

/// Members of members are shown down to this level.
const DEPTH: usize = 3;

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// With the names of what it stands in, joined by dots; `[]` for the items of a list.
    pub name: String,
    pub kind: String,
    /// Whether it must be there.
    pub need: String,
    pub about: String,
}

/// The members of an object.
pub fn of(schema: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    members(schema, "", DEPTH, &mut fields);
    fields
}

fn members(schema: &Value, prefix: &str, depth: usize, fields: &mut Vec<Field>) {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{name}");
        fields.push(Field {
            kind: kind(member),
            need: if is_required(name) {
                "required"
            } else {
                "optional"
            }
            .to_owned(),
            about: member["description"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            name: path.clone(),
        });
        if depth > 1 {
            members(member, &format!("{path}."), depth - 1, fields);
            members(&member["items"], &format!("{path}[]."), depth - 1, fields);
        }
    }
}

/// Type and bounds in words.
pub fn kind(schema: &Value) -> String {
    if let Some(only) = schema.get("const") {
        return format!("always {only}");
    }
    if let Some(either) = schema["anyOf"].as_array() {
        let kinds: Vec<String> = either.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", words.join(", "));
    }
    let name = match &schema["type"] {
        Value::String(name) => name.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            "any JSON".to_owned()
        }
    };
    let mut parts = vec![match schema["items"]["type"].as_str() {
        Some(items) => format!("{name} of {items}"),
        None => name,
    }];
    parts.extend(schema["format"].as_str().map(str::to_owned));
    parts.extend(bounds(schema));
    let default = schema.get("default");
    parts.extend(default.map(|default| format!("default {default}")));
    parts.join(", ")
}

fn bounds(schema: &Value) -> Option<String> {
    [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ]
    .into_iter()
    .find_map(
        |(least, most, unit)| match (schema[least].as_i64(), schema[most].as_i64()) {
            (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
            (Some(least), None) => Some(format!("at least {least}{unit}")),
            (None, Some(most)) => Some(format!("at most {most}{unit}")),
            (None, None) => None,
        },
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_of_members_and_of_items_have_rows_with_bounds_and_defaults() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "object", "description": "An A.", "properties": {
                "b": {"type": "integer", "minimum": 1, "maximum": 4, "default": 2},
            }},
            "c": {"type": "array", "maxItems": 9, "items": {"type": "object", "properties": {
                "d": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            }}},
        }});
        let rows: Vec<String> = of(&schema)
            .iter()
            .map(|row| format!("{} | {} | {} | {}", row.name, row.kind, row.need, row.about))
            .collect();
        assert_eq!(
            rows,
            [
                "a | object | required | An A.",
                "a.b | integer, 1 to 4, default 2 | optional | ",
                "c | array of object, at most 9 items | optional | ",
                "c[].d | string or null | optional | ",
            ]
        );
    }
}
