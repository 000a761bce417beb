//! A worker's product, read strictly into the draft that every solver returns (settled question 90).
//!
//! What must stay true: what is read here is hostile. Its form and bounds are judged before anything
//! changes; its truth is judged later, by the tool host and the finaliser, as any solver's is.
//! Deliberately absent: a way to name a ref, a status or an authority.

use helix_aggregates::agent::evidence::item::Span;
use helix_aggregates::agent::run::turn::{Question, QuestionOption};
use helix_aggregates::text::{trim, utf16_len};
use serde_json::Value;

use crate::app::agent::schema::{Issues, Object};
use crate::solver::finaliser::statement;
use crate::solver::seam::{
    Claim, Conflict, Draft, FieldProposal, Progress, QuotedSpan, SourceHandle, SpanIndex,
};

const SPANS: usize = 256;
const CLAIMS: usize = 128;
const SENTENCES: usize = 64;
const QUESTIONS: usize = 32;
const SPANS_OF_ONE: usize = 32;
const QUOTE_UNITS: usize = 2_000;
const CLAIM_UNITS: usize = 2_000;
const SENTENCE_UNITS: usize = 1_000;
const FIELD_UNITS: usize = 4_000;
const SUMMARY_UNITS: usize = 2_000;
const DIGEST_UNITS: usize = 100_000;
/// Of all texts together, so that the largest product there is can be sent: escaped as the wordiest
/// JSON writers do, it has less than [`BODY_BYTES`].
const TEXT_UNITS: usize = 150_000;
/// A request's body at the routes of workers.
pub const BODY_BYTES: usize = 1 << 20;
/// Of a composed summary.
const COMPOSED_UNITS: usize = 400;

/// Reads a product; faults are noted, and what could not be read is left out.
pub fn read(product: &Value, path: Vec<Value>, issues: &mut Issues) -> Draft {
    let place = path.clone();
    let mut root = Object::open(product, path, issues);
    let spans: Vec<QuotedSpan> = each(&mut root, "quoted_spans", SPANS, issues, quoted_span);
    let count = spans.len();
    let claim = |object: &mut Object<'_>, issues: &mut Issues| claim(object, count, issues);
    let conflict = |object: &mut Object<'_>, issues: &mut Issues| {
        let text = text(object, "text", SENTENCE_UNITS, issues);
        let spans = marks(object, count, issues);
        Some(Conflict { text: text?, spans })
    };
    let field = |object: &mut Object<'_>, issues: &mut Issues| {
        let (name, value) = (
            object.text("field", 120, issues),
            text(object, "value", FIELD_UNITS, issues),
        );
        let spans = marks(object, count, issues);
        Some(FieldProposal {
            field: name?,
            value: value?,
            spans,
        })
    };
    let mut draft = Draft {
        claims: each(&mut root, "claims", CLAIMS, issues, claim),
        contradicted_claims: each(&mut root, "contradicted_claims", CLAIMS, issues, claim),
        fields: each(&mut root, "fields", SENTENCES, issues, field),
        conflicts: each(&mut root, "conflicts", SENTENCES, issues, conflict),
        unresolved: root.texts("unresolved", SENTENCES, SENTENCE_UNITS, issues),
        settled_requirements: positions(&mut root, "settled_requirements", SENTENCES, issues),
        settled_contradictions: positions(&mut root, "settled_contradictions", SENTENCES, issues),
        questions: each(&mut root, "questions", QUESTIONS, issues, question),
        summary: optional(&mut root, "summary", SUMMARY_UNITS, issues),
        digest: optional(&mut root, "digest", DIGEST_UNITS, issues),
        progress: Progress::None,
        spans,
    };
    root.finish(issues);
    let units = units_of(product);
    if units > TEXT_UNITS {
        let most = format!("expected at most {TEXT_UNITS} characters in all texts together");
        issues.add("too_big", &place, most);
    }
    complete(&mut draft);
    draft
}

