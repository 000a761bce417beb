//! Sentences with exact byte spans.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::solver::corpora::floor_boundary;

/// Longer sentences are cut at a character.
const SENTENCE_BYTES: usize = 1000;
const ABBREVIATIONS: &[&str] = &[
    "st", "mr", "mrs", "ms", "dr", "prof", "no", "nr", "vs", "approx", "ca", "e.g", "i.e", "cf",
    "fig", "dept", "inc", "ltd", "kl",
];

/// The sentences of one block of a text, in order; each range lies on character boundaries.
pub(in crate::solver) fn split(text: &str, block: Range<usize>) -> Vec<Range<usize>> {
    let Some(raw) = text.get(block.clone()) else {
        return Vec::new();
    };
    // A line break ends no sentence in prose; each byte keeps its place.
    let flat = raw.replace(['\n', '\r', '\t'], " ");
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut joined = false;
    for (at, piece) in flat.split_sentence_bound_indices() {
        let start = block.start + at + (piece.len() - piece.trim_start().len());
        let end = block.start + at + piece.trim_end().len();
        if start >= end {
            continue;
        }
        match ranges.last_mut() {
            Some(open) if joined => open.end = end,
            _ => ranges.push(start..end),
        }
        joined = ends_in_abbreviation(piece);
    }
    ranges
        .into_iter()
        .map(|range| bounded(text, range))
        .collect()
}

fn bounded(text: &str, range: Range<usize>) -> Range<usize> {
    let end = range
        .end
        .min(floor_boundary(text, range.start + SENTENCE_BYTES));
    range.start..end
}

fn ends_in_abbreviation(piece: &str) -> bool {
    let Some(before) = piece.trim_end().strip_suffix('.') else {
        return false;
    };
    let last = before
        .rsplit(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or_default();
    let initial = last.chars().count() == 1 && last.starts_with(char::is_uppercase);
    initial || ABBREVIATIONS.contains(&last.to_lowercase().as_str())
}

/// A sentence as it is shown: on one line, without markup, and without anything that looks like a
/// mark of the digest.
pub(super) fn display(quote: &str) -> String {
    let plain = quote.replace("**", "").replace('`', "");
    let line = plain
        .split_whitespace()
        .filter(|word| *word != "|")
        .collect::<Vec<_>>()
        .join(" ");
    without_links(&without_emphasis(line.trim_matches('|').trim()))
}

/// Drops each `*` that opens or closes a word; one between words or digits stays.
fn without_emphasis(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut before = false;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().is_some_and(|next| next.is_alphanumeric());
        if c != '*' || before == after {
            out.push(c);
        }
        before = c.is_alphanumeric();
    }
    out
}

/// `[text](target)` becomes `text`; any other bracket becomes a round one.
fn without_links(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find(['[', ']']) {
        out.push_str(&rest[..open]);
        let target = rest[open..].strip_prefix('[').and_then(|inner| {
            let (text, after) = inner.split_once("](")?;
            let (_, after) = after.split_once(')')?;
            (!text.contains(['[', ']'])).then_some((text, after))
        });
        if let Some((text, after)) = target {
            out.push_str(text);
            rest = after;
        } else {
            out.push(if rest[open..].starts_with('[') {
                '('
            } else {
                ')'
            });
            rest = &rest[open + 1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wrapped_lines_and_abbreviations_end_no_sentence() {
        let text = "The ferry to St. Olav\nleaves at 07:10. It returns\r\nat noon.";
        let found: Vec<&str> = split(text, 0..text.len())
            .into_iter()
            .map(|r| &text[r])
            .collect();
        assert_eq!(
            found,
            [
                "The ferry to St. Olav\nleaves at 07:10.",
                "It returns\r\nat noon."
            ]
        );
    }

    #[test]
    fn shown_sentences_hold_no_marks() {
        assert_eq!(
            display("**Open** from [the quay](q.md) [12] `now`\n today"),
            "Open from the quay (12) now today"
        );
    }

    proptest! {
        #[test]
        fn spans_ascend_and_lie_on_characters(text in "\\PC{0,200}") {
            let mut last = 0;
            for range in split(&text, 0..text.len()) {
                prop_assert!(range.start >= last && range.start < range.end);
                prop_assert!(text.get(range.clone()).is_some());
                last = range.end;
            }
        }
    }
}
