//! Strict reading of a JSON body: every fault is collected, nothing is coerced, no value is quoted.

use std::ops::RangeInclusive;

use helix_aggregates::text::{self, trim, utf16_len};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::app::problem::Problem;

/// Faults reported for one body.
const MAX_ISSUES: usize = 32;
/// Unknown keys of one object that are shown.
const MAX_KEYS: usize = 8;
/// Characters of an unknown key that are shown.
const MAX_KEY: usize = 80;

/// One fault, as `details.issues` shows it (`agent-api` 1.5).
#[derive(Debug, Clone, Serialize)]
pub struct Issue {
    pub code: &'static str,
    pub path: Vec<Value>,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// The faults found so far.
#[derive(Debug, Default)]
pub struct Issues(Vec<Issue>);

impl Issues {
    pub fn add(&mut self, code: &'static str, path: &[Value], message: impl Into<String>) {
        if self.0.len() < MAX_ISSUES {
            self.0.push(Issue {
                code,
                path: path.to_vec(),
                message: message.into(),
                keys: Vec::new(),
            });
        }
    }

    /// `number`, when it lies within bounds.
    pub fn bounded(
        &mut self,
        path: &[Value],
        number: u64,
        bounds: RangeInclusive<u64>,
    ) -> Option<u64> {
        let (min, max) = bounds.into_inner();
        if number > max {
            self.add("too_big", path, format!("expected at most {max}"));
        } else if number < min {
            self.add("too_small", path, format!("expected at least {min}"));
        } else {
            return Some(number);
        }
        None
    }

    /// Keys that nobody asked for, in one issue (`agent-api` 1.5).
    pub fn unrecognized<'k>(&mut self, path: &[Value], keys: impl Iterator<Item = &'k str>) {
        let keys: Vec<String> = keys
            .take(MAX_KEYS)
            .map(|key| text::prefix(key, MAX_KEY).to_owned())
            .collect();
        if !keys.is_empty() && self.0.len() < MAX_ISSUES {
            self.0.push(Issue {
                code: "unrecognized_keys",
                path: path.to_vec(),
                message: format!("unrecognized keys: {}", keys.join(", ")),
                keys,
            });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The whole of them as one refusal.
    pub fn into_problem(self) -> Problem {
        Problem::invalid("The request does not match its schema.").with(json!({"issues": self.0}))
    }
}

/// One object being read. Every accepted key must be asked for before [`Self::finish`].
#[derive(Debug)]
pub struct Object<'v> {
    members: Option<&'v Map<String, Value>>,
    path: Vec<Value>,
    known: Vec<&'static str>,
}

impl<'v> Object<'v> {
    /// Starts reading `value`, which must be an object.
    pub fn open(value: &'v Value, path: Vec<Value>, issues: &mut Issues) -> Self {
        let members = value.as_object();
        if members.is_none() {
            issues.add("invalid_type", &path, "expected an object");
        }
        Self {
            members,
            path,
            known: Vec::new(),
        }
    }

    /// An absent object: every member takes its default.
    fn absent(path: Vec<Value>) -> Self {
        Self {
            members: None,
            path,
            known: Vec::new(),
        }
    }

    pub fn path_of(&self, name: &str) -> Vec<Value> {
        let mut path = self.path.clone();
        path.push(Value::from(name));
        path
    }

