//! Refuses what would end the process: drawings that contain themselves, or nest without end.

use std::collections::BTreeMap;

use pdf_extract::{Dictionary, Document, Object, ObjectId};

use super::CORRUPT;
use crate::solver::corpora::CorpusFault;

/// How deep drawings may nest.
const DEPTH_LIMIT: usize = 24;

/// Checks the nesting of a file's form objects.
pub(super) fn check(bytes: &[u8]) -> Result<(), CorpusFault> {
    let document = Document::load_mem(bytes).map_err(|_| CORRUPT)?;
    let inside: BTreeMap<ObjectId, Vec<ObjectId>> = document
        .objects
        .iter()
        .filter_map(|(id, object)| Some((*id, drawn_by(&document, *id, object)?)))
        .collect();
    // Peel off drawings whose contents are all peeled; what remains after enough rounds is a
    // cycle or too deep.
    let mut open = inside;
    for _ in 0..DEPTH_LIMIT {
        let kept: Vec<ObjectId> = open.keys().copied().collect();
        open.retain(|_, inner| inner.iter().any(|id| kept.contains(id)));
        if open.is_empty() {
            return Ok(());
        }
    }
    Err(CORRUPT)
}

/// The drawings that a drawing may draw; `None` for any other object.
fn drawn_by(document: &Document, id: ObjectId, object: &Object) -> Option<Vec<ObjectId>> {
    let stream = object.as_stream().ok()?;
    if stream.dict.get(b"Subtype").ok()?.as_name().ok()? != b"Form" {
        return None;
    }
    let Some(resources) = dictionary(document, stream.dict.get(b"Resources").ok()) else {
        // It uses the resources of whatever draws it, which may hold itself.
        let content = stream.get_plain_content().ok()?;
        let draws = content.windows(2).any(|pair| pair == b"Do");
        return Some(if draws { vec![id] } else { Vec::new() });
    };
    let drawings = dictionary(document, resources.get(b"XObject").ok());
    let named = drawings.into_iter().flat_map(|drawings| drawings.iter());
    Some(
        named
            .filter_map(|(_, drawing)| drawing.as_reference().ok())
            .collect(),
    )
}

fn dictionary<'a>(document: &'a Document, object: Option<&'a Object>) -> Option<&'a Dictionary> {
    let (_, object) = document.dereference(object?).ok()?;
    object.as_dict().ok()
}
