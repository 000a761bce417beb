//! Markdown: prose by heading. The text keeps its marks, so that spans point into the file.
//!
//! The head of a table is the heading of its rows: by itself it says nothing.

use std::ops::Range;

use super::text::starts_item;
use super::{Extracted, title};
use crate::solver::corpora::Block;

pub(super) fn extract(text: String) -> Extracted {
    let mut blocks: Vec<Block> = Vec::new();
    let mut heading: Option<Range<usize>> = None;
    let mut columns: Option<Range<usize>> = None;
    let mut document_title = None;
    let mut state = State::Apart;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        let end = at + line.trim_end().len();
        at += line.len();
        if state == State::Row && is_table_rule(line) {
            columns = blocks.pop().map(|head| head.range);
            continue;
        }
        if !matches!(kind(line), Kind::Row) {
            columns = None;
        }
        match (kind(line), state) {
            (Kind::Fence, State::Fenced) => state = State::Apart,
            (_, State::Fenced) => {}
            (Kind::Fence, _) => state = State::Fenced,
            (Kind::Blank, _) => state = State::Apart,
            (Kind::Heading(skip), _) => {
                let range = start + skip..end.max(start + skip);
                document_title = document_title.or_else(|| title(&text[range.clone()]));
                heading = Some(range);
                state = State::Apart;
            }
            (Kind::Prose, State::Touching | State::Row) => {
                if let Some(open) = blocks.last_mut() {
                    open.range.end = end;
                }
            }
            (Kind::Prose, _) => {
                blocks.push(Block {
                    range: start..end,
                    heading: heading.clone(),
                });
                state = State::Touching;
            }
            (Kind::Row, _) => {
                blocks.push(Block {
                    range: start..end,
                    heading: columns.clone().or_else(|| heading.clone()),
                });
                state = State::Row;
            }
            (Kind::Item(skip), _) => {
                let range = (start + skip).min(end)..end;
                blocks.push(Block {
                    range,
                    heading: heading.clone(),
                });
                state = State::Touching;
            }
        }
    }
    blocks.retain(|block| !block.range.is_empty());
    Extracted {
        title: document_title,
        text,
        blocks,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Apart,
    Touching,
    /// Under a row of a table.
    Row,
    Fenced,
}

enum Kind {
    Blank,
    Fence,
    /// Bytes of the mark to skip.
    Heading(usize),
    Item(usize),
    Row,
    Prose,
}

fn kind(line: &str) -> Kind {
    let line = line.trim();
    let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
    if line.is_empty() || is_rule(line) {
        Kind::Blank
    } else if line.starts_with("```") || line.starts_with("~~~") {
        Kind::Fence
    } else if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
        Kind::Heading(hashes + 1)
    } else if line.starts_with('|') {
        Kind::Row
    } else if starts_item(line) {
        Kind::Item(line.find(' ').map_or(0, |space| space + 1))
    } else if line.starts_with("> ") {
        Kind::Item(2)
    } else {
        Kind::Prose
    }
}

fn is_table_rule(line: &str) -> bool {
    line.contains('|') && is_rule(line.trim())
}

/// A horizontal rule, or the line under the head of a table.
fn is_rule(line: &str) -> bool {
    line.len() >= 3
        && line
            .bytes()
            .all(|byte| matches!(byte, b'-' | b'=' | b'*' | b'_' | b'|' | b':' | b' '))
}
