//! HTML: the text a reader sees, block by block.

use std::ops::Range;

use scraper::node::Element;
use scraper::{Html, Node};

use super::{Extracted, title};
use crate::solver::corpora::{Block, CorpusFault};

const SKIPPED: &[&str] = &[
    "script", "style", "noscript", "template", "head", "svg", "math", "iframe", "object", "select",
    "textarea", "button", "nav",
];
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u",
    "var", "wbr", "tt", "big",
];

pub(super) fn extract(source: &str) -> Result<Extracted, CorpusFault> {
    let html = Html::parse_document(source);
    let mut page = Page::default();
    // A flat walk: pages nest deeper than a stack is.
    let mut node = html.tree.root();
    'walk: loop {
        page.enter(node.value());
        if let Some(child) = node.first_child() {
            node = child;
            continue;
        }
        loop {
            page.leave(node.value());
            if let Some(next) = node.next_sibling() {
                node = next;
                break;
            }
            let Some(parent) = node.parent() else {
                break 'walk;
            };
            node = parent;
        }
    }
    page.finish_block();
    let named = scraper::Selector::parse("title").ok().and_then(|selector| {
        html.select(&selector)
            .next()
            .map(|found| found.text().collect::<String>())
    });
    let first_heading = page
        .first_heading
        .clone()
        .and_then(|range| page.text.get(range).map(str::to_owned));
    let document_title = named
        .as_deref()
        .and_then(title)
        .or_else(|| first_heading.as_deref().and_then(title));
    if page.blocks.is_empty() {
        return Err(CorpusFault::NoText { format: "HTML" });
    }
    Ok(Extracted {
        title: document_title,
        text: page.text,
        blocks: page.blocks,
    })
}

fn is_skipped(element: &Element) -> bool {
    SKIPPED.contains(&element.name())
        || element.attr("hidden").is_some()
        || element.attr("aria-hidden") == Some("true")
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

#[derive(Default)]
struct Page {
    text: String,
    blocks: Vec<Block>,
    heading: Option<Range<usize>>,
    first_heading: Option<Range<usize>>,
    block_start: usize,
    in_heading: bool,
    /// The head of the table that is open: the heading of its rows.
    columns: Option<Range<usize>>,
    row: Row,
    /// How many skipped elements are open.
    skipping: u32,
}

/// What the open row of a table holds.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Row {
    #[default]
    Empty,
    HeadsOnly,
    Cells,
}

impl Page {
    fn enter(&mut self, node: &Node) {
        if let Node::Element(element) = node
            && is_skipped(element)
        {
            self.skipping += 1;
        }
        if self.skipping > 0 {
            return;
        }
        if let Node::Element(element) = node {
            self.open(element.name());
        } else if let Node::Text(text) = node {
            self.push(text);
        }
    }

    fn leave(&mut self, node: &Node) {
        let Node::Element(element) = node else { return };
        if is_skipped(element) {
            self.skipping = self.skipping.saturating_sub(1);
        } else if self.skipping == 0 {
            self.close(element.name());
        }
    }

    fn open(&mut self, name: &str) {
        if matches!(name, "td" | "th") {
            self.push(" ");
            self.row = match (name, self.row) {
                ("th", Row::Empty | Row::HeadsOnly) => Row::HeadsOnly,
                _ => Row::Cells,
            };
        } else if !INLINE.contains(&name) {
            self.finish_block();
            self.row = Row::Empty;
            self.in_heading = is_heading(name);
        }
    }

    fn close(&mut self, name: &str) {
        if matches!(name, "td" | "th") {
            self.push(" ");
        } else if !INLINE.contains(&name) {
            self.finish_block();
            self.row = Row::Empty;
            self.in_heading = false;
            if name == "table" {
                self.columns = None;
            }
        }
    }

    /// Adds text with every run of white space as one blank.
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            let c = if c.is_whitespace() || c == '\0' {
                ' '
            } else {
                c
            };
            let blank_before = self.text.len() == self.block_start || self.text.ends_with(' ');
            if c != ' ' || !blank_before {
                self.text.push(c);
            }
        }
    }

    fn finish_block(&mut self) {
        let end = self.block_start + self.text[self.block_start..].trim_end().len();
        self.text.truncate(end);
        if end == self.block_start {
            return;
        }
        let range = self.block_start..end;
        if self.in_heading {
            self.first_heading.get_or_insert(range.clone());
            self.heading = Some(range);
        } else if self.row == Row::HeadsOnly {
            self.columns = Some(range);
        } else {
            let columns = self.columns.clone();
            self.blocks.push(Block {
                range,
                heading: columns.or_else(|| self.heading.clone()),
            });
        }
        self.text.push('\n');
        self.block_start = self.text.len();
    }
}
