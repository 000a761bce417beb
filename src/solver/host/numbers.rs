//! The values in a source, each with its unit and the span it stands in.

use serde_json::{Value, json};

use super::arguments::Arguments;
use super::call::Answered;
use super::local::{Open, part};
use super::{ToolHost, span};
use crate::solver::corpora::words;
use crate::solver::corpus_extract::sentences;
use crate::solver::corpus_extract::values::{self, Kind};

impl ToolHost {
    pub(super) fn numbers(&self, open: &Open, arguments: &Arguments) -> Answered {
        let document = &open.document;
        let wanted = arguments.text("query").map(words::stems);
        let limit = arguments.whole("limit").unwrap_or(50);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let ranges = document
            .blocks
            .iter()
            .flat_map(|block| sentences::split(&document.text, block.range.clone()));
        let mut found: Vec<Value> = Vec::new();
        let mut handed = Vec::new();
        for range in ranges {
            let text = document.text.get(range.clone()).unwrap_or_default();
            let fits = wanted.as_ref().is_none_or(|wanted| {
                let held = words::stems(text);
                wanted.iter().any(|stem| held.contains(stem))
            });
            if !fits || found.len() == limit {
                continue;
            }
            let sentence = span(range.clone());
            let values = values::find(text);
            if !values.is_empty() {
                handed.push((open.source, sentence));
            }
            for value in values.into_iter().take(limit - found.len()) {
                let place = range.start + value.range.start..range.start + value.range.end;
                let spelled = text.get(value.range.clone()).unwrap_or_default();
                let (number, unit) = taken_apart(spelled);
                let mut shown = part(document, span(place));
                shown["kind"] = named(value.kind).into();
                shown["number"] = number.into();
                shown["unit"] = unit.into();
                shown["sentence"] = part(document, sentence);
                found.push(shown);
            }
        }
        let mut body = self.head(open.source);
        body["values"] = json!(found);
        Answered { body, handed }
    }
}

/// The number of a value as it is spelled, and what stands beside it.
fn taken_apart(spelled: &str) -> (Option<String>, Option<String>) {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '\u{a0}' | '\u{202f}');
    let start = spelled.find(|c: char| c.is_ascii_digit());
    let Some(start) = start else {
        return (None, None);
    };
    let length = spelled[start..].find(|c| !is_part(c));
    let end = length.map_or(spelled.len(), |length| start + length);
    let number = spelled[start..end].trim_end_matches(|c: char| !c.is_ascii_digit());
    let rest = [&spelled[..start], &spelled[start + number.len()..]].concat();
    let rest = rest.trim();
    (
        Some(number.to_owned()),
        (!rest.is_empty()).then(|| rest.to_owned()),
    )
}

fn named(kind: Kind) -> &'static str {
    match kind {
        Kind::Time => "time",
        Kind::Date => "date",
        Kind::Year => "year",
        Kind::Money => "money",
        Kind::Percent => "percent",
        Kind::Measure => "measure",
        Kind::Count => "count",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_apart_as_it_is_spelled() {
        for (spelled, number, unit) in [
            ("12.5 km", Some("12.5"), Some("km")),
            ("\u{20ac}40", Some("40"), Some("\u{20ac}")),
            ("2,400,000 kr", Some("2,400,000"), Some("kr")),
            ("12%", Some("12"), Some("%")),
            ("four boats", None, None),
            ("1911", Some("1911"), None),
        ] {
            let (found, beside) = taken_apart(spelled);
            assert_eq!(
                (found.as_deref(), beside.as_deref()),
                (number, unit),
                "{spelled}"
            );
        }
    }
}
