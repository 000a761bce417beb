//! Events of a run by page, long poll and event stream; and its log as a download.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use helix_aggregates::agent::run::event::ends_run;
use helix_aggregates::ids::RunId;
use helix_projections::agent::run::event::EventView;
use serde_json::{Value, json};

use super::runs::{no_parameters, segment};
use crate::app::agent::reads::{EventsQuery, MAX_WAIT_MS, RunLog};
use crate::app::caller::{Caller, SCOPE_READ};
use crate::app::problem::{Code, Problem};
use crate::app::redaction;
use crate::http::door::{Door, Doors, Readiness};
use crate::http::permits::Demand;
use crate::http::pipeline::{self, Admitted, accepts, header_text};
use crate::http::query::Query;
use crate::http::respond;

/// A comment keeps proxies from cutting a quiet stream.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often an open stream looks at its caller's ledger row (`access` 2).
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// Events sent in one piece.
const BATCH: usize = 100;

pub async fn events(
    Door(door): Door,
    readiness: Data<Readiness>,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        demand_of(&request),
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_READ)?;
            let query = events_query(&admitted.query)?;
            let run = segment(&request, "run_id");
            if accepts(&request, "text/event-stream") {
                return stream(
                    &door,
                    readiness.get_ref(),
                    &request,
                    admitted.caller,
                    &run,
                    query,
                )
                .await;
            }
            let page = tokio::select! {
                page = door.runs.events(&admitted.caller, &run, query) => page?,
                () = readiness.drained() => {
                    let now = EventsQuery { wait_ms: 0, ..query };
                    door.runs.events(&admitted.caller, &run, now).await?
                }
            };
            respond::value(&page)
        },
    )
    .await
}

/// A page that is asked for without a wait is a read like any other, as it is by tool.
fn demand_of(request: &HttpRequest) -> Demand {
    let waits = request.query_string().contains("wait_ms");
    if waits || accepts(request, "text/event-stream") {
        Demand::Waiting
    } else {
        Demand::Ordinary
    }
}

fn events_query(query: &Query) -> Result<EventsQuery, Problem> {
    let mut read = query.read();
    let after_seq = read.integer("after_seq", 0, u64::MAX >> 11, 0);
    let limit = read.integer("limit", 1, 200, 100);
    let wait_ms = read.integer("wait_ms", 0, MAX_WAIT_MS, 0);
    read.finish()?;
    Ok(EventsQuery {
        after_seq,
        limit: usize::try_from(limit).unwrap_or(100),
        wait_ms,
    })
}

/// An open event stream: where it stands and whom it serves.
struct Following {
    door: Arc<Doors>,
    readiness: Readiness,
    caller: Caller,
    run: RunId,
    after: u64,
    ended: bool,
    quiet_since: tokio::time::Instant,
}

async fn stream(
    door: &Arc<Doors>,
    readiness: &Readiness,
    request: &HttpRequest,
    caller: Caller,
    run_id: &str,
    query: EventsQuery,
) -> Result<HttpResponse, Problem> {
    let run = door.runs.named(&caller, run_id)?;
    let resumed = header_text(request, "last-event-id").and_then(|id| id.parse::<u64>().ok());
    let after = resumed.unwrap_or(query.after_seq);
    // The first page also answers for the run's existence, before any byte of a stream is sent.
    let first = door.runs.page(&caller, run, after, 1).await?;
    let mut after = after;
    if first.events.is_empty() {
        let (last, ended) = door.runs.standing(&caller, run).await?;
        if ended {
            // Nothing can follow: 204 tells a browser not to connect again.
            return Ok(HttpResponse::NoContent().finish());
        }
        // A position beyond the end would wait for an event that is not the next.
        after = after.min(last);
    }
    let following = Following {
        door: Arc::clone(door),
        readiness: readiness.clone(),
        caller,
        run,
        after,
        ended: false,
        quiet_since: tokio::time::Instant::now(),
    };
    let body = futures_util::stream::unfold(following, |mut following| async move {
        let piece = following.next().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), following))
    });
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(body))
}

impl Following {
    /// The next piece to send; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let door = Arc::clone(&self.door);
        let hub = &door.runs.core().hub;
        let mut watch = hub.watch(self.run.uuid());
        let mut revoked = hub.watch(self.caller.row_id);
        loop {
            let heard = revoked.seen();
            if self.readiness.is_draining() {
                return Some(self.close("server_stopping"));
            }
            let page = match door
                .runs
                .page(&self.caller, self.run, self.after, BATCH)
                .await
            {
                Ok(page) => page,
                Err(problem) => {
                    let code = if problem.code == Code::CredentialEnded {
                        self.caller.ended()
                    } else {
                        problem.code
                    };
                    return Some(self.close(code.row().code));
                }
            };
            if let Some(last) = page.events.last() {
                self.after = last.seq;
                self.quiet_since = tokio::time::Instant::now();
                self.ended = page.events.iter().any(|event| ends_run(event.event_type));
                let mut text: String = page.events.iter().map(framed).collect();
                if self.ended {
                    text.push_str("event: closed\ndata: {\"reason\":\"run_ended\"}\n\n");
                }
                return Some(Bytes::from(text));
            }
            if self.quiet_since.elapsed() >= HEARTBEAT {
                self.quiet_since = tokio::time::Instant::now();
                return Some(Bytes::from_static(b": still here\n\n"));
            }
            // Woken by a commit, by a revocation, by a stop, or to look at the ledger row again.
            tokio::select! {
                () = watch.past(self.after) => {}
                () = self.readiness.drained() => {}
                () = revoked.past(heard) => {}
                () = tokio::time::sleep(CHECK_EVERY) => {}
            }
        }
    }

    fn close(&mut self, code: &str) -> Bytes {
        self.ended = true;
        Bytes::from(format!(
            "event: closed\ndata: {}\n\n",
            json!({"error": code})
        ))
    }
}

fn framed(event: &EventView) -> String {
    let mut value = serde_json::to_value(event).unwrap_or(Value::Null);
    redaction::redact(&mut value);
    format!(
        "id: {}\nevent: {}\ndata: {value}\n\n",
        event.seq, event.event_type
    )
}

pub async fn log(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        Demand::Waiting,
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_READ)?;
            no_parameters(&admitted.query)?;
            let run = segment(&request, "run_id");
            let (first, log) = door.runs.run_log(&admitted.caller, &run).await?;
            let state = (Arc::clone(&door), log, Some(first));
            let body = futures_util::stream::unfold(state, |(door, mut log, first)| async move {
                let piece = next_piece(&door, &mut log, first).await?;
                Some((piece, (door, log, None)))
            });
            let name = format!("attachment; filename=\"{run}.ndjson\"");
            Ok(HttpResponse::Ok()
                .content_type("application/x-ndjson")
                .insert_header((header::CONTENT_DISPOSITION, name))
                .streaming(body))
        },
    )
    .await
}

/// An error cuts the download short: a reader sees a broken transfer, never a shorter proof.
async fn next_piece(
    door: &Doors,
    log: &mut RunLog,
    first: Option<Vec<u8>>,
) -> Option<Result<Bytes, std::io::Error>> {
    if let Some(first) = first {
        return Some(Ok(Bytes::from(first)));
    }
    match door.runs.log_page(log).await {
        Ok(Some(lines)) => Some(Ok(Bytes::from(lines))),
        Ok(None) => None,
        Err(problem) => Some(Err(std::io::Error::other(problem.code.row().code))),
    }
}