    pub fn get(&mut self, name: &'static str) -> Option<&'v Value> {
        self.known.push(name);
        self.members?.get(name)
    }

    /// Reports the keys nobody asked for.
    pub fn finish(self, issues: &mut Issues) {
        let Some(members) = self.members else { return };
        let names = members.keys().map(String::as_str);
        let unknown = names.filter(|key| !self.known.contains(key));
        issues.unrecognized(&self.path, unknown);
    }

    fn missing(&self, name: &str, issues: &mut Issues) {
        // An object that is itself wrong has been reported already.
        if self.members.is_some() {
            issues.add("invalid_type", &self.path_of(name), "required");
        }
    }

    /// A text that must be there, whose form its own type judges.
    pub fn string(&mut self, name: &'static str, issues: &mut Issues) -> Option<&'v str> {
        let value = self.required(name, issues)?;
        let found = value.as_str();
        if found.is_none() {
            issues.add("invalid_type", &self.path_of(name), "expected a string");
        }
        found
    }

    /// A trimmed text of 1 to `max` UTF-16 code units.
    pub fn text(&mut self, name: &'static str, max: usize, issues: &mut Issues) -> Option<String> {
        let found = self.optional_text(name, max, issues);
        if found.is_none()
            && self
                .members
                .is_some_and(|members| !members.contains_key(name))
        {
            self.missing(name, issues);
        }
        found
    }

    pub fn optional_text(
        &mut self,
        name: &'static str,
        max: usize,
        issues: &mut Issues,
    ) -> Option<String> {
        let value = self.get(name)?;
        bounded_text(value, max, &self.path_of(name), issues)
    }

    /// At most `count` trimmed texts of 1 to `max` code units, unique in first-seen order.
    pub fn texts(
        &mut self,
        name: &'static str,
        count: usize,
        max: usize,
        issues: &mut Issues,
    ) -> Vec<String> {
        let path = self.path_of(name);
        let items = self
            .get(name)
            .map(|value| array(value, count, &path, issues))
            .unwrap_or_default();
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let mut path = path.clone();
            path.push(Value::from(index));
            texts.extend(bounded_text(item, max, &path, issues));
        }
        text::unique(texts)
    }

    /// An integer within bounds. JSON numbers only: text is never coerced.
    pub fn integer(
        &mut self,
        name: &'static str,
        min: u64,
        max: u64,
        issues: &mut Issues,
    ) -> Option<u64> {
        let value = self.get(name)?;
        let path = self.path_of(name);
        let Value::Number(number) = value else {
            issues.add("invalid_type", &path, "expected a number");
            return None;
        };
        match number.as_u64() {
            Some(integer) => issues.bounded(&path, integer, min..=max),
            None if number.is_f64() => {
                issues.add("invalid_type", &path, "expected an integer");
                None
            }
            None => {
                issues.add("too_small", &path, format!("expected at least {min}"));
                None
            }
        }
    }

    pub fn required_integer(
        &mut self,
        name: &'static str,
        min: u64,
        max: u64,
        issues: &mut Issues,
    ) -> Option<u64> {
        if self
            .members
            .is_some_and(|members| !members.contains_key(name))
        {
            self.missing(name, issues);
        }
        self.integer(name, min, max, issues)
    }

    /// A member of any form that must be there.
    pub fn required(&mut self, name: &'static str, issues: &mut Issues) -> Option<&'v Value> {
        let found = self.get(name);
        if found.is_none() {
            self.missing(name, issues);
        }
        found
    }

    pub fn boolean(&mut self, name: &'static str, issues: &mut Issues) -> Option<bool> {
        let value = self.get(name)?;
        let found = value.as_bool();
        if found.is_none() {
            issues.add("invalid_type", &self.path_of(name), "expected a boolean");
        }
        found
    }

    /// A nested object; absent members of an absent object take their defaults.
    #[must_use]
    pub fn object(&mut self, name: &'static str, issues: &mut Issues) -> Object<'v> {
        let path = self.path_of(name);
        match self.get(name) {
            Some(value) => Object::open(value, path, issues),
            None => Object::absent(path),
        }
    }

    /// The items of an array of at most `count`.
    pub fn items(&mut self, name: &'static str, count: usize, issues: &mut Issues) -> &'v [Value] {
        let path = self.path_of(name);
        self.get(name)
            .map(|value| array(value, count, &path, issues))
            .unwrap_or_default()
    }
}

fn array<'v>(value: &'v Value, count: usize, path: &[Value], issues: &mut Issues) -> &'v [Value] {
    let Value::Array(items) = value else {
        issues.add("invalid_type", path, "expected an array");
        return &[];
    };
    if items.len() > count {
        issues.add("too_big", path, format!("expected at most {count} items"));
        return &[];
    }
    items
}

fn bounded_text(value: &Value, max: usize, path: &[Value], issues: &mut Issues) -> Option<String> {
    let Value::String(raw) = value else {
        issues.add("invalid_type", path, "expected a string");
        return None;
    };
    let text = trim(raw);
    let length = utf16_len(text);
    if length == 0 {
        issues.add("too_small", path, "expected at least 1 character");
        return None;
    }
    if length > max {
        issues.add(
            "too_big",
            path,
            format!("expected at most {max} characters"),
        );
        return None;
    }
    Some(text.to_owned())
}
