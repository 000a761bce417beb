//! Findings as a submission spells them.

use helix_aggregates::access::review::finding::{
    FindingKind, NewFinding, REFS_LIMIT, SUBMITTED_LIMIT, Severity,
};
use helix_aggregates::ids::FindingId;
use helix_aggregates::text::{Text, without_controls};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Arguments, missing};
use crate::app::agent::schema::{Issues, Object};
use crate::app::problem::Problem;

pub const KINDS: &[&str] = &["issue", "evidence", "note"];
pub const SEVERITIES: &[&str] = &["info", "minor", "major", "blocker"];
pub const TITLE: usize = 200;
pub const DETAIL: usize = 8_000;
pub const REF: usize = 500;

/// The items with their texts trimmed; faults are added to `issues`.
pub(super) fn read(object: &mut Object<'_>, name: &'static str, issues: &mut Issues) -> Value {
    let path = object.path_of(name);
    let items = object.items(name, SUBMITTED_LIMIT, issues).iter();
    let read = items.enumerate().filter_map(|(index, item)| {
        let mut path = path.clone();
        path.push(Value::from(index));
        one(Object::open(item, path, issues), issues)
    });
    read.collect()
}

fn one(mut item: Object<'_>, issues: &mut Issues) -> Option<Value> {
    let kind = word(&mut item, "kind", KINDS, issues);
    let severity = word(&mut item, "severity", SEVERITIES, issues);
    let title = item.text("title", TITLE, issues);
    if title
        .as_deref()
        .is_some_and(|t| without_controls(t).is_err())
    {
        let path = item.path_of("title");
        issues.add("invalid_value", &path, "expected no control characters");
    }
    let detail = item.text("detail", DETAIL, issues);
    let refs = item.texts("refs", REFS_LIMIT, REF, issues);
    item.finish(issues);
    Some(
        json!({"kind": kind?, "severity": severity?, "title": title?, "detail": detail?, "refs": refs}),
    )
}

fn word<'v>(
    item: &mut Object<'v>,
    name: &'static str,
    words: &[&str],
    issues: &mut Issues,
) -> Option<&'v str> {
    let word = item.string(name, issues)?;
    if words.contains(&word) {
        return Some(word);
    }
    let message = format!("expected one of {}", words.join(", "));
    issues.add("invalid_value", &item.path_of(name), message);
    None
}

impl Arguments {
    /// The findings under `name`, each with an id that `new_id` gives.
    pub fn findings(
        &self,
        name: &'static str,
        new_id: impl Fn() -> FindingId,
    ) -> Result<Vec<NewFinding>, Problem> {
        let items = self.0.get(name).and_then(Value::as_array);
        let found = items.ok_or_else(|| missing(name))?.iter();
        let found: Option<Vec<NewFinding>> = found
            .map(|item| finding(item.as_object()?, new_id()))
            .collect();
        found.ok_or_else(|| missing(name))
    }
}

fn finding(item: &Map<String, Value>, id: FindingId) -> Option<NewFinding> {
    let refs = item.get("refs")?.as_array()?.iter();
    Some(NewFinding {
        id,
        kind: of::<FindingKind>(item, "kind")?,
        severity: of::<Severity>(item, "severity")?,
        title: text(item.get("title")?)?,
        detail: text(item.get("detail")?)?,
        refs: refs.map(text).collect::<Option<_>>()?,
    })
}

fn of<T: DeserializeOwned>(item: &Map<String, Value>, name: &str) -> Option<T> {
    serde_json::from_value(item.get(name)?.clone()).ok()
}

fn text<const MAX: usize>(value: &Value) -> Option<Text<MAX>> {
    Text::parse(value.as_str()?).ok()
}
