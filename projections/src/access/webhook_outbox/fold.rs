//! Events of a run → what there is to tell. Pure.

use helix_aggregates::access::webhook::kind::{NoticeKind, ends_step};
use helix_aggregates::agent::run::Run;
use helix_aggregates::agent::run::event::RunEvent;
use helix_aggregates::agent::run::status::{Completion, Lifecycle};
use helix_aggregates::agent::run::turn::TerminalAuthority;
use helix_aggregates::decider::Decider;
use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use serde::Serialize;

/// The state a run came to with one event. Holds ids, numbers and statuses, no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    pub kind: NoticeKind,
    pub at: Timestamp,
    pub data: NoticeData,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NoticeData {
    pub run_id: RunId,
    pub version: u64,
    pub lifecycle_status: Lifecycle,
    pub completion_status: Completion,
    pub terminal_authority_status: TerminalAuthority,
    pub seq: u64,
}

#[derive(Serialize)]
struct Message<T> {
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: Timestamp,
    data: T,
}

impl Notice {
    /// Folds the event at `seq` and says what it leaves to tell.
    pub fn after(
        run: &mut Run,
        run_id: RunId,
        seq: u64,
        at: Timestamp,
        event: &RunEvent,
    ) -> Option<Self> {
        run.evolve(event);
        if !ends_step(event) {
            return None;
        }
        let (lifecycle, completion) = (run.lifecycle()?, run.completion()?);
        let body = run.body()?;
        Some(Self {
            kind: NoticeKind::of(lifecycle, completion)?,
            at,
            data: NoticeData {
                run_id,
                version: body.version,
                lifecycle_status: lifecycle,
                completion_status: completion,
                terminal_authority_status: body.terminal_authority,
                seq,
            },
        })
    }

    /// The bytes that are sent, the same for every endpoint and attempt.
    pub fn body(&self) -> Result<Vec<u8>, serde_json::Error> {
        message(self.kind.as_str(), self.at, self.data)
    }
}

/// A message in the envelope of Standard Webhooks.
pub fn message(
    kind: &'static str,
    timestamp: Timestamp,
    data: impl Serialize,
) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Message {
        kind,
        timestamp,
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_spelled_as_the_contract_fixes_it() {
        let notice = Notice {
            kind: NoticeKind::NeedsInput,
            at: Timestamp::from_millis(1_796_040_000_000),
            data: NoticeData {
                run_id: RunId::new(uuid::Uuid::from_u128(1)),
                version: 3,
                lifecycle_status: Lifecycle::Waiting,
                completion_status: Completion::NeedsInput,
                terminal_authority_status: TerminalAuthority::NotEvaluated,
                seq: 5,
            },
        };
        let body = String::from_utf8(notice.body().unwrap()).unwrap();
        assert_eq!(
            body,
            "{\"type\":\"run.needs_input\",\"timestamp\":\"2026-11-30T12:00:00.000Z\",\"data\":{\
             \"run_id\":\"run_00000000-0000-0000-0000-000000000001\",\"version\":3,\
             \"lifecycle_status\":\"waiting\",\"completion_status\":\"needs_input\",\
             \"terminal_authority_status\":\"not_evaluated\",\"seq\":5}}"
        );
    }
}
