//! The one arm of a workspace's record.

use super::command::{AuditCommand, NewEntry};
use super::error::AuditError;
use super::event::{AuditEvent, OperationRecorded};
use super::{Audit, Hashed};
use crate::sealed::Sealed;
use crate::text::without_controls;
use crate::time::Stamp;

pub(super) fn decide(
    audit: &Audit,
    command: &AuditCommand,
    stamp: Stamp,
) -> Result<Vec<AuditEvent>, AuditError> {
    match command {
        AuditCommand::Record(entry) => record(audit, entry, stamp),
    }
}

fn record(audit: &Audit, entry: &NewEntry, stamp: Stamp) -> Result<Vec<AuditEvent>, AuditError> {
    let prev = audit.head.open().ok_or(AuditError::Closed)?;
    let plain = |text: &str| match without_controls(text) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(AuditError::Control),
    };
    let client = plain(entry.client.as_str())?;
    let detail = plain(entry.detail.as_str())?;
    let seq = audit.seq + 1;
    let hashed = Hashed {
        seq,
        at: stamp.at,
        client: &client,
        action: entry.action,
        detail: &detail,
        prev,
    };
    let hash = hashed.hash();
    Ok(vec![AuditEvent::Recorded(OperationRecorded {
        at: stamp.at,
        seq,
        action: entry.action,
        by: entry.by,
        client: Sealed::Open(client),
        detail: Sealed::Open(detail),
        prev: Sealed::Open(prev.clone()),
        hash: Sealed::Open(hash),
    })])
}
