//! Strict query strings: unknown and repeated parameters are refused, numbers are plain digits.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::app::agent::schema::Issues;
use crate::app::problem::Problem;

/// Parameters in one query, and bytes of it.
const MAX_PARAMETERS: usize = 32;

/// The decoded parameters of one request.
#[derive(Debug, Clone, Default)]
pub struct Query {
    parameters: BTreeMap<String, Vec<String>>,
}

impl Query {
    /// Decodes `raw`; percent escapes that are no UTF-8 become U+FFFD.
    pub fn decode(raw: &str) -> Result<Self, Problem> {
        let mut query = Self::default();
        for (count, pair) in raw.split('&').filter(|pair| !pair.is_empty()).enumerate() {
            if count >= MAX_PARAMETERS {
                return Err(Problem::invalid("The query has too many parameters."));
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            query
                .parameters
                .entry(decoded(name))
                .or_default()
                .push(decoded(value));
        }
        Ok(query)
    }

    /// Names and values for the credential scan.
    pub fn to_value(&self) -> Value {
        let members = self
            .parameters
            .iter()
            .map(|(name, values)| (name.clone(), Value::from(values.clone())));
        Value::Object(members.collect::<Map<_, _>>())
    }

    /// A reader that remembers which parameters were asked for.
    pub fn read(&self) -> QueryReader<'_> {
        QueryReader {
            query: self,
            known: Vec::new(),
            issues: Issues::default(),
        }
    }
}

#[derive(Debug)]
pub struct QueryReader<'q> {
    query: &'q Query,
    known: Vec<&'static str>,
    issues: Issues,
}

impl QueryReader<'_> {
    pub fn text(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let values = self.query.parameters.get(name)?;
        if values.len() > 1 {
            self.issues
                .add("invalid_type", &[Value::from(name)], "given more than once");
        }
        values.first().cloned()
    }

    /// A whole number in plain digits within bounds, or `default` when absent.
    pub fn integer(&mut self, name: &'static str, min: u64, max: u64, default: u64) -> u64 {
        let Some(text) = self.text(name) else {
            return default;
        };
        let path = [Value::from(name)];
        let is_digits = |text: &str| {
            !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        // An integer, as it would be in a tool's arguments, and one that lies below every bound.
        if text.strip_prefix('-').is_some_and(is_digits)
            && text.bytes().any(|b| (b'1'..=b'9').contains(&b))
        {
            self.issues
                .add("too_small", &path, format!("expected at least {min}"));
            return default;
        }
        match text.parse::<u64>() {
            Ok(number) if is_digits(&text) => self
                .issues
                .bounded(&path, number, min..=max)
                .unwrap_or(default),
            _ => {
                self.issues
                    .add("invalid_type", &path, "expected an integer");
                default
            }
        }
    }

    pub fn refuse(&mut self, name: &'static str, message: &str) {
        self.issues
            .add("invalid_value", &[Value::from(name)], message);
    }

    /// Reports everything found, unknown parameters included.
    pub fn finish(mut self) -> Result<(), Problem> {
        let names = self.query.parameters.keys().map(String::as_str);
        let unknown = names.filter(|name| !self.known.contains(name));
        self.issues.unrecognized(&[], unknown);
        if self.issues.is_empty() {
            Ok(())
        } else {
            Err(self.issues.into_problem())
        }
    }
}

/// Decodes percent escapes and `+`.
fn decoded(text: &str) -> String {
    percent_decoded(&text.replace('+', " "))
}

/// Decodes percent escapes once; a broken escape stays as it is.
pub fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let escape = bytes
            .get(index + 1..index + 3)
            .filter(|_| bytes[index] == b'%');
        let byte = escape
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(byte.unwrap_or(bytes[index]));
        index += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(raw: &str) -> Result<u64, Problem> {
        let query = Query::decode(raw)?;
        let mut read = query.read();
        let found = read.integer("limit", 1, 200, 100);
        read.finish().map(|()| found)
    }

    #[test]
    fn numbers_are_plain_digits_within_bounds() {
        assert_eq!(integer("").unwrap(), 100);
        assert_eq!(integer("limit=200").unwrap(), 200);
        for raw in [
            "limit=0",
            "limit=201",
            "limit=ten",
            "limit=-1",
            "limit=1.5",
            "limit=+1",
            "limit=",
            "limit=1&limit=2",
            "cursor=3",
        ] {
            assert!(integer(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn a_refusal_names_the_code_that_a_tool_would_and_the_unknown_keys() {
        for (raw, code) in [
            ("limit=-1", "too_small"),
            ("limit=-0", "invalid_type"),
            ("limit=0", "too_small"),
            ("limit=201", "too_big"),
            ("limit=1.5", "invalid_type"),
            ("limit=--1", "invalid_type"),
        ] {
            let details = integer(raw).unwrap_err().details.unwrap();
            assert_eq!(details["issues"][0]["code"], code, "{raw}");
        }
        let details = integer("cursor=3&after=1").unwrap_err().details.unwrap();
        assert_eq!(details["issues"][0]["code"], "unrecognized_keys");
        assert_eq!(
            details["issues"][0]["keys"],
            serde_json::json!(["after", "cursor"])
        );
    }

    #[test]
    fn escapes_are_decoded_exactly_once() {
        assert_eq!(percent_decoded("a%3Ab%253A%zz%"), "a:b%3A%zz%");
    }
}