/// UTF-16 code units of all texts in a value.
fn units_of(value: &Value) -> usize {
    match value {
        Value::String(text) => utf16_len(text),
        Value::Array(items) => items.iter().map(units_of).sum(),
        Value::Object(members) => members.values().map(units_of).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// What a product leaves to be composed: the digest is its conflicts and claims with their marks.
fn complete(draft: &mut Draft) {
    if draft.digest.is_empty() {
        let conflicts = draft.conflicts.iter();
        let conflicts =
            conflicts.map(|one| (format!("Sources disagree: {}", one.text), &one.spans));
        let claims = draft
            .claims
            .iter()
            .map(|one| (one.text.clone(), &one.spans));
        let lines: Vec<String> = conflicts
            .chain(claims)
            .map(|(text, spans)| marked(&text, spans))
            .collect();
        draft.digest = lines.join("\n");
    }
    if draft.summary.is_empty() {
        let first = draft.claims.first().map(|claim| statement(&claim.text));
        let first = first.unwrap_or_default();
        helix_aggregates::text::prefix(&first, COMPOSED_UNITS).clone_into(&mut draft.summary);
    }
    if !draft.spans.is_empty() || !draft.questions.is_empty() {
        draft.progress = Progress::Made;
    }
}

/// One line: a line break would part a statement from its marks.
fn marked(text: &str, spans: &[SpanIndex]) -> String {
    let mut line = statement(text);
    for span in spans {
        line.push_str(" [");
        line.push_str(&(span + 1).to_string());
        line.push(']');
    }
    line
}

fn each<'v, T>(
    root: &mut Object<'v>,
    name: &'static str,
    most: usize,
    issues: &mut Issues,
    read: impl Fn(&mut Object<'v>, &mut Issues) -> Option<T>,
) -> Vec<T> {
    let path = root.path_of(name);
    let mut found = Vec::new();
    for (index, item) in root.items(name, most, issues).iter().enumerate() {
        let mut path = path.clone();
        path.push(Value::from(index));
        let mut object = Object::open(item, path, issues);
        found.extend(read(&mut object, issues));
        object.finish(issues);
    }
    found
}

fn quoted_span(object: &mut Object<'_>, issues: &mut Issues) -> Option<QuotedSpan> {
    let source = object.required_integer("source", 0, u64::from(u32::MAX), issues);
    let start = object.required_integer("start", 0, 1 << 53, issues);
    let end = object.required_integer("end", 0, 1 << 53, issues);
    // A quote is compared byte by byte, so it is taken as it is.
    let quote = text(object, "quote", QUOTE_UNITS, issues);
    let why = optional(object, "why", SENTENCE_UNITS, issues);
    Some(QuotedSpan {
        source: SourceHandle(u32::try_from(source?).ok()?),
        span: Span {
            start: start?,
            end: end?,
        },
        quote: quote?,
        why,
    })
}

fn claim(object: &mut Object<'_>, count: usize, issues: &mut Issues) -> Option<Claim> {
    let text = text(object, "text", CLAIM_UNITS, issues);
    let spans = marks(object, count, issues);
    Some(Claim { text: text?, spans })
}

fn question(object: &mut Object<'_>, issues: &mut Issues) -> Option<Question> {
    let question_id = object.text("question_id", 240, issues);
    let prompt = object.text("prompt", 2_000, issues);
    let required_fields = object.texts("required_fields", 32, 120, issues);
    let options = each(object, "options", 32, issues, |option, issues| {
        let label = option.text("label", 500, issues);
        let value = optional(option, "value", 500, issues);
        Some(QuestionOption {
            value,
            label: label?,
        })
    });
    Some(Question {
        question_id: question_id?,
        prompt: prompt?,
        required_fields,
        options,
    })
}

/// Positions in `quoted_spans`.
fn marks(object: &mut Object<'_>, count: usize, issues: &mut Issues) -> Vec<SpanIndex> {
    let found = positions(object, "spans", SPANS_OF_ONE, issues);
    if found.iter().any(|index| *index >= count) {
        let path = object.path_of("spans");
        issues.add("custom", &path, "names a span that is not in quoted_spans");
    }
    found
}

fn positions(
    object: &mut Object<'_>,
    name: &'static str,
    most: usize,
    issues: &mut Issues,
) -> Vec<usize> {
    let path = object.path_of(name);
    let mut found = Vec::new();
    for item in object.items(name, most, issues) {
        match item.as_u64().and_then(|index| usize::try_from(index).ok()) {
            Some(index) => found.push(index),
            None => issues.add("invalid_type", &path, "expected positions"),
        }
    }
    found
}

/// A text that is not blank, untrimmed.
fn text(
    object: &mut Object<'_>,
    name: &'static str,
    most: usize,
    issues: &mut Issues,
) -> Option<String> {
    let value = object.required(name, issues)?;
    let found = bounded(value, &object.path_of(name), most, issues)?;
    if trim(&found).is_empty() {
        let path = object.path_of(name);
        issues.add("too_small", &path, "expected at least 1 character");
        return None;
    }
    Some(found)
}

fn optional(
    object: &mut Object<'_>,
    name: &'static str,
    most: usize,
    issues: &mut Issues,
) -> String {
    let value = object.get(name);
    value
        .and_then(|value| bounded(value, &object.path_of(name), most, issues))
        .unwrap_or_default()
}

fn bounded(value: &Value, path: &[Value], most: usize, issues: &mut Issues) -> Option<String> {
    let Value::String(text) = value else {
        issues.add("invalid_type", path, "expected a string");
        return None;
    };
    if utf16_len(text) > most {
        issues.add(
            "too_big",
            path,
            format!("expected at most {most} characters"),
        );
        return None;
    }
    Some(text.clone())
}

#[cfg(test)]
mod tests;
