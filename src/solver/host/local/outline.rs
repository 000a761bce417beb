//! A document's outline: each heading with how its section begins.

use std::ops::Range;

use serde_json::{Value, json};

use super::{Open, part, within};
use crate::solver::host::call::Answered;
use crate::solver::host::{ToolHost, span};

/// Sections of one outline.
const SECTIONS: usize = 64;
/// Bytes of the beginning of one section.
const BEGINNING: u64 = 400;

impl ToolHost {
    pub(super) fn outline(&self, open: &Open) -> Answered {
        let document = &open.document;
        let mut sections: Vec<Value> = Vec::new();
        let mut handed = Vec::new();
        let mut last: Option<Option<Range<usize>>> = None;
        for block in &document.blocks {
            if sections.len() == SECTIONS {
                break;
            }
            if last.as_ref() == Some(&block.heading) {
                continue;
            }
            last = Some(block.heading.clone());
            let window = within(document, span(block.range.clone()), BEGINNING);
            handed.push((open.source, window));
            let mut section = part(document, window);
            section["heading"] = document.heading(block).into();
            sections.push(section);
        }
        let mut body = self.head(open.source);
        body["length"] = document.text.len().into();
        body["sections"] = json!(sections);
        Answered { body, handed }
    }
}
