//! Reading runs: snapshot, evidence bundle, events, list and log (`agent-api` 2.4, 3.2; settled
//! questions 36, 80, 81). Every read checks the caller's ledger row where the data is read.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helix_aggregates::agent::run::event::RunEvent;
use helix_aggregates::agent::run::status::Lifecycle;
use helix_aggregates::chain::Hash;
use helix_aggregates::ids::RunId;
use helix_aggregates::time::Timestamp;
use helix_projections::agent::run::event::{EventView, EventsPage};
use helix_projections::agent::run::list::{RunList, RunListEntry};
use serde_json::Value;
use uuid::Uuid;

use super::keyed::Reply;
use super::runs::{Runs, named};
use crate::app::caller::{Caller, SCOPE_READ};
use crate::app::problem::{Code, Problem};
use crate::store::StoreError;
use crate::store::guarded::{self, RunPageQuery};
use crate::store::log::{decode, open_row};
use crate::store::read::StoredEvent;
use crate::verify::run_log::{Entry, Head, Header, StoredBytes};

/// The longest a poll may wait.
pub const MAX_WAIT_MS: u64 = 25_000;

/// A validated events query.
#[derive(Debug, Clone, Copy)]
pub struct EventsQuery {
    pub after_seq: u64,
    /// 1 to 200.
    pub limit: usize,
    /// 0 to 25,000.
    pub wait_ms: u64,
}

/// A validated list query.
#[derive(Debug, Clone)]
pub struct RunsQuery {
    pub status: Option<String>,
    pub cursor: Option<String>,
    /// 1 to 100.
    pub limit: usize,
}

/// A run log being written out, a page at a time.
#[derive(Debug)]
pub struct RunLog {
    caller: Caller,
    run: RunId,
    /// The log ends here even if the run goes on meanwhile: its first line has said so.
    until: u64,
    after: u64,
    prev: Hash,
}

impl Runs {
    /// The run as it is now.
    pub async fn inspect(&self, caller: &Caller, run_id: &str) -> Result<Reply, Problem> {
        caller.require(SCOPE_READ)?;
        let run = named(caller, run_id)?;
        let found = self.find(caller, run).await?;
        let body = open_row(Some(&found.stream.key), found.stream.id, &found.head)?;
        let body = body.ok_or_else(|| Problem::new(Code::Internal).because("a run has no view"))?;
        Reply::of(200, body, false)
    }

    /// The evidence bundle: the same object as `run.evidence`.
    pub async fn evidence_bundle(&self, caller: &Caller, run_id: &str) -> Result<Value, Problem> {
        let reply = self.inspect(caller, run_id).await?;
        let mut run: Value = serde_json::from_slice(&reply.body)
            .map_err(|_| StoreError::Damaged("a stored view is not JSON".to_owned()))?;
        Ok(run["evidence"].take())
    }

    /// A page of events; waits up to `wait_ms` for the first one after the cursor.
    pub async fn events(
        &self,
        caller: &Caller,
        run_id: &str,
        query: EventsQuery,
    ) -> Result<EventsPage, Problem> {
        caller.require(SCOPE_READ)?;
        let run = named(caller, run_id)?;
        let mut watch = self.core.hub.watch(run.uuid());
        let mut revoked = self.core.hub.watch(caller.row_id);
        let deadline =
            tokio::time::Instant::now() + Duration::from_millis(query.wait_ms.min(MAX_WAIT_MS));
        loop {
            let heard = revoked.seen();
            let page = self.page(caller, run, query.after_seq, query.limit).await?;
            if !page.events.is_empty() || query.wait_ms == 0 {
                return Ok(page);
            }
            tokio::select! {
                () = watch.past(query.after_seq) => {}
                () = revoked.past(heard) => {}
                // The credential may have died unheard during the wait.
                () = tokio::time::sleep_until(deadline) => {
                    return self.page(caller, run, query.after_seq, query.limit).await;
                }
            }
        }
    }

    /// One page, without waiting.
    pub async fn page(
        &self,
        caller: &Caller,
        run: RunId,
        after: u64,
        limit: usize,
    ) -> Result<EventsPage, Problem> {
        let one_more = i64::try_from(limit + 1).unwrap_or(i64::MAX);
        let stored = self.stored(caller, run, after, one_more).await?;
        let mut events = Vec::with_capacity(stored.len());
        for event in &stored {
            let decoded: RunEvent = decode(run.uuid(), Some(&caller.key), event)?;
            let at = Timestamp::parse(&event.at)
                .ok_or_else(|| StoreError::Damaged("an event has no time".to_owned()))?;
            events.push(EventView::of(run, event.seq, at, &decoded));
        }
        Ok(EventsPage::of(run, after, limit, events))
    }

    async fn stored(
        &self,
        caller: &Caller,
        run: RunId,
        after: u64,
        limit: i64,
    ) -> Result<Vec<StoredEvent>, Problem> {
        let reader = caller.reader();
        let seen = guarded::page(
            &self.core.reads,
            &reader,
            caller.lane,
            run.uuid(),
            after,
            limit,
        )
        .await?;
        let (_, events) = seen.found.ok_or_else(|| Problem::new(Code::NotFound))?;
        Ok(events)
    }

    /// The id in a path, for doors that follow a run.
    pub fn named(&self, caller: &Caller, run_id: &str) -> Result<RunId, Problem> {
        caller.require(SCOPE_READ)?;
        named(caller, run_id)
    }

