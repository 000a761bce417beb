//! The door of external workers: `/api/v1/agent-workers` (settled questions 86 to 90).
//!
//! What must stay true: only a worker token opens it, and a worker token opens nothing else; the
//! steps of a request are those of the run door (`agent-api` 1.2), each with limits of its own. A
//! product is not scanned for credential material here: the result made of it is (`agent-api` 5.4).

use std::time::Instant;

use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::arrival;
use super::door::{Door, Doors, Readiness};
use super::hang_up;
use super::permits::Demand;
use super::pipeline::{self, Exchange, Stop};
use super::query::Query;
use super::respond;
use super::surface::Surface;
use crate::app::access::worker_tokens::{self, WorkerCaller};
use crate::app::agent::workers::mailbox::ToolReply;
use crate::app::agent::workers::request::{self, ClaimRequest, CompleteRequest, ToolRequest};
use crate::app::problem::{Code, Problem};
use crate::app::redaction;
use crate::auth::issued_bearer;

/// Every route of this door. A test walks them.
pub const ROUTES: [(&str, &str); 4] = [
    ("POST", "/api/v1/agent-workers/claim"),
    ("POST", "/api/v1/agent-workers/heartbeat"),
    ("POST", "/api/v1/agent-workers/tool"),
    ("POST", "/api/v1/agent-workers/complete"),
];

pub fn configure(config: &mut ServiceConfig) {
    let route = |path: &str, post| {
        web::resource(path.to_owned())
            .route(post)
            .default_service(web::to(wrong_method))
    };
    let [claim_path, heartbeat_path, tool_path, complete_path] = ROUTES.map(|(_, path)| path);
    config
        .service(route(claim_path, web::post().to(claim)))
        .service(route(heartbeat_path, web::post().to(heartbeat)))
        .service(route(tool_path, web::post().to(tool)))
        .service(route(complete_path, web::post().to(complete)));
}

