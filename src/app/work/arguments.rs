//! What an operation is asked with: one strict object, whichever door it came through.
//!
//! What must stay true: the fields of the registry are the whole of what is accepted; nothing is coerced
//! and no value is quoted. Ids have no form of their own here, since one that cannot exist is answered
//! like one that does not.

pub mod findings;

use helix_aggregates::access::brief::markdown::{Markdown, MarkdownError};
use helix_aggregates::access::reach::Reach;
use helix_aggregates::access::scopes::Scopes;
use helix_aggregates::canonical;
use helix_aggregates::ids::ProjectId;
use helix_aggregates::text::{Text, without_controls};
use serde_json::{Map, Value};

use crate::app::agent::schema::{Issues, Object};
use crate::app::problem::{Code, Problem};
use crate::app::redaction;

/// The longest id or cursor anybody may send.
const ID: usize = 500;

/// One member of an operation's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Id,
    /// One line of so many characters.
    Name(usize),
    Text(usize),
    Markdown,
    Number(u64, u64),
    Word(&'static [&'static str]),
    Flag,
    /// At most so many texts of so many characters.
    Texts(usize, usize),
    Findings,
    Scopes,
    Reach,
    Projects,
    /// A one-time handle: the one credential that belongs into a body.
    Handle,
}

/// Arguments that fit their fields.
#[derive(Debug, Clone, Default)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Checks what was sent against `fields`.
    pub fn check(sent: &Value, fields: &[Field]) -> Result<Self, Problem> {
        if leaks(sent, fields) {
            return Err(Problem::new(Code::CredentialInContent));
        }
        let mut issues = Issues::default();
        let mut object = Object::open(sent, Vec::new(), &mut issues);
        let mut kept = Map::new();
        for field in fields {
            if let Some(value) = field.read(&mut object, &mut issues) {
                kept.insert(field.name.to_owned(), value);
            }
        }
        object.finish(&mut issues);
        if issues.is_empty() {
            Ok(Self(kept))
        } else {
            Err(issues.into_problem())
        }
    }

    /// The one spelling of this request.
    pub fn spelled(&self) -> Vec<u8> {
        canonical::to_vec(&Value::Object(self.0.clone()))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// A text that the registry requires.
    pub fn needed(&self, name: &'static str) -> Result<&str, Problem> {
        self.text(name).ok_or_else(|| missing(name))
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    pub fn needed_number(&self, name: &'static str) -> Result<u64, Problem> {
        self.number(name).ok_or_else(|| missing(name))
    }

    /// A text of at most `MAX` characters that the registry requires.
    pub fn bounded<const MAX: usize>(&self, name: &'static str) -> Result<Text<MAX>, Problem> {
        Text::parse(self.needed(name)?).map_err(|_| missing(name))
    }

    pub fn optional<const MAX: usize>(&self, name: &str) -> Result<Option<Text<MAX>>, Problem> {
        let text = self.text(name).map(Text::parse).transpose();
        text.map_err(|_| missing("text"))
    }

    pub fn flag(&self, name: &'static str) -> Result<bool, Problem> {
        let found = self.0.get(name).and_then(Value::as_bool);
        found.ok_or_else(|| missing(name))
    }

    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.0.get(name).and_then(Value::as_array);
        let texts = items.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    pub fn markdown(&self, name: &'static str) -> Result<Option<Markdown>, Problem> {
        let text = self.text(name).map(Markdown::parse).transpose();
        text.map_err(|_| missing(name))
    }

    pub fn scopes(&self, name: &'static str) -> Result<Scopes, Problem> {
        let found = self.0.get(name).and_then(scopes_of);
        found.ok_or_else(|| missing(name))
    }

    pub fn reach(&self, name: &'static str) -> Result<Reach, Problem> {
        let found = self.0.get(name).and_then(reach_of);
        found.ok_or_else(|| missing(name))
    }

    pub fn projects(&self, name: &'static str) -> Result<Vec<ProjectId>, Problem> {
        let found = self.0.get(name).and_then(projects_of);
        found.ok_or_else(|| missing(name))
    }
}

/// Whether a credential stands where none belongs.
fn leaks(sent: &Value, fields: &[Field]) -> bool {
    let Value::Object(members) = sent else {
        return redaction::holds_credential(sent);
    };
    let handle = |name: &str| {
        let mut handles = fields.iter().filter(|field| field.kind == Kind::Handle);
        handles.any(|field| field.name == name)
    };
    members
        .iter()
        .filter(|(name, _)| !handle(name))
        .any(|(name, value)| {
            redaction::holds_credential(&Value::from(name.as_str()))
                || redaction::holds_credential(value)
        })
}

/// The registry and the use case differ about a field.
fn missing(name: &'static str) -> Problem {
    Problem::new(Code::Internal).because(format!("the argument {name} was not checked"))
}

impl Field {
    fn read(self, object: &mut Object<'_>, issues: &mut Issues) -> Option<Value> {
        let path = object.path_of(self.name);
        let value = match self.need {
            Need::Required => object.required(self.name, issues)?,
            Need::Optional => object.get(self.name)?,
        };
        let mut refuse = |code, message: &str| {
            issues.add(code, &path, message);
            None
        };
        match self.kind {
            Kind::Id | Kind::Handle => object.optional_text(self.name, ID, issues).map(Value::from),
            Kind::Text(most) => object
                .optional_text(self.name, most, issues)
                .map(Value::from),
            Kind::Name(most) => {
                let text = object.optional_text(self.name, most, issues)?;
                if without_controls(&text).is_err() {
                    issues.add("invalid_value", &path, "expected no control characters");
                    return None;
                }
                Some(text.into())
            }
            Kind::Markdown => match value.as_str().map(Markdown::parse) {
                None => refuse("invalid_type", "expected a string"),
                Some(Ok(text)) => Some(Value::from(text.as_str())),
                Some(Err(MarkdownError::Blank)) => {
                    refuse("too_small", "expected at least 1 character")
                }
                Some(Err(error)) => refuse("too_big", &error.to_string()),
            },
            Kind::Number(least, most) => object
                .integer(self.name, least, most, issues)
                .map(Value::from),
            Kind::Word(words) => match value.as_str() {
                None => refuse("invalid_type", "expected a string"),
                Some(word) if words.contains(&word) => Some(Value::from(word)),
                Some(_) => refuse(
                    "invalid_value",
                    &format!("expected one of {}", words.join(", ")),
                ),
            },
            Kind::Flag => object.boolean(self.name, issues).map(Value::from),
            Kind::Texts(count, most) => Some(object.texts(self.name, count, most, issues).into()),
            Kind::Findings => Some(findings::read(object, self.name, issues)),
            Kind::Scopes => match scopes_of(value) {
                Some(_) => Some(value.clone()),
                None => refuse("invalid_value", "expected scopes of the workspace door"),
            },
            Kind::Reach => match reach_of(value) {
                Some(_) => Some(value.clone()),
                None => refuse(
                    "invalid_value",
                    "expected {kind:\"all\"} or {kind:\"listed\",project_ids} with at least one project",
                ),
            },
            Kind::Projects => match projects_of(value) {
                Some(_) => Some(value.clone()),
                None => refuse("invalid_value", "expected at most 200 project ids"),
            },
        }
    }
}

fn scopes_of(value: &Value) -> Option<Scopes> {
    let words: Option<Vec<&str>> = value.as_array()?.iter().map(Value::as_str).collect();
    Scopes::parse(words?).ok()?.of_workspace().ok()
}

fn reach_of(value: &Value) -> Option<Reach> {
    let members = value.as_object()?.len();
    let reach: Reach = serde_json::from_value(value.clone()).ok()?;
    let expected = match &reach {
        Reach::All => 1,
        Reach::Listed(_) => 2,
    };
    reach.check().ok()?;
    (members == expected).then_some(reach)
}

fn projects_of(value: &Value) -> Option<Vec<ProjectId>> {
    let items = value.as_array().filter(|items| items.len() <= 200)?;
    let ids = items
        .iter()
        .map(|item| ProjectId::parse(item.as_str()?).ok());
    ids.collect()
}
