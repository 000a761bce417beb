//! A turn's evidence is recorded whole or not at all.

use std::collections::HashSet;

use super::Evidence;
use super::command::TurnEvidence;
use super::error::EvidenceError;
use super::event::{EvidenceAdmitted, EvidenceEvent, ToolReceiptRecorded};
use super::item::{EvidenceItem, ToolReceipt};
use crate::sealed::Sealed;
use crate::text::utf16_len;
use crate::time::Stamp;

/// Receipts, and items, of one turn.
pub const TURN_LIMIT: usize = 256;
const REF_LENGTH: usize = 500;
const QUOTE_LENGTH: usize = 2000;
/// Titles, locators and the arguments of a call.
const LABEL_LENGTH: usize = 20_000;

pub(super) fn record(
    evidence: &Evidence,
    turn: &TurnEvidence,
    stamp: Stamp,
) -> Result<Vec<EvidenceEvent>, EvidenceError> {
    bounded("receipts", turn.receipts.len())?;
    bounded("items", turn.items.len())?;
    let mut receipts = HashSet::with_capacity(turn.receipts.len());
    for receipt in &turn.receipts {
        well_formed_receipt(receipt)?;
        let name = &receipt.receipt_ref;
        if evidence.receipts.contains_key(name) || !receipts.insert(name) {
            return Err(EvidenceError::DuplicateRef(name.clone()));
        }
    }
    let mut items = HashSet::with_capacity(turn.items.len());
    for item in &turn.items {
        well_formed_item(item)?;
        let name = &item.item_ref;
        if evidence.items.contains_key(name) || !items.insert(name) {
            return Err(EvidenceError::DuplicateRef(name.clone()));
        }
        if !receipts.contains(&item.receipt_ref)
            && !evidence.receipts.contains_key(&item.receipt_ref)
        {
            return Err(EvidenceError::UnknownReceipt(item.receipt_ref.clone()));
        }
    }
    Ok(events(turn, stamp))
}

fn events(turn: &TurnEvidence, stamp: Stamp) -> Vec<EvidenceEvent> {
    let receipts = turn.receipts.iter().map(|receipt| {
        EvidenceEvent::ToolReceiptRecorded(Box::new(ToolReceiptRecorded {
            at: stamp.at,
            turn_seq: turn.turn_seq,
            operation: turn.operation,
            receipt: receipt.clone(),
        }))
    });
    let items = turn.items.iter().map(|item| {
        EvidenceEvent::EvidenceAdmitted(Box::new(EvidenceAdmitted {
            at: stamp.at,
            turn_seq: turn.turn_seq,
            operation: turn.operation,
            item: item.clone(),
        }))
    });
    receipts.chain(items).collect()
}

fn bounded(what: &'static str, count: usize) -> Result<(), EvidenceError> {
    if count > TURN_LIMIT {
        return Err(EvidenceError::TooMany {
            what,
            limit: TURN_LIMIT,
        });
    }
    Ok(())
}

fn well_formed_receipt(receipt: &ToolReceipt) -> Result<(), EvidenceError> {
    name("receipt_ref", &receipt.receipt_ref)?;
    name("capability", &receipt.capability)?;
    length("arguments", &receipt.arguments, LABEL_LENGTH)
}

fn well_formed_item(item: &EvidenceItem) -> Result<(), EvidenceError> {
    name("item_ref", &item.item_ref)?;
    name("kind", &item.kind)?;
    length("title", &item.title, LABEL_LENGTH)?;
    length("locator", &item.locator, LABEL_LENGTH)?;
    length("quote", &item.quote, QUOTE_LENGTH)?;
    if item.span.start > item.span.end {
        return Err(EvidenceError::Malformed { field: "span" });
    }
    Ok(())
}

fn name(field: &'static str, text: &str) -> Result<(), EvidenceError> {
    let good = !text.is_empty()
        && text.trim() == text
        && utf16_len(text) <= REF_LENGTH
        && !text.chars().any(char::is_control);
    if good {
        Ok(())
    } else {
        Err(EvidenceError::Malformed { field })
    }
}

fn length(field: &'static str, text: &Sealed<String>, limit: usize) -> Result<(), EvidenceError> {
    let good = text
        .open()
        .is_none_or(|text| utf16_len(text) <= limit && !text.contains('\0'));
    if good {
        Ok(())
    } else {
        Err(EvidenceError::Malformed { field })
    }
}
