//! Routes of runs: parse, call, render.

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use helix_aggregates::agent::run::status::Lifecycle;

use crate::app::agent::reads::RunsQuery;
use crate::app::agent::request::{CancelRequest, ContinueRequest, StartRequest};
use crate::app::caller::{SCOPE_READ, SCOPE_WRITE};
use crate::app::idempotency::IdempotencyKey;
use crate::app::problem::Problem;
use crate::http::door::Door;
use crate::http::permits::Demand;
use crate::http::pipeline::{self, Admitted};
use crate::http::query::{Query, percent_decoded};
use crate::http::respond;

pub async fn start(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        Demand::Ordinary,
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_WRITE)?;
            let body = StartRequest::parse(&admitted.body)?;
            no_parameters(&admitted.query)?;
            let key = key_of(&request)?;
            respond::keyed(&door.runs.start(&admitted.caller, &key, body).await?)
        },
    )
    .await
}

pub async fn continue_run(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        Demand::Waiting,
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_WRITE)?;
            let body = ContinueRequest::parse(&admitted.body)?;
            no_parameters(&admitted.query)?;
            let key = key_of(&request)?;
            let run = segment(&request, "run_id");
            respond::keyed(
                &door
                    .runs
                    .continue_run(&admitted.caller, &key, &run, &body)
                    .await?,
            )
        },
    )
    .await
}

pub async fn cancel(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        Demand::Withdrawal,
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_WRITE)?;
            let body = CancelRequest::parse(&admitted.body)?;
            no_parameters(&admitted.query)?;
            let key = key_of(&request)?;
            let run = segment(&request, "run_id");
            respond::keyed(
                &door
                    .runs
                    .cancel(&admitted.caller, &key, &run, &body)
                    .await?,
            )
        },
    )
    .await
}

pub async fn inspect(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        Demand::Ordinary,
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_READ)?;
            no_parameters(&admitted.query)?;
            respond::run(
                &door
                    .runs
                    .inspect(&admitted.caller, &segment(&request, "run_id"))
                    .await?,
            )
        },
    )
    .await
}

pub async fn list(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        Demand::Ordinary,
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_READ)?;
            let query = list_query(&admitted.query)?;
            respond::value(&door.runs.list(&admitted.caller, &query).await?)
        },
    )
    .await
}

pub async fn evidence(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        Demand::Ordinary,
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_READ)?;
            no_parameters(&admitted.query)?;
            let run = segment(&request, "run_id");
            respond::value(&door.runs.evidence_bundle(&admitted.caller, &run).await?)
        },
    )
    .await
}

pub async fn evidence_item(
    Door(door): Door,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    pipeline::serve(
        &door,
        &request,
        payload,
        Demand::Ordinary,
        async |admitted: Admitted| {
            admitted.caller.require(SCOPE_READ)?;
            no_parameters(&admitted.query)?;
            let (run, item) = (segment(&request, "run_id"), segment(&request, "ref"));
            respond::value(
                &door
                    .runs
                    .evidence_item(&admitted.caller, &run, &item)
                    .await?,
            )
        },
    )
    .await
}

/// Two keys are no key: which of them a retry would name is anybody's guess.
pub(in crate::http) fn key_of(request: &HttpRequest) -> Result<IdempotencyKey, Problem> {
    let mut sent = request.headers().get_all("idempotency-key");
    let (first, second) = (sent.next(), sent.next());
    if second.is_some() {
        return Err(Problem::invalid("Send one Idempotency-Key."));
    }
    // Bytes that are no text become characters that no key has.
    let text = first.map(|value| String::from_utf8_lossy(value.as_bytes()));
    IdempotencyKey::parse(text.as_deref())
}

/// A path segment, decoded once.
pub(in crate::http) fn segment(request: &HttpRequest, name: &str) -> String {
    percent_decoded(request.match_info().get(name).unwrap_or_default())
}

pub(super) fn no_parameters(query: &Query) -> Result<(), Problem> {
    query.read().finish()
}

fn list_query(query: &Query) -> Result<RunsQuery, Problem> {
    let mut read = query.read();
    let status = read.text("status");
    let cursor = read.text("cursor");
    let limit = read.integer("limit", 1, 100, 20);
    let unknown = |word: &String| Lifecycle::parse(word).is_none();
    if status.as_ref().is_some_and(unknown) {
        read.refuse("status", "expected a lifecycle status");
    }
    read.finish()?;
    Ok(RunsQuery {
        status,
        cursor,
        limit: usize::try_from(limit).unwrap_or(20),
    })
}
