//! Proposals for the contract's output fields: values that stand in a quoted sentence.

use std::collections::BTreeSet;

use super::contradictions::Contradiction;
use super::rank::{Ranked, Scored};
use super::values::Kind;
use crate::solver::corpora::words;
use crate::solver::finaliser::OWN_FIELDS;
use crate::solver::seam::{Draft, FieldProposal, SpanIndex, TurnInput};

/// Proposes what it can, and names each field it finds no value for.
pub(super) fn propose(
    input: &TurnInput,
    ranked: &Ranked,
    conflicts: &[Contradiction],
    draft: &mut Draft,
) {
    let contested: BTreeSet<usize> = conflicts
        .iter()
        .flat_map(|found| [found.first, found.second])
        .collect();
    let mut usable: Vec<(&Scored, SpanIndex)> = Vec::new();
    for (place, scored) in ranked.relevant().iter().enumerate() {
        let span = draft.spans.iter().position(|span| {
            span.source == scored.sentence.source && span.span == scored.sentence.span
        });
        if let Some(span) = span
            && !contested.contains(&place)
        {
            usable.push((scored, span));
        }
    }
    for field in input
        .required_output_fields
        .iter()
        .filter(|field| !OWN_FIELDS.contains(&field.as_str()))
    {
        match value(field, &usable) {
            Some((value, span)) => {
                draft.fields.push(FieldProposal {
                    field: field.clone(),
                    value,
                    spans: vec![span],
                });
            }
            None => draft.unresolved.push(without_value(field)),
        }
    }
}

/// What is missing when no passage gives a field its value.
pub(in crate::solver) fn without_value(field: &str) -> String {
    format!("No quoted passage settles the output field {field}.")
}

fn value(field: &str, usable: &[(&Scored, SpanIndex)]) -> Option<(String, SpanIndex)> {
    let stems: BTreeSet<String> = words::words(field).map(|word| word.stem).collect();
    if stems
        .iter()
        .any(|stem| ["answer", "quote", "quot", "statement"].contains(&stem.as_str()))
    {
        return usable
            .first()
            .map(|(scored, span)| (one_line(&scored.sentence.quote), *span));
    }
    let kinds = kinds(&stems);
    // Among equally ranked sentences the one that speaks of the field comes first.
    let mut order: Vec<&(&Scored, SpanIndex)> = usable.iter().collect();
    order.sort_by_key(|(scored, _)| {
        std::cmp::Reverse(scored.sentence.stems.intersection(&stems).count())
    });
    order.into_iter().find_map(|(scored, span)| {
        let found = scored
            .sentence
            .values
            .iter()
            .find(|value| kinds.contains(&value.kind))?;
        let text = scored.sentence.quote.get(found.range.clone())?;
        Some((one_line(text), *span))
    })
}

fn kinds(stems: &BTreeSet<String>) -> Vec<Kind> {
    let names = |words: &[&str]| words.iter().any(|word| stems.contains(&words::stem(word)));
    let rules: [(bool, &[Kind]); 6] = [
        (
            names(&["time", "departure", "arrival", "hour", "opening", "closing"]),
            &[Kind::Time],
        ),
        (
            names(&["date", "day", "deadline", "start", "end"]),
            &[Kind::Date],
        ),
        (names(&["year", "built"]), &[Kind::Year]),
        (
            names(&["price", "fare", "fee", "amount", "budget"]),
            &[Kind::Money],
        ),
        (names(&["percent", "percentage", "share"]), &[Kind::Percent]),
        (
            names(&[
                "height", "length", "depth", "distance", "duration", "weight", "speed", "number",
                "count",
            ]),
            &[Kind::Measure, Kind::Count],
        ),
    ];
    rules
        .into_iter()
        .filter(|(named, _)| *named)
        .flat_map(|(_, kinds)| kinds.iter().copied())
        .collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