async fn wrong_method(Door(door): Door, request: HttpRequest) -> HttpResponse {
    let started = Instant::now();
    let mut exchange = Exchange::of(&door, &request, Surface::Workers);
    let refused = Stop::Problem(Problem::new(Code::MethodNotAllowed));
    let answered = arrival::check(&door, &request, &mut exchange).and(Err(refused));
    let mut response = pipeline::conclude(&door, &request, &exchange, answered, started);
    let allowed = HeaderValue::from_static("POST");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

async fn claim(
    Door(door): Door,
    readiness: Data<Readiness>,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    serve(
        &door,
        &request,
        payload,
        Demand::Waiting,
        async |worker, body: Value| {
            let wish = ClaimRequest::parse(&body)?;
            let given = tokio::select! {
                given = door.workers.claim(worker, &wish, || hang_up::presence(&request)) => given?,
                () = readiness.drained() => return Err(Problem::new(Code::Unavailable)),
            };
            match given {
                Some(given) => respond::value(&given.to_value()),
                None => Ok(HttpResponse::NoContent().finish()),
            }
        },
    )
    .await
}

async fn heartbeat(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    serve(
        &door,
        &request,
        payload,
        Demand::Ordinary,
        async |worker, body: Value| {
            let turn_token = request::heartbeat(&body)?;
            let heard = door.workers.heartbeat(worker, &turn_token).await?;
            respond::value(&heard.to_value())
        },
    )
    .await
}

async fn tool(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    serve(
        &door,
        &request,
        payload,
        Demand::Waiting,
        async |worker, body: Value| {
            let mut ask = ToolRequest::parse(&body)?;
            ask.conceal(&bearer(&request));
            let reply = door.workers.tool(worker, &ask).await?;
            respond::value(&spelled(reply, &ask)?)
        },
    )
    .await
}

async fn complete(Door(door): Door, request: HttpRequest, payload: Payload) -> HttpResponse {
    serve(
        &door,
        &request,
        payload,
        Demand::Waiting,
        async |worker, body: Value| {
            let mut done = CompleteRequest::parse(&body)?;
            done.conceal(&bearer(&request));
            respond::value(&door.workers.complete(worker, &done).await?)
        },
    )
    .await
}

/// A call's answer. One that found its sources out of reach has an outcome of its own; one that
/// should not have been made is a failure of the request.
fn spelled(reply: ToolReply, ask: &ToolRequest) -> Result<Value, Problem> {
    let without = |outcome| Ok(json!({"outcome": outcome, "receipt_ref": null, "body": null}));
    match reply {
        ToolReply::Answered { receipt_ref, body } => {
            Ok(json!({"outcome": "answered", "receipt_ref": receipt_ref, "body": body}))
        }
        ToolReply::Exhausted => without("exhausted"),
        ToolReply::NoProvider => without("no_provider"),
        ToolReply::Failed => without("failed"),
        ToolReply::NotAdmitted => Err(Problem::new(Code::AccountPolicyBlocked)
            .with(json!({"denied_capabilities": [ask.capability]}))),
        ToolReply::BadRequest(what) => {
            Err(Problem::invalid(format!("The call is not valid: {what}.")))
        }
        ToolReply::Stopped => Err(Problem::new(Code::AttemptFenced)),
    }
}

/// Takes a request through the steps of this door and, if it passes, to its handler.
async fn serve<F, H>(
    door: &Doors,
    request: &HttpRequest,
    payload: Payload,
    demand: Demand,
    handler: H,
) -> HttpResponse
where
    H: FnOnce(WorkerCaller, Value) -> F,
    F: Future<Output = Result<HttpResponse, Problem>>,
{
    let started = Instant::now();
    let mut exchange = Exchange::of(door, request, Surface::Workers);
    let answered = match admit(door, request, payload, &mut exchange).await {
        Ok((worker, body)) => pipeline::placed(door, demand, handler(worker, body)).await,
        Err(stop) => Err(stop),
    };
    pipeline::conclude(door, request, &exchange, answered, started)
}

async fn admit(
    door: &Doors,
    request: &HttpRequest,
    payload: Payload,
    exchange: &mut Exchange,
) -> Result<(WorkerCaller, Value), Stop> {
    arrival::check(door, request, exchange)?;
    let limits = door.limits(exchange.surface);
    let body = pipeline::read_body(limits.body, request, payload).await?;
    let query = Query::decode(request.query_string())?;
    if is_protected(&query, &body) {
        return Err(Problem::credential_material().into());
    }
    let worker = identify(door, request).await?;
    let key = worker.row_id.to_string();
    let verdict = limits.by_principal.hit(&key, pipeline::now_ms(door));
    pipeline::count(exchange, verdict)?;
    query.read().finish()?;
    Ok((worker, body))
}

/// Everything but a product.
fn is_protected(query: &Query, body: &Value) -> bool {
    let members = body.as_object().map(|members| {
        let scanned = members.iter().filter(|(name, _)| *name != "product");
        scanned
            .map(|(name, value)| json!([name, value]))
            .collect::<Vec<_>>()
    });
    let body = members.map_or_else(|| body.clone(), Value::from);
    redaction::is_protected(&json!([query.to_value(), body]))
}

/// The text behind the scheme, whole when there is none. Judged elsewhere.
fn bearer(request: &HttpRequest) -> SecretString {
    let header = pipeline::header_text(request, "authorization").unwrap_or_default();
    let (_, token) = header.split_once(' ').unwrap_or(("", header));
    SecretString::from(token)
}

async fn identify(door: &Doors, request: &HttpRequest) -> Result<WorkerCaller, Problem> {
    let authorization: Vec<&[u8]> = pipeline::values(request, "authorization").collect();
    let hash = issued_bearer::presented(worker_tokens::KIND, &authorization)?;
    let _turn = door.permits.come_in(Demand::Ordinary).await?;
    worker_tokens::admit(door.runs.core(), &hash).await
}
