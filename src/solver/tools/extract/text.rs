//! Plain text: paragraphs between blank lines.

use std::ops::Range;

use super::{Extracted, title};
use crate::solver::corpora::Block;

pub(super) fn extract(text: String) -> Extracted {
    let blocks = paragraphs(&text)
        .map(|range| Block {
            range,
            heading: None,
        })
        .collect();
    let title = first_line(&text).and_then(title);
    Extracted {
        title,
        text,
        blocks,
    }
}

/// The first line, when it reads like a title: short, and followed by a blank line.
fn first_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next()?.trim();
    let alone = lines
        .next()
        .is_none_or(|line| is_blank(line) || is_rule(line));
    (alone && first.len() <= 120 && !first.ends_with('.')).then_some(first)
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3
        && line
            .bytes()
            .all(|byte| matches!(byte, b'-' | b'=' | b'~' | b'*' | b'_'))
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Ranges of lines that touch, without surrounding white space.
pub(super) fn paragraphs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut touching = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        let end = at + line.trim_end().len();
        at += line.len();
        if is_blank(line) || is_rule(line) {
            touching = false;
            continue;
        }
        match ranges.last_mut() {
            Some(open) if touching && !starts_item(line) => open.end = end,
            _ => ranges.push(start..end),
        }
        touching = true;
    }
    ranges.into_iter()
}

/// Whether a line begins a list item of its own.
pub(super) fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    ["- ", "* ", "+ ", "\u{2022} "]
        .iter()
        .any(|mark| line.starts_with(mark))
        || (digits > 0
            && digits <= 3
            && [". ", ") "]
                .iter()
                .any(|mark| line[digits..].starts_with(mark)))
}