    /// The last event's number, and whether nothing more can happen to the run.
    pub async fn standing(&self, caller: &Caller, run: RunId) -> Result<(u64, bool), Problem> {
        let found = self.find(caller, run).await?;
        let ended = Lifecycle::parse(&found.head.status).is_some_and(Lifecycle::is_terminal);
        Ok((found.head.version, ended))
    }

    /// The caller's runs, newest first.
    pub async fn list(&self, caller: &Caller, query: &RunsQuery) -> Result<RunList, Problem> {
        caller.require(SCOPE_READ)?;
        let before = query
            .cursor
            .as_deref()
            .map(|cursor| self.open_cursor(caller, query, cursor))
            .transpose()?;
        let asked = RunPageQuery {
            status: query.status.as_deref(),
            before,
            limit: i64::try_from(query.limit + 1).unwrap_or(101),
        };
        let mut rows =
            guarded::runs(&self.core.reads, &caller.reader(), caller.lane, &asked).await?;
        let more = rows.len() > query.limit;
        rows.truncate(query.limit);
        let next_cursor = rows
            .last()
            .filter(|_| more)
            .map(|(stream, head)| self.cursor(caller, query, head.created_at_ms, *stream));
        let mut runs = Vec::with_capacity(rows.len());
        for (stream, head) in &rows {
            if let Some(body) = open_row(Some(&caller.key), *stream, head)? {
                runs.push(
                    RunListEntry::of_view(&body).map_err(|_| {
                        StoreError::Damaged("a stored view is not a run".to_owned())
                    })?,
                );
            }
        }
        Ok(RunList::of(runs, next_cursor))
    }

    /// A cursor belongs to its owner and filter: a MAC over all of it says so.
    fn cursor(&self, caller: &Caller, query: &RunsQuery, created_ms: i64, stream: Uuid) -> String {
        let mut bytes = created_ms.to_be_bytes().to_vec();
        bytes.extend_from_slice(stream.as_bytes());
        let mac = self.cursor_mac(caller, query, &bytes);
        bytes.extend_from_slice(&mac[..16]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn open_cursor(
        &self,
        caller: &Caller,
        query: &RunsQuery,
        cursor: &str,
    ) -> Result<(i64, Uuid), Problem> {
        let invalid = || Problem::invalid("The cursor is not valid for this list.");
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| invalid())?;
        let (place, mac) = bytes.split_at_checked(24).ok_or_else(invalid)?;
        let expected = self.cursor_mac(caller, query, place);
        if mac != &expected[..16] {
            return Err(invalid());
        }
        let created = place[..8]
            .try_into()
            .map(i64::from_be_bytes)
            .map_err(|_| invalid())?;
        let stream = Uuid::from_slice(&place[8..]).map_err(|_| invalid())?;
        Ok((created, stream))
    }

    fn cursor_mac(&self, caller: &Caller, query: &RunsQuery, place: &[u8]) -> [u8; 32] {
        let status = query.status.as_deref().unwrap_or("");
        self.core.keyring.mac(
            "run-list-cursor",
            &[caller.owner_key.as_bytes(), status.as_bytes(), place],
        )
    }

    /// Opens the proof of a run: the first line, and the rest to be drawn by [`Self::log_page`].
    pub async fn run_log(
        &self,
        caller: &Caller,
        run_id: &str,
    ) -> Result<(Vec<u8>, RunLog), Problem> {
        caller.require(SCOPE_READ)?;
        let run = named(caller, run_id)?;
        let found = self.find(caller, run).await?;
        let (until, head) = (found.head.version, found.head.head);
        // A clock that was set back must not make a log look older than its last event.
        let exported_at = found
            .stamp
            .at
            .max(Timestamp::from_millis(found.head.updated_at_ms));
        let first = Header::new(
            run,
            exported_at,
            Head {
                seq: until,
                hash: head,
            },
        );
        let log = RunLog {
            caller: caller.clone(),
            run,
            until,
            after: 0,
            prev: Hash::ZERO,
        };
        Ok((first.to_line().map_err(|error| unwritable(&error))?, log))
    }

    /// The next lines of a log, `None` at its end.
    pub async fn log_page(&self, log: &mut RunLog) -> Result<Option<Vec<u8>>, Problem> {
        let left = log.until.saturating_sub(log.after);
        if left == 0 {
            return Ok(None);
        }
        let limit = i64::try_from(left.min(500)).unwrap_or(500);
        let events = self.stored(&log.caller, log.run, log.after, limit).await?;
        let mut lines = Vec::new();
        for event in &events {
            let at = Timestamp::parse(&event.at)
                .ok_or_else(|| StoreError::Damaged("an event has no time".to_owned()))?;
            let entry = Entry {
                seq: event.seq,
                kind: event.kind.clone(),
                ver: event.ver,
                at,
                payload: StoredBytes(event.payload.clone()),
                meta: StoredBytes(event.meta.clone()),
                prev: log.prev,
                hash: event.hash,
            };
            lines.extend(entry.to_line().map_err(|error| unwritable(&error))?);
            (log.after, log.prev) = (event.seq, event.hash);
        }
        Ok((!events.is_empty()).then_some(lines))
    }
}

fn unwritable(error: &serde_json::Error) -> Problem {
    StoreError::Damaged(format!(
        "a log line cannot be written ({:?})",
        error.classify()
    ))
    .into()
}
